"""QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Refused, Unread
from match.graph.reals import REAL
from match.graph.value import Value
from match.quantized.scales import Scales


def quantize(read: QdqReader, node: Any) -> Value:
    """QuantizeLinear."""
    x = read.input(node)
    dtype = str(read.array(node, 2).dtype) if read.has(node, 2) else "uint8"
    if x.dtype != REAL:
        raise Unread
    return scales_of(read, x, node, 1, attribute_of(node, "axis", 1)).quantized(x, dtype)


def dequantize(read: QdqReader, node: Any) -> Value:
    """DequantizeLinear."""
    return dequantized(read, read.input(node), node, 1, attribute_of(node, "axis", 1))


def dequantized(read: QdqReader, x: Value, node: Any, place: int, axis: int) -> Value:
    """A tensor as real numbers, with the scales at a place among an operator's inputs and the zero points after it."""
    return scales_of(read, x, node, place, axis).dequantized(x)


def scales_of(read: QdqReader, x: Value, node: Any, place: int, axis: int) -> Scales:
    """The scales of a tensor, at a place among an operator's inputs, and the zero points after it.

    Several are along an axis.
    """
    scales = read.array(node, place)
    zeros = read.array(node, place + 1) if read.has(node, place + 1) else np.zeros(1, np.int64)
    if scales.dtype != np.float32:
        raise Unread
    rank = len(x.shape)
    for given in (scales, zeros):
        if given.size != 1 and not (-rank <= axis < rank and given.shape == (x.shape[axis],)):
            found = f"{list(given.shape)} along axis {axis} of {x.shape}"
            raise Refused(f"with scales or zero points {found}")
    count = max(scales.size, zeros.size)
    axis = axis % max(rank, 1) if count > 1 else 0
    own = np.broadcast_to(scales.reshape(-1), count).astype(np.float32)
    return Scales(own, np.broadcast_to(zeros.reshape(-1), count).astype(np.int64), axis)


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {"QuantizeLinear": quantize, "DequantizeLinear": dequantize}
)
