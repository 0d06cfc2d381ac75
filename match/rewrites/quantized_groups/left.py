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

from match.graph.constants import numbers_of
from match.graph.elements import DequantizeSums
from match.graph.integers import Difference, Entries, Extreme
from match.graph.make import arithmetic, constant, named, reshaped, transposed
from match.graph.moves import Move
from match.graph.opaque import Constant
from match.graph.real_functions import is_function
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
from match.quantized.layers import dense_sums
from match.rewrites.quantized_groups.functions import table_of_reals
from match.rewrites.quantized_groups.layers import integer_layer
from match.rewrites.quantized_groups.quantities import dequantized

Readers = Mapping[Value, Sequence[Value | None]]

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


def _rule(read: Readers, value: Value, original: Value) -> Value:
    match value.operator:
        case RealConvolution() | RealTransposed() | RealProduct():
            return _sums(value) or replace(value, exact=False)
        case RealAverage(window=window):  # TVM's C multiplies by the reciprocal of the pixels
            exact = value.exact and math.prod(window).bit_count() == 1
            total = None if exact and not _is_of_layers(original, read) else _total(value)
            return total or replace(value, exact=exact)
        case RealReduction():
            return _total(value) or replace(value, exact=False)
        case RealMatrices() | RunningSum():
            return replace(value, exact=False)
        case RealFunction(function="cast", dtype="int32") if (whole := _whole_sums(value.inputs[0])) is not None:
            return whole
        case RealFunction(function="exp") if (exponentials := _exponentials(value)) is not None:
            return exponentials
        case RealFunction() | RealClip():
            inner = all(reader and isinstance(reader.operator, RealFunction | RealClip) for reader in read[original])
            tabulated = None if inner else table_of_reals(value)
            return tabulated or replace(value, exact=value.exact and _is_exact(value))
        case _:
            return value


def _is_of_layers(value: Value, read: Readers) -> bool:
    """Whether layers alone read a tensor, maybe moved."""
    return bool(read[value]) and all(
        reader is not None
        and (
            isinstance(reader.operator, RealConvolution | RealTransposed | RealProduct)
            or (isinstance(reader.operator, Move) and _is_of_layers(reader, read))
        )
        for reader in read[value]
    )


def _total(value: Value) -> Value | None:
    """Sums of integers along axes, or means, as products with ones, which are rounded once; None of other numbers."""
    (x,), operator = value.inputs, value.operator
    source = dequantized(x)
    match operator:
        case RealAverage(window=window) if window == x.shape[1:3] and not any(operator.padding):
            axes = (1, 2)
        case RealReduction(function="mean" | "sum"):
            axes = operator.axes
        case _:
            return None
    if source is None:
        return None
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    count = math.prod(x.shape[axis] for axis in axes)
    own, rows = source.quantization, reshaped(transposed(source.value, [*kept, *axes]), (-1, count))
    sums = dense_sums(rows, np.ones((1, count), np.int8))
    is_sum = isinstance(operator, RealReduction) and operator.function == "sum"
    line = DequantizeSums(
        offset=sums.offset(np.zeros(1, np.int64), own.zero_point).astype(np.int32),
        scale=np.array([own.scale / (1 if is_sum else count)], np.float32),
        bias=np.array([-0.0], np.float32),
    )
    return replace(reshaped(computed(line, sums.value, exact=False), value.shape), source=value.source)


def _sums(value: Value) -> Value | None:
    """A layer as real numbers of its sums; None of one that no integers stand for."""
    found = integer_layer(value)
    if found is None:
        return None
    channels, (_, _, *biases) = value.shape[-1], value.inputs
    is_added_to_sums = found.bias.exact and all(isinstance(bias.operator, Levels) for bias in biases)
    integers = found.bias.integers if is_added_to_sums else np.zeros(channels, np.int64)
    offset = found.sums.offset(integers, found.inputs.quantization.zero_point).astype(np.int32)
    scale = found.sums.for_each(np.broadcast_to(found.steps, channels).astype(np.float32))
    numbers = None if is_added_to_sums else numbers_of(biases[0])
    bias = np.full(channels, -0.0, np.float32) if numbers is None else numbers.reshape(-1).astype(np.float32)
    line = DequantizeSums(offset=offset, scale=scale, bias=found.sums.for_each(bias))
    reals = found.sums.laid_out(computed(line, found.sums.value, exact=False))
    return replace(reals, source=value.source)


def _whole_sums(value: Value) -> Value | None:
    """The layer's integer sums, where real numbers are equal to them (scale 1, bias 0); None elsewhere."""
    if isinstance(value.operator, Move):
        whole = _whole_sums(value.inputs[0])
        return None if whole is None else computed(value.operator, whole)
    line = value.operator
    if not isinstance(line, DequantizeSums) or np.any(line.scale != 1) or line.bias.any():
        return None
    return named(arithmetic("add", value.inputs[0], constant(line.offset)), value.source)


def _exponentials(value: Value) -> Value | None:
    """The exponentials of distances to the largest of some numbers of 8 bits, from a table by distance; else None.

    They stay in floating point, as in a logarithm of their sum.
    """
    distance = value.inputs[0]
    if not is_function(distance, "subtract"):
        return None
    x, largest = (dequantized(tensor) for tensor in distance.inputs)
    if x is None or largest is None or not isinstance(largest.value.operator, Extreme):
        return None
    extreme, own = largest.value.operator, x.quantization
    if not extreme.largest or not extreme.keepdims or largest.value.inputs != (x.value,):
        return None
    steps = computed(Difference(dtype="int32"), largest.value, x.value)
    numbers = np.exp(-float(own.scale) * np.arange(own.levels.size)).astype(np.float32)
    return replace(computed(Entries(table=numbers), steps, exact=False), source=value.source)


def _is_exact(value: Value) -> bool:
    """Whether a function that is left is known to compute the reference's numbers.

    It does if it chooses, compares or converts numbers, or rounds once with a constant, as between real and quantized
    numbers. For other functions it is not known how the reference computes.
    """
    if not isinstance(value.operator, RealFunction):
        return True
    function, constants = value.operator.function, [numbers_of(x) for x in value.inputs]
    if function == "divide":  # by a scalar TVM multiplies by the reciprocal, which rounds otherwise
        return constants[0] is None and constants[1] is not None and constants[1].ndim > 0
    return function in _EXACT or (function in _ROUNDED_ONCE and any(array is not None for array in constants))
