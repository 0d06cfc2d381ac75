"""Softmax of real numbers between integers becomes one of integers, within one step of floating point.

One that nothing quantizes stays real, with a table of exponentials.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.arithmetic import onnxruntime
from match.graph.elements import Dequantize, Quantize
from match.graph.rewrite import rewrite
from match.graph.rows import (
    LONGEST_REAL_ROW,
    LogSoftmax,
    ProbabilityScale,
    RealSoftmax,
    Softmax,
    SoftmaxOfLevels,
    log_tables,
)
from match.graph.value import Graph, Value

_NARROW = "int8", "uint8"


def with_functions_of_rows(graph: Graph) -> Graph:
    """The graph with softmax of integers, and with softmax and its logarithm from integers to real numbers."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    match value.operator:
        case RealSoftmax(logarithm=True):
            return _logarithm(value)
        case RealSoftmax() if _is_real_row(value.inputs[0]):
            (scores,) = value.inputs
            return replace(value, operator=SoftmaxOfLevels(scale=_step(scores)), inputs=scores.inputs)
        case Quantize(function=function) if function.dtype in _NARROW:
            softmax, scale = value.inputs[0], ProbabilityScale.of(1 / float(function.scale))
            if not isinstance(softmax.operator, SoftmaxOfLevels) or scale is None:
                return value
            exponentials = onnxruntime.softmax_exponentials(softmax.operator.scale)
            integers = Softmax(exponentials=exponentials, zero=function.zero_point, scale=scale, dtype=function.dtype)
            return replace(value, operator=integers, inputs=softmax.inputs, exact=False)
        case _:
            return value


def _logarithm(value: Value) -> Value:
    scores = value.inputs[0]
    if not _is_real_row(scores):
        return value
    tables = log_tables(_step(scores), onnxruntime.softmax_exponentials(_step(scores)))
    if tables is None:
        return value
    return replace(value, operator=LogSoftmax(tables=tables), inputs=scores.inputs, exact=False)


def _is_real_row(scores: Value) -> bool:
    """Whether rows of real numbers are those of 8-bit tensors, and short enough for integers."""
    dequantized = isinstance(scores.operator, Dequantize) and scores.inputs[0].dtype in _NARROW
    return dequantized and scores.shape[-1] <= LONGEST_REAL_ROW


def _step(scores: Value) -> np.float32:
    assert isinstance(scores.operator, Dequantize), "which is asked before"
    return scores.operator.scale
