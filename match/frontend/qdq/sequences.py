"""Sequences of tensors, which are made, changed and read at known places: they are no tensors of the graph."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Refused, Unread
from match.graph.make import array_of, concatenated, constant, cut, reshaped
from match.graph.value import Value

Parts = tuple[Value, ...]


def _parts(read: QdqReader, node: Any) -> Parts:
    """The sequence that is an operator's first input."""
    if node.input[0] not in read.sequences:
        raise Unread
    return read.sequences[node.input[0]]


def _made(read: QdqReader, node: Any, parts: Parts) -> Parts:
    """No tensors: an operator makes a sequence."""
    read.sequences[node.output[0]] = parts
    return ()


def _place(read: QdqReader, node: Any, at: int, default: int) -> int:
    """A place in a sequence, the input number `at`."""
    if not read.has(node, at):
        return default
    place = array_of(read.input(node, at))
    if place is None:
        raise Refused("at a place that depends on the inputs")
    return int(place.item())


def constructed(read: QdqReader, node: Any) -> Parts:
    """SequenceConstruct and SequenceEmpty."""
    return _made(read, node, tuple(read.input(node, place) for place in range(len(node.input))))


def split(read: QdqReader, node: Any) -> Parts:
    """SplitToSequence: into parts of one size, of given ones, or of one element, of which the axis may be dropped."""
    x = read.input(node)
    axis: int = attribute_of(node, "axis", 0) % len(x.shape)
    extent, given = x.shape[axis], read.array(node, 1) if read.has(node, 1) else np.ones((), np.int64)
    sizes = given.tolist() if given.ndim else [int(given)] * -(-extent // int(given))
    ends = np.minimum(np.cumsum(sizes), extent).tolist()
    parts = [cut(x, axis, begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    if not read.has(node, 1) and not attribute_of(node, "keepdims", 1):
        parts = [reshaped(part, (*x.shape[:axis], *x.shape[axis + 1 :])) for part in parts]
    return _made(read, node, tuple(parts))


def inserted(read: QdqReader, node: Any) -> Parts:
    """SequenceInsert: at the end, if no place is given."""
    parts = list(_parts(read, node))
    parts.insert(_place(read, node, 2, len(parts)), read.input(node, 1))
    return _made(read, node, tuple(parts))


def erased(read: QdqReader, node: Any) -> Parts:
    """SequenceErase: the last one, if no place is given."""
    parts = list(_parts(read, node))
    del parts[_place(read, node, 1, -1)]
    return _made(read, node, tuple(parts))


def element(read: QdqReader, node: Any) -> Value:
    """SequenceAt."""
    return _parts(read, node)[_place(read, node, 1, 0)]


def length(read: QdqReader, node: Any) -> Value:
    """SequenceLength."""
    return constant(len(_parts(read, node)), "int64")


def joined(read: QdqReader, node: Any) -> Value:
    """ConcatFromSequence: along an axis of the tensors, or along one that they get."""
    parts, added = _parts(read, node), bool(attribute_of(node, "new_axis", 0))
    rank = len(parts[0].shape) + added
    axis: int = attribute_of(node, "axis", 0) % rank
    if added:
        parts = tuple(reshaped(part, (*part.shape[:axis], 1, *part.shape[axis:])) for part in parts)
    return concatenated(parts, axis)


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "ConcatFromSequence": joined,
        "SequenceAt": element,
        "SequenceConstruct": constructed,
        "SequenceEmpty": constructed,
        "SequenceErase": erased,
        "SequenceInsert": inserted,
        "SequenceLength": length,
        "SplitToSequence": split,
    }
)
