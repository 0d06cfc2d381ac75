"""Functions of rows: softmax and its logarithm, normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph import real_functions
from match.graph.make import constant, reshaped
from match.graph.operator import Array
from match.graph.real_functions import number, real
from match.graph.reals import REAL
from match.graph.reductions import RealNormalization, RealReduction
from match.graph.value import Value, computed

SOFTMAX_OF_AN_AXIS = 13
"""The opset since which a Softmax goes along one axis."""


def softmax(read: QdqReader, node: Any) -> Value:
    """Softmax or LogSoftmax."""
    x, since = read.input(node), read.opset >= SOFTMAX_OF_AN_AXIS
    if x.dtype != REAL:
        raise Unread
    axis: int = attribute_of(node, "axis", -1 if since else 1)
    return softmax_of(x, axis, read.opset, logarithm=node.op_type == "LogSoftmax")


def softmax_of(x: Value, axis: int, opset: int, *, logarithm: bool) -> Value:
    """Softmax, or its logarithm, along an axis; before opset 13 a row is all axes from it on."""
    axis %= len(x.shape)
    if opset >= SOFTMAX_OF_AN_AXIS or axis == len(x.shape) - 1:
        return real_functions.softmax(x, axis, logarithm=logarithm)
    rows = reshaped(x, (math.prod(x.shape[:axis]), -1))
    return reshaped(real_functions.softmax(rows, 1, logarithm=logarithm), x.shape)


def layer_normalization(read: QdqReader, node: Any) -> Value:
    """LayerNormalization along the last axes, with a gain and a bias of their shape."""
    if len(node.output) != 1:
        raise Unread
    normal = _normalized(_rows(read, node), attribute_of(node, "axis", -1), attribute_of(node, "epsilon", 1e-5))
    return _scaled(normal, [read.numbers(node, place) for place in (1, 2) if read.has(node, place)])


def root_mean_square(read: QdqReader, node: Any) -> Value:
    """RMSNormalization along the last axes, with a gain."""
    epsilon = attribute_of(node, "epsilon", 1e-5)
    normal = _normalized(_rows(read, node), attribute_of(node, "axis", -1), epsilon, centred=False)
    return _scaled(normal, [read.numbers(node, 1)])


def instance_normalization(read: QdqReader, node: Any) -> Value:
    """InstanceNormalization: each channel is a group."""
    return _of_groups(read, node, _rows(read, node).shape[1])


def group_normalization(read: QdqReader, node: Any) -> Value:
    """GroupNormalization since opset 21; ONNX has dropped the one before, whose gains were of groups."""
    return _of_groups(read, node, attribute_of(node, "num_groups", 1))


def _of_groups(read: QdqReader, node: Any, groups: int) -> Value:
    """Channels in groups, each of which is normalized, with a gain and a bias for each channel."""
    x = _rows(read, node)
    batch, channels, *rest = x.shape
    rows = reshaped(x, (batch, groups, channels // groups * math.prod(rest)))
    normal = reshaped(_normalized(rows, -1, attribute_of(node, "epsilon", 1e-5)), x.shape)
    return _scaled(normal, [read.numbers(node, place).reshape(-1, *[1] * len(rest)) for place in (1, 2)])


def by_length(read: QdqReader, node: Any) -> Value:
    """LpNormalization: rows over the root of the sum of their squares, or over the sum of their magnitudes.

    Rows of zeros stay what they are, as in onnxruntime.
    """
    x = _rows(read, node)
    axis: int = attribute_of(node, "axis", -1) % len(x.shape)
    if attribute_of(node, "p", 2) == 2:
        normal = computed(RealNormalization(axes=(axis,), epsilon=0.0, centred=False), x, exact=False)
        return real("multiply", normal, number(x.shape[axis] ** -0.5))
    magnitudes = real("abs", x)
    total = computed(RealReduction(function="sum", axes=(axis,), keepdims=True), magnitudes)
    return real("divide", x, real("maximum", total, number(float(np.finfo(np.float32).tiny))))


def _rows(read: QdqReader, node: Any) -> Value:
    x = read.input(node)
    if x.dtype != REAL:
        raise Unread
    return x


def _normalized(x: Value, first: int, epsilon: float, *, centred: bool = True) -> Value:
    """The normalization along the last axes, from one on."""
    axes = tuple(range(first % len(x.shape), len(x.shape)))
    return computed(RealNormalization(axes=axes, epsilon=float(np.float32(epsilon)), centred=centred), x, exact=False)


def _scaled(x: Value, gain_and_bias: Sequence[Array]) -> Value:
    """A tensor times a gain, plus a bias where there is one."""
    for function, numbers in zip(("multiply", "add"), gain_and_bias, strict=False):
        x = real(function, x, constant(numbers))
    return x


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "GroupNormalization": group_normalization,
        "InstanceNormalization": instance_normalization,
        "LayerNormalization": layer_normalization,
        "LogSoftmax": softmax,
        "LpNormalization": by_length,
        "RMSNormalization": root_mean_square,
        "Softmax": softmax,
    }
)
