"""QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph.elements import Dequantize, Quantize
from match.graph.make import array_of
from match.graph.reals import REAL, Levels
from match.graph.value import Value, computed
from match.ir.float_border import FloatQuantization

_NARROW = "int8", "uint8"


def quantize(read: QdqReader, node: Any) -> Value:
    """QuantizeLinear, with one scale."""
    x = read.input(node)
    own = read.quantization(node, 1, _zero_type(read, node))
    if x.dtype != REAL:
        raise Unread
    function = FloatQuantization(own.scale, own.zero_point, own.dtype, half_to_even=True)
    return computed(Quantize(function=function), x)


def _zero_type(read: QdqReader, node: Any) -> str:
    """The type of a zero point, which what is quantized with it has."""
    return str(read.array(node, 2).dtype) if read.has(node, 2) else "uint8"


def dequantize(read: QdqReader, node: Any) -> Value:
    """DequantizeLinear: of a constant with any scales, of other tensors with one."""
    return dequantized(read, read.input(node), node, 1, attribute_of(node, "axis", 1))


def dequantized(read: QdqReader, x: Value, node: Any, place: int, axis: int) -> Value:
    """A tensor as real numbers, with the scales at a place among an operator's inputs and the zero points after it.

    Several scales are along an axis.
    """
    levels = array_of(x)
    if levels is None:
        own = read.quantization(node, place, x.dtype)
        return computed(Dequantize(scale=own.scale, zero_point=own.zero_point), x)
    scales = read.array(node, place)
    if levels.dtype.name not in (*_NARROW, "int32") or scales.dtype != np.float32 or scales.ndim > 1:
        raise Unread
    given = read.has(node, place + 1)
    zeros = read.array(node, place + 1).reshape(-1).astype(np.int64) if given else np.zeros(1, np.int64)
    axis %= max(levels.ndim, 1)
    if scales.size > 1 and (not levels.ndim or levels.shape[axis] != scales.size):
        raise Unread
    zeros = np.broadcast_to(zeros, scales.size) if zeros.size == 1 else zeros
    if zeros.size != scales.size:
        raise Unread
    return computed(Levels(levels=levels, scales=scales.reshape(-1), zero_points=zeros, axis=axis))


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {"QuantizeLinear": quantize, "DequantizeLinear": dequantize}
)
