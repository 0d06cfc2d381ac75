"""The outer loops of a schedule as C: names of variables and sizes, and expressions for what an iteration covers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from match.codegen.constants import block_dims, pieces
from match.layer import Dim, Layer
from match.schedule.mapping import Loop, Schedule

_MEANING = {
    Dim.K: "Output channels",
    Dim.OY: "Output rows",
    Dim.OX: "Output columns",
    Dim.C: "Input channels",
}


@dataclass(frozen=True)
class CLoop:
    """One loop: `variable` runs over the starts of tiles of `tile` (a name) iterations of `dim`.

    `even` tells that every tile is full, whichever iteration of the loops outside it belongs to.
    """

    dim: Dim
    variable: str
    tile: str
    tile_size: int
    even: bool
    comment: str


class Nest:
    """The loops of a schedule, outermost first, and C expressions about their iterations.

    Positions are the loops' variables, or fields of the same names in a structure given as `prefix` ("next.").
    """

    def __init__(self, schedule: Schedule) -> None:
        """Names the loops of `schedule`."""
        self._layer = schedule.layer
        self._schedule = schedule
        sizes = {dim: {self._layer.size(dim)} for dim in Dim}
        loops: list[CLoop] = []
        for level, loop in enumerate(schedule.loops):
            even = all(size % loop.tile == 0 for size in sizes[loop.dim])
            loops.append(_named(schedule.loops, level, sizes[loop.dim], even))
            sizes[loop.dim] = {s for size in sizes[loop.dim] for s in (min(size, loop.tile), size % loop.tile) if s}
        self.loops = tuple(loops)

    def __len__(self) -> int:
        return len(self.loops)

    def of(self, dim: Dim, depth: int) -> tuple[CLoop, ...]:
        """The loops over `dim` among the first `depth`."""
        return tuple(loop for loop in self.loops[:depth] if loop.dim is dim)

    def start(self, dim: Dim, depth: int, prefix: str = "") -> str:
        """First iteration of `dim` inside the first `depth` loops."""
        loops = self.of(dim, depth)
        return prefix + loops[-1].variable if loops else "0"

    def end(self, dim: Dim, depth: int, prefix: str = "") -> str:
        """The iteration behind the last one of `dim` inside the first `depth` loops, computed from the starts."""
        loops = self.of(dim, depth)
        if not loops:
            return size_name(dim, self._layer)
        full = f"{prefix}{loops[-1].variable} + {loops[-1].tile}"
        if loops[-1].even:
            return full
        outer = self.loops.index(loops[-1])
        return f"match_min({full}, {self.end(dim, outer, prefix)})"

    def bound(self, dim: Dim, depth: int) -> str:
        """`end` of the iteration that the loops are in: a variable of the generated code where it has one."""
        loops = self.of(dim, depth)
        if loops and not loops[-1].even:
            return f"{loops[-1].variable}_end"
        return self.end(dim, depth)

    def first_end(self, dim: Dim, depth: int) -> str:
        """`end` of the first iteration, all of whose tiles are full."""
        loops = self.of(dim, depth)
        return loops[-1].tile if loops else size_name(dim, self._layer)

    def constants_index(self, depth: int, prefix: str = "") -> str:
        """Number of the block of constants inside the first `depth` loops, in the order of `pack_constants`."""
        slower, faster = block_dims(self._schedule, depth)
        index, inner = self._piece_index(slower, depth, prefix), self._piece_index(faster, depth, prefix)
        tiles = [loop.tile_size for loop in self.of(faster, depth)]
        blocks = sum(1 for _ in pieces(0, self._layer.size(faster), tiles))
        if blocks > 1 and index != "0":
            index = f"({index}) * {blocks}" if " + " in index else f"{index} * {blocks}"
        return " + ".join(term for term in (index, inner) if term != "0") or "0"

    def _piece_index(self, dim: Dim, depth: int, prefix: str) -> str:
        """Number of the piece of `dim` inside the first `depth` loops, counted over the pieces of the whole layer."""
        loops = self.of(dim, depth)
        terms: list[str] = []
        for level, loop in enumerate(loops):
            offset = prefix + loop.variable
            if level:
                offset = f"({offset} - {prefix}{loops[level - 1].variable})"
            inner = [further.tile_size for further in loops[level + 1 :]]
            blocks = sum(1 for _ in pieces(0, loop.tile_size, inner))
            terms.append(f"{offset} / {loop.tile}" + (f" * {blocks}" if blocks > 1 else ""))
        return " + ".join(terms) or "0"


def _named(loops: Sequence[Loop], level: int, extents: Set[int], even: bool) -> CLoop:
    loop = loops[level]
    same = [index for index, other in enumerate(loops) if other.dim is loop.dim]
    name = loop.dim.lower() + (str(same.index(level)) if len(same) > 1 else "")
    comment = f"{_MEANING[loop.dim]}, {loop.tile} at a time"
    rests = sorted({extent % loop.tile for extent in extents} - {0})
    if rests:
        comment += f"; the last {' or '.join(map(str, rests))}"
    return CLoop(loop.dim, name, f"{name.upper()}_TILE", loop.tile, even, f"{comment}.")


def size_name(dim: Dim, layer: Layer) -> str:
    """Name of the constant that holds the size of a loop dimension."""
    return {
        Dim.K: "CHANNELS" if layer.channelwise else "OUT_CHANNELS",
        Dim.C: "IN_CHANNELS",
        Dim.OY: "OUT_HEIGHT",
        Dim.OX: "OUT_WIDTH",
        Dim.FY: "FILTER_HEIGHT",
        Dim.FX: "FILTER_WIDTH",
    }[dim]
