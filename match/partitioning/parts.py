"""Concatenations and slices that copy nothing: which tensors may lie inside others, and where.

Who writes a tensor that is concatenated may write it into its place in the result, and who reads a slice may read it
where it is. The tensor then is a part of a larger one, its whole: some of the channels of each pixel. A whole may be a
part itself. Only layers that modules may take write and read parts; whether they do is chosen with all else (`choice`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from match.dispatch.plan import Part
from match.ir.layer import Layer, Op
from match.mapping.storage import Storage, part_of
from match.partitioning.pattern import Match
from match.relay import relay
from match.relay.graph import users

Pitches = tuple[int, ...]
"""Of a layer's inputs and its output, see `Layer.pitches`."""

_IDENTITY = np.arange(256, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Parts:
    """Which tensors may lie inside others.

    layouts: of each tensor that may be a part, how it then lies in main memory.
    rows: concatenations and slices that then copy nothing, by their numbers among the network's rows, with the parts
        among their arguments, inputs first.
    """

    layouts: Mapping[relay.Expr, Storage]
    rows: Mapping[int, tuple[Part, ...]]

    def pitches(self, row: Match, place: int | None = None) -> Iterator[Pitches]:
        """All ways in which some tensors of a layer are parts, but that in which none is.

        `place` is that of a layer which is one of `rows`: if it copies after all, its own parts are none.
        """
        tensors = (*row.inputs, row.root)
        own = {tensors[part.argument] for part in self.rows.get(-1 if place is None else place, ())}
        pitches = {x: self.layouts[x].pitch for x in tensors if x in self.layouts and x not in own}
        for taken in product((False, True), repeat=len(pitches)):
            parts = {x for x, is_part in zip(pitches, taken, strict=True) if is_part}
            if parts:
                yield tuple(pitches[x] if x in parts else 0 for x in tensors)


def find_parts(main: relay.Function, layers: Mapping[int, Match]) -> Parts:
    """The tensors of a network that may be parts; `layers` are by their numbers among its rows.

    A tensor is a part of one whole at most: of the first concatenation that joins it, else of what it is sliced from.
    All readers of parts and wholes are layers, and whoever writes or joins a part sees the same pixels and channels.
    """
    readers = users(main)
    written = {row.root: row.layer for row in layers.values()}
    inner = {call for row in layers.values() for call in row.covered}
    wholes: dict[relay.Expr, tuple[relay.Expr, int]] = {}

    def known(x: relay.Expr) -> bool:
        return x in written and all(reader in inner for reader in readers[x])

    def seen_so(x: relay.Expr, pixels: int, channels: int) -> bool:
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


def _layout(x: relay.Expr, layer: Layer, wholes: Mapping[relay.Expr, tuple[relay.Expr, int]]) -> Storage:
    """How a part lies in the outermost of its wholes, which are there with their channels."""
    whole, pitch = wholes[x]
    while whole in wholes:
        whole, pitch = wholes[whole]
    return part_of(layer.oy * layer.ox, layer.output_channels, pitch)


def _copies(row: Match) -> bool:
    """Whether values stay as they are."""
    return row.constants.table is not None and bool(np.all(row.constants.table == _IDENTITY))


def _parts(layer: Layer) -> tuple[Part, ...]:
    if layer.op is Op.SLICE:
        return (Part(1, 0, layer.first_channels),)
    return Part(0, 2, 0), Part(1, 2, layer.first_channels)


def _channels(layer: Layer) -> tuple[int, ...]:
    """Of inputs and output."""
    first = layer.input_channels
    return (first, layer.k) if layer.op is Op.SLICE else (first, layer.k - first, layer.k)
