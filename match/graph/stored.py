"""Graphs as bytes, for files and other processes."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from match.graph.opaque import Function
from match.graph.text import arrays, functions, parse, text
from match.graph.value import Graph


class _StoredArray(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    data: bytes


class _StoredGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """The text of a graph, and what it leaves out, by digests."""

    text: str
    arrays: dict[str, _StoredArray]
    functions: dict[str, str]


def stored(graph: Graph) -> bytes:
    """A graph as bytes."""
    kept = {name: _StoredArray(x.dtype.name, x.shape, x.tobytes()) for name, x in arrays(graph).items()}
    return msgspec.msgpack.encode(_StoredGraph(text(graph), kept, functions(graph)))


def loaded(data: bytes, function: Callable[[str], Function]) -> Graph:
    """The graph of what `stored` returned; `function` makes functions of their texts."""
    found = msgspec.msgpack.decode(data, type=_StoredGraph)
    known = {name: np.frombuffer(x.data, x.dtype).reshape(x.shape) for name, x in found.arrays.items()}
    return parse(found.text, known, {name: function(written) for name, written in found.functions.items()})
