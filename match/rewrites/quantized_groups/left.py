"""Real numbers that nothing quantizes: last layers, and what is left to the control core in floating point.

The sums of a layer are integers, and real numbers what these become. A bias that counts in steps of the sums is added
to them, as onnxruntime's QGemm does. Other sums a reference may make in floating point, and differ in the last bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from match.graph.elements import DequantizeSums
from match.graph.make import array_of
from match.graph.opaque import Constant
from match.graph.reals import (
    Levels,
    RealAverage,
    RealClip,
    RealConvolution,
    RealFunction,
    RealMatrices,
    RealProduct,
    RealTransposed,
)
from match.graph.reductions import RealReduction, RunningSum
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed, readers
from match.rewrites.quantized_groups.functions import table_of_reals
from match.rewrites.quantized_groups.layers import integer_layer

_ROUNDED_ONCE = "add", "subtract", "multiply"
_EXACT = (
    *("abs", "negative", "floor", "ceil", "maximum", "minimum", "where", "cast"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
)
"""Functions that choose, compare or convert numbers."""


def with_real_sums(graph: Graph) -> Graph:
    """The graph with sums of integers in layers that nothing quantizes, and with tables of approximated functions.

    What is left says whether the control core computes just the reference's numbers.
    """
    return rewrite(rewrite(graph, partial(_rule, readers(graph))), _of_constants)


def _of_constants(value: Value, original: Value) -> Value:
    """Constants that are quantized as the real numbers that they stand for: no layer reads them."""
    del original
    if not isinstance(value.operator, Levels):
        return value
    return replace(value, operator=Constant(array=value.operator.compute()))


def _rule(read: Mapping[Value, Sequence[Value | None]], value: Value, original: Value) -> Value:
    match value.operator:
        case RealConvolution() | RealTransposed() | RealProduct():
            return _sums(value) or replace(value, exact=False)
        case RealMatrices() | RealReduction() | RunningSum():
            return replace(value, exact=False)
        case RealAverage(window=window):  # TVM's C multiplies by the reciprocal of the pixels
            return replace(value, exact=value.exact and math.prod(window).bit_count() == 1)
        case RealFunction() | RealClip():
            inner = all(reader and isinstance(reader.operator, RealFunction | RealClip) for reader in read[original])
            tabulated = None if inner else table_of_reals(value)
            return tabulated or replace(value, exact=_is_exact(value))
        case _:
            return value


def _sums(value: Value) -> Value | None:
    """A layer as real numbers of its sums; None of one with another bias."""
    found = integer_layer(value)
    if found is None or not found.bias.exact or (len(value.inputs) > 2 and array_of(value.inputs[2]) is not None):
        return None
    channels = value.shape[-1]
    offset = found.sums.offset(found.bias.integers, found.inputs.quantization.zero_point).astype(np.int32)
    steps = np.broadcast_to(found.steps, channels).astype(np.float32)
    scale = found.sums.for_each(steps)
    line = DequantizeSums(offset=offset, scale=scale, bias=np.full(scale.shape, -0.0, np.float32))
    reals = found.sums.laid_out(computed(line, found.sums.value, exact=False))
    return replace(reals, source=value.source)


def _is_exact(value: Value) -> bool:
    """Whether a function that is left is known to compute the reference's numbers.

    It does if it chooses, compares or converts numbers, or rounds once with a constant, as between real and quantized
    numbers. For other functions it is not known how the reference computes.
    """
    if not isinstance(value.operator, RealFunction):
        return True
    function, constants = value.operator.function, [array_of(x) for x in value.inputs]
    if function == "divide":  # by a scalar TVM multiplies by the reciprocal, which rounds otherwise
        return constants[0] is None and constants[1] is not None and constants[1].ndim > 0
    return function in _EXACT or (function in _ROUNDED_ONCE and any(array is not None for array in constants))
