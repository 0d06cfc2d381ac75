"""Functions between dequantize and quantize that TFLite Micro computes in fixed point: its integers.

TVM imports TFLite's functions with real numbers. Only what TFLite Micro defines is known here: its functions ask for
scales of their own at the output.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from match.arithmetic import tflite_functions
from match.arithmetic.interface import QuantizedType
from match.graph.elements import Quantize
from match.graph.make import array_of, lookup, named
from match.graph.real_functions import is_function
from match.graph.reals import RealClip, RealFunction
from match.graph.rewrite import rewrite
from match.graph.rows import LONGEST_ROW, RealSoftmax, Softmax
from match.graph.value import Graph, Value, computed
from match.ir.dtypes import value_range
from match.rewrites.quantized_groups.quantities import dequantized, quantization_of

_TABLES = MappingProxyType({"sigmoid": tflite_functions.logistic, "tanh": tflite_functions.tanh})


def with_fixed_point_groups(graph: Graph) -> Graph:
    """The graph with softmax of integers, and tables in the place of logistic, hyperbolic tangent and hard swish."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    output = quantization_of(value.operator) if isinstance(value.operator, Quantize) else None
    if output is None:
        return value
    (real,) = value.inputs
    made = _table(real, output) or _softmax(real, output)
    return value if made is None else named(made, value.source)


def _table(real: Value, output: QuantizedType) -> Value | None:
    """A function of each element."""
    x = _gated(real)
    if x is not None:
        function = tflite_functions.hard_swish
    elif isinstance(real.operator, RealFunction) and real.operator.function in _TABLES:
        (x,), function = real.inputs, _TABLES[real.operator.function]
    else:
        return None
    source = dequantized(x)
    outputs = None if source is None else function(source.quantization, output)
    return None if source is None or outputs is None else lookup(source.value, outputs.astype(output.dtype))


def _softmax(real: Value, output: QuantizedType) -> Value | None:
    """Softmax of rows, of scores that a number may multiply."""
    if not isinstance(real.operator, RealSoftmax) or real.operator.logarithm:
        return None
    (scores,), beta = real.inputs, np.float32(1)
    factor = _number(scores, "multiply")
    if factor is not None:
        scores, beta = scores.inputs[0], factor
    source = dequantized(scores)
    steps = output.scale == np.float32(1 / 256) and output.zero_point == value_range(output.dtype)[0]
    if source is None or not steps or real.shape[-1] > LONGEST_ROW:
        return None
    exponentials = tflite_functions.exponentials(source.quantization.scale, beta)
    softmax = Softmax(exponentials=exponentials, zero=output.zero_point, scale=None, dtype=output.dtype)
    return computed(softmax, source.value)


def _gated(real: Value) -> Value | None:
    """x, if a tensor is ``x * clip(x + 3, 0, 6) / 6``."""
    if _number(real, "divide") != 6:
        return None
    product = real.inputs[0]
    if not is_function(product, "multiply"):
        return None
    x, gate = product.inputs
    if not isinstance(gate.operator, RealClip) or (gate.operator.low, gate.operator.high) != (0, 6):
        return None
    moved = gate.inputs[0]
    return x if _number(moved, "add") == 3 and moved.inputs[0] is x else None


def _number(real: Value, function: str) -> np.float32 | None:
    """The number that a function takes beside a tensor; None for others, and for tensors that are none of it."""
    if not is_function(real, function):
        return None
    other = array_of(real.inputs[1])
    return np.float32(other.item()) if other is not None and other.size == 1 else None
