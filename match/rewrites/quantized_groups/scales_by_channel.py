"""Depthwise convolutions whose input has a scale for each channel (`match.quantized.scales`) get an input of one.

A sum of such a layer has elements of one channel alone: the channel's scale goes into the scales of the weights.
onnxruntime computes the layer in floating point, and integers are within one step.

What zero points of their own add to sums is taken off after the layer. What is padded with is zero in front of the
division by the scales then, as integers in the place of zero differ from channel to channel.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.graph.constants import numbers_of
from match.graph.elements import Dequantize, Quantize
from match.graph.make import constant, padded
from match.graph.real_functions import is_function, real
from match.graph.reals import Levels, RealConvolution
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed
from match.ir.layer import Padding


def with_one_scale(graph: Graph) -> Graph:
    """The graph with one scale in front of depthwise convolutions."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    operator = value.operator
    if not isinstance(operator, RealConvolution) or operator.groups != value.inputs[0].shape[-1]:
        return value
    x, filters, *bias = value.inputs
    scales, own = _of_channels(x, "multiply"), filters.operator
    if scales is None or not isinstance(own, Levels) or own.axis != 0 or own.levels.dtype == np.int32:
        return value
    count, outputs = operator.groups, len(own.levels)
    each = np.repeat(np.broadcast_to(scales, count), outputs // count) * own.scales
    zeros = np.broadcast_to(own.zero_points, outputs)
    weights = replace(computed(replace(own, scales=each.astype(np.float32), zero_points=zeros)), source=filters.source)
    (x, *_) = x.inputs
    taken_off = _of_channels(x, "subtract")
    if taken_off is None:
        return replace(value, inputs=(x, weights, *bias), exact=False)
    levels = _padded_levels(x.inputs[0], operator.padding)
    if levels is None:
        return value
    sums = computed(replace(operator, padding=Padding()), levels, weights, *bias, exact=False)
    steps = (own.levels.astype(np.int64) - own.along(own.zero_points)).sum(axis=(1, 2, 3))
    added = np.repeat(np.broadcast_to(taken_off, count), outputs // count) * steps * each
    return replace(real("subtract", sums, constant(added.astype(np.float32))), source=value.source)


def _of_channels(x: Value, function: str) -> npt.NDArray[np.float32] | None:
    """The numbers that a function has as its second operand, one for each channel or for all; None of other tensors."""
    numbers = numbers_of(x.inputs[1]) if is_function(x, function) else None
    fits = (
        numbers is not None
        and numbers.size in (1, x.shape[-1])
        and numbers.shape[-1:] in ((), numbers.reshape(-1).shape)
    )
    return numbers.reshape(-1) if numbers is not None and fits else None


def _padded_levels(x: Value, padding: Padding) -> Value | None:
    """Integers as real numbers, of what is padded in front of the division by its scales; None of other tensors."""
    widths = [(0, 0), (padding.top, padding.bottom), (padding.left, padding.right), (0, 0)]
    if not any(padding):
        return x
    if not isinstance(x.operator, Dequantize) or not isinstance(x.inputs[0].operator, Quantize):
        return None
    dequantize, quantize, added = x.operator, x.inputs[0].operator, x.inputs[0].inputs[0]
    if _of_channels(added, "add") is None:
        return None
    quotients = added.inputs[0]
    if _of_channels(quotients, "divide") is None:
        return None
    divided = real("divide", padded(quotients.inputs[0], widths, 0.0), quotients.inputs[1])
    return computed(dequantize, computed(quantize, real("add", divided, added.inputs[1], exact=added.exact)))
