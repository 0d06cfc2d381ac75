"""Operators that move elements, or leave them where they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph import blocks
from match.graph.constants import at_indices, in_order, in_shape
from match.graph.gathers import Gather, GatherElements, GatherPoints
from match.graph.make import (
    array_of,
    broadcast,
    chosen,
    concatenated,
    cut,
    padded,
    repeated,
)
from match.graph.maps import channels_first, channels_last
from match.graph.operator import Array
from match.graph.points import at_points
from match.graph.value import Value, computed


def reshape(read: QdqReader, node: Any) -> Value:
    """Reshape to constant extents."""
    x, wanted = read.input(node), read.integers(node, "shape", 1)
    if attribute_of(node, "allowzero", 0) and 0 in wanted:
        raise Unread
    return in_shape(x, [x.shape[axis] if extent == 0 else extent for axis, extent in enumerate(wanted)])


def flatten(read: QdqReader, node: Any) -> Value:
    """Flatten: the axes from one on as one, and those before it."""
    x, axis = read.input(node), attribute_of(node, "axis", 1)
    axis = axis + len(x.shape) if axis < 0 else axis
    return in_shape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def squeeze(read: QdqReader, node: Any) -> Value:
    """Squeeze."""
    x = read.input(node)
    every = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    dropped = {axis % len(x.shape) for axis in read.integers(node, "axes", 1, every)}
    return in_shape(x, [extent for axis, extent in enumerate(x.shape) if axis not in dropped])


def unsqueeze(read: QdqReader, node: Any) -> Value:
    """Unsqueeze."""
    x, axes = read.input(node), read.integers(node, "axes", 1)
    rank = len(x.shape) + len(axes)
    added, extents = {axis % rank for axis in axes}, iter(x.shape)
    return in_shape(x, [1 if axis in added else next(extents) for axis in range(rank)])


def transpose(read: QdqReader, node: Any) -> Value:
    """Transpose."""
    x = read.input(node)
    order = attribute_of(node, "perm", [*range(len(x.shape))][::-1])
    return in_order(x, order)


def concatenate(read: QdqReader, node: Any) -> Value:
    """Concat."""
    parts = [read.input(node, place) for place in range(len(node.input))]
    if len({part.dtype for part in parts}) > 1:
        raise Unread
    return concatenated(parts, attribute_of(node, "axis", 0) % len(parts[0].shape))


def slice_(read: QdqReader, node: Any) -> Value:
    """Slice, with constant ends."""
    x = _activation(read, node)
    starts, ends = read.integers(node, "starts", 1), read.integers(node, "ends", 2)
    axes = read.integers(node, "axes", 3, [*range(len(starts))])
    steps = read.integers(node, "steps", 4, [1] * len(starts))
    indices: list[Sequence[int] | None] = [None] * len(x.shape)
    for axis, *ends_and_step in zip(axes, starts, ends, steps, strict=True):
        indices[axis % len(x.shape)] = [*range(x.shape[axis % len(x.shape)])[slice(*ends_and_step)]]
    return chosen(x, indices)


def split(read: QdqReader, node: Any) -> tuple[Value, ...]:
    """Split into parts, whose sizes are given or alike."""
    x = _activation(read, node)
    axis, count = int(attribute_of(node, "axis", 0)) % len(x.shape), len(node.output)
    size = -(-x.shape[axis] // count)
    sizes = read.integers(node, "split", 1, [min(size, x.shape[axis] - place * size) for place in range(count)])
    ends = np.cumsum(sizes).tolist()
    if ends[-1] != x.shape[axis] or len(sizes) != count or min(sizes) < 1:
        raise Unread
    return tuple(cut(x, axis, end - own, end) for own, end in zip(sizes, ends, strict=True))


def gather(read: QdqReader, node: Any) -> Value:
    """Gather at places along an axis."""
    x, places = read.input(node), read.input(node, 1)
    axis, known = int(attribute_of(node, "axis", 0)) % len(x.shape), array_of(places)
    if known is None:
        return computed(Gather(axis=axis, from_end=True), x, places)
    indices = from_front(known, x.shape[axis]).reshape(-1)
    return in_shape(at_indices(x, axis, indices), (*x.shape[:axis], *known.shape, *x.shape[axis + 1 :]))


def gather_elements(read: QdqReader, node: Any) -> Value:
    """GatherElements."""
    x = read.input(node)
    axis: int = attribute_of(node, "axis", 0) % len(x.shape)
    return computed(GatherElements(axis=axis), x, read.input(node, 1))


def gather_points(read: QdqReader, node: Any) -> Value:
    """GatherND of a whole tensor."""
    x, points = read.input(node), read.input(node, 1)
    known = array_of(points)
    if attribute_of(node, "batch_dims", 0) or not points.shape or points.shape[-1] > len(x.shape):
        raise Unread
    if known is None:
        return computed(GatherPoints(), x, points)
    return at_points(x, from_front(known, np.array(x.shape[: known.shape[-1]])))


def from_front(indices: Array, extents: Any) -> Array:
    """Constant indices, counted from the front of their axes."""
    indices = np.where(indices < 0, indices + extents, indices)
    if np.any(indices < 0) or np.any(indices >= extents):
        raise Unread
    return indices


def expand(read: QdqReader, node: Any) -> Value:
    """Expand, with constant extents."""
    x = _activation(read, node)
    return broadcast(x, np.broadcast_shapes(x.shape, tuple(read.integers(node, "shape", 1))))


def tile(read: QdqReader, node: Any) -> Value:
    """Tile, with constant numbers."""
    return repeated(_activation(read, node), read.integers(node, "repeats", 1))


def depth_to_space(read: QdqReader, node: Any) -> Value:
    """DepthToSpace: channels of a pixel side by side as pixels."""
    by_channel = attribute_of(node, "mode", b"DCR") == b"CRD"
    x, block = channels_last(_activation(read, node)), int(attribute_of(node, "blocksize", 1))
    return channels_first(blocks.depth_to_space(x, block, by_channel=by_channel))


def space_to_depth(read: QdqReader, node: Any) -> Value:
    """SpaceToDepth: pixels of a block as channels of one."""
    x = channels_last(_activation(read, node))
    return channels_first(blocks.space_to_depth(x, int(attribute_of(node, "blocksize", 1))))


def pad(read: QdqReader, node: Any) -> Value:
    """Pad with a constant number, or with elements of the tensor; a negative pad cuts elements off."""
    x = _activation(read, node)
    mode = attribute_of(node, "mode", b"constant").decode()
    numbers = np.reshape(read.integers(node, "pads", 1), (2, -1))
    axes = read.integers(node, "axes", 3, [*range(len(x.shape))])
    widths = [(0, 0)] * len(x.shape)
    for axis, before, behind in zip(axes, *numbers.tolist(), strict=True):
        widths[axis % len(x.shape)] = before, behind
    ends = [
        (max(0, -before), extent + min(0, behind)) for extent, (before, behind) in zip(x.shape, widths, strict=True)
    ]
    cut = chosen(x, [np.arange(*pair) for pair in ends])
    added = [(max(0, before), max(0, behind)) for before, behind in widths]
    if mode != "constant":
        return chosen(cut, [np.pad(np.arange(e), width, mode) for e, width in zip(cut.shape, added, strict=True)])
    return padded(cut, added, read.array(node, 2).item() if read.has(node, 2) else attribute_of(node, "value", 0.0))


def identity(read: QdqReader, node: Any) -> Value:
    """Identity, and Dropout, which does nothing in inference."""
    return read.input(node)


def constant(read: QdqReader, node: Any) -> Value:
    """Constant, which is known already."""
    return read.value(node.output[0])


def _activation(read: QdqReader, node: Any) -> Value:
    """The first input, if it is not constant."""
    x = read.input(node)
    if array_of(x) is not None or (not x.inputs and x.operator is not None):
        raise Unread
    return x


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "Concat": concatenate,
        "Constant": constant,
        "DepthToSpace": depth_to_space,
        "Dropout": identity,
        "Expand": expand,
        "Flatten": flatten,
        "Gather": gather,
        "GatherElements": gather_elements,
        "GatherND": gather_points,
        "Identity": identity,
        "Pad": pad,
        "Reshape": reshape,
        "Slice": slice_,
        "SpaceToDepth": space_to_depth,
        "Split": split,
        "Squeeze": squeeze,
        "Tile": tile,
        "Transpose": transpose,
        "Unsqueeze": unsqueeze,
    }
)
