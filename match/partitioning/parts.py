"""Concatenations and slices that copy nothing: the tensors that may lie inside others, and where.

A layer may write its output directly into the result of a concatenation, and may read a slice from the tensor that is
sliced. The smaller tensor is then a part of the larger one, its whole, and has some channels of each pixel. A whole may
be a part itself. Only layers that modules may take write and read parts; `choice` decides whether they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from match.dispatch.plan import Part
from match.graph.value import Graph, Value, readers
from match.ir.attributes import Slice
from match.ir.constants import Entries
from match.ir.layer import Layer, Op
from match.mapping.storage import Storage, part_of
from match.partitioning.pattern import Match

Pitches = tuple[int, ...]
"""The pitches of a layer's inputs and output, see `Layer.pitches`."""

_IDENTITY = np.arange(256, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Parts:
    """Which tensors may lie inside others.

    layouts: the layout in main memory of each tensor that may be a part.
    rows: concatenations and slices that copy nothing if their tensors are parts, by their row numbers, with the parts
        among their arguments, inputs first.
    """

    layouts: Mapping[Value, Storage]
    rows: Mapping[int, tuple[Part, ...]]

    def pitches(self, row: Match, place: int | None = None) -> Iterator[Pitches]:
        """All combinations of tensors of a layer that may be parts, without the one with no parts.

        `place` is the row number of a layer in `rows`: if such a layer does copy, its own arguments are not parts.
        """
        tensors = (*row.inputs, row.root)
        own = {tensors[part.argument] for part in self.rows.get(-1 if place is None else place, ())}
        pitches = {x: self.layouts[x].pitch for x in tensors if x in self.layouts and x not in own}
        for taken in product((False, True), repeat=len(pitches)):
            parts = {x for x, is_part in zip(pitches, taken, strict=True) if is_part}
            if parts:
                yield tuple(pitches[x] if x in parts else 0 for x in tensors)


def find_parts(network: Graph, layers: Mapping[int, Match]) -> Parts:
    """The tensors of a network that may be parts; `layers` are by row number.

    A tensor is part of at most one whole: the first concatenation that joins it, else the tensor that it is sliced
    from. All readers of parts and wholes are layers, and the writer of a part sees the same pixels and channels as its
    reader.
    """
    read_by = readers(network)
    written = {row.root: row.layer for row in layers.values()}
    inner = {value for row in layers.values() for value in row.covered}
    wholes: dict[Value, tuple[Value, int]] = {}

    def known(x: Value) -> bool:
        return x in written and all(reader in inner for reader in read_by[x])

    def seen_so(x: Value, pixels: int, channels: int) -> bool:
        return (written[x].oy * written[x].ox, written[x].output_channels) == (pixels, channels)

    rows: dict[int, tuple[Part, ...]] = {}
    for op in (Op.CONCATENATE, Op.SLICE):
        for place, row in layers.items():
            tensors = (*row.inputs, row.root)
            if row.layer.op is not op or not _copies(row) or len({*tensors}) < len(tensors):
                continue
            pixels, channels, parts = row.layer.oy * row.layer.ox, _channels(row.layer), _parts(row.layer)
            inside = {part.argument for part in parts}
            if (
                all(map(known, tensors))
                and not any(tensors[argument] in wholes for argument in inside)
                and all(
                    seen_so(x, pixels, own)
                    for argument, (x, own) in enumerate(zip(tensors, channels, strict=True))
                    if argument in inside or x in wholes
                )
            ):
                rows[place] = parts
                wholes |= {tensors[part.argument]: (tensors[part.whole], channels[part.whole]) for part in parts}
    return Parts({x: _layout(x, written[x], wholes) for x in wholes}, rows)


def _layout(x: Value, layer: Layer, wholes: Mapping[Value, tuple[Value, int]]) -> Storage:
    """The layout of a part inside the outermost of its `wholes`, which come with their channels."""
    whole, pitch = wholes[x]
    while whole in wholes:
        whole, pitch = wholes[whole]
    return part_of(layer.oy * layer.ox, layer.output_channels, pitch)


def _copies(row: Match) -> bool:
    """Whether values stay as they are."""
    tables = row.constants.get(Entries)
    return tables is not None and bool(np.all(tables.entries == _IDENTITY))


def _parts(layer: Layer) -> tuple[Part, ...]:
    if layer.op is Op.SLICE:
        return (Part(1, 0, layer.get(Slice).start),)
    return Part(0, 2, 0), Part(1, 2, layer.input_channels)


def _channels(layer: Layer) -> tuple[int, ...]:
    """The channels of a layer's inputs and of its output."""
    first = layer.input_channels
    return (first, layer.k) if layer.op is Op.SLICE else (first, layer.k - first, layer.k)
