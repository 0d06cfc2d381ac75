"""Operators that move elements, or leave them where they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, OnnxReader, Unread
from match.graph.make import array_of, chosen, concatenated, padded, reshaped, transposed
from match.graph.value import Value


def reshape(read: OnnxReader, node: Any) -> Value:
    """Reshape to constant extents."""
    x = _activation(read, node)
    wanted = read.integers(node, "shape", 1)
    if attribute_of(node, "allowzero", 0):
        raise Unread
    return reshaped(x, [x.shape[axis] if extent == 0 else extent for axis, extent in enumerate(wanted)])


def flatten(read: OnnxReader, node: Any) -> Value:
    """Flatten: the axes from one on as one, and those before it."""
    x, axis = _activation(read, node), attribute_of(node, "axis", 1)
    axis = axis + len(x.shape) if axis < 0 else axis
    return reshaped(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def squeeze(read: OnnxReader, node: Any) -> Value:
    """Squeeze."""
    x = _activation(read, node)
    every = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    dropped = {axis % len(x.shape) for axis in read.integers(node, "axes", 1, every)}
    return reshaped(x, [extent for axis, extent in enumerate(x.shape) if axis not in dropped])


def unsqueeze(read: OnnxReader, node: Any) -> Value:
    """Unsqueeze."""
    x, axes = _activation(read, node), read.integers(node, "axes", 1)
    rank = len(x.shape) + len(axes)
    added, extents = {axis % rank for axis in axes}, iter(x.shape)
    return reshaped(x, [1 if axis in added else next(extents) for axis in range(rank)])


def transpose(read: OnnxReader, node: Any) -> Value:
    """Transpose."""
    x = _activation(read, node)
    return transposed(x, attribute_of(node, "perm", [*range(len(x.shape))][::-1]))


def concatenate(read: OnnxReader, node: Any) -> Value:
    """Concat."""
    parts = [read.input(node, place) for place in range(len(node.input))]
    if any(array_of(part) is not None for part in parts) or len({part.dtype for part in parts}) > 1:
        raise Unread
    return concatenated(parts, attribute_of(node, "axis", 0) % len(parts[0].shape))


def slice_(read: OnnxReader, node: Any) -> Value:
    """Slice, with constant ends."""
    x = _activation(read, node)
    starts, ends = read.integers(node, "starts", 1), read.integers(node, "ends", 2)
    axes = read.integers(node, "axes", 3, [*range(len(starts))])
    steps = read.integers(node, "steps", 4, [1] * len(starts))
    indices: list[Sequence[int] | None] = [None] * len(x.shape)
    for axis, *ends_and_step in zip(axes, starts, ends, steps, strict=True):
        extent = x.shape[axis % len(x.shape)]
        found = range(extent)[slice(*ends_and_step)]
        if ends_and_step[2] <= 0 or not found:
            raise Unread
        indices[axis % len(x.shape)] = [*found]
    return chosen(x, indices)


def pad(read: OnnxReader, node: Any) -> Value:
    """Pad with a constant number."""
    x = _activation(read, node)
    if attribute_of(node, "mode", b"constant") != b"constant" or read.has(node, 3):
        raise Unread
    before, after = np.reshape(read.integers(node, "pads", 1), (2, -1)).tolist()
    fill = read.array(node, 2).item() if read.has(node, 2) else attribute_of(node, "value", 0.0)
    if min(*before, *after) < 0:
        raise Unread
    return padded(x, [*zip(before, after, strict=True)], fill)


def identity(read: OnnxReader, node: Any) -> Value:
    """Identity, and Dropout, which does nothing in inference."""
    return read.input(node)


def constant(read: OnnxReader, node: Any) -> Value:
    """Constant, which is known already."""
    return read.value(node.output[0])


def _activation(read: OnnxReader, node: Any) -> Value:
    """The first input, if it is not constant."""
    x = read.input(node)
    if array_of(x) is not None or (not x.inputs and x.operator is not None):
        raise Unread
    return x


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "Concat": concatenate,
        "Constant": constant,
        "Flatten": flatten,
        "Identity": identity,
        "Pad": pad,
        "Reshape": reshape,
        "Slice": slice_,
        "Squeeze": squeeze,
        "Transpose": transpose,
        "Unsqueeze": unsqueeze,
    }
)
