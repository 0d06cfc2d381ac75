"""The outer loops of a schedule as C: names of variables and sizes, and expressions for what an iteration covers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from match.ir.layer import Dim, Layer, Op
from match.mapping.schedule import Loop, Schedule

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


class LoopNest:
    """The loops of one of a schedule's memories, outermost first, and C expressions about their iterations.

    Positions are the loops' variables, or fields of the same names in a structure given as `prefix` ("next."). Loops of
    memories outside of this one are in other functions: what is left of a dimension that they cut is in `part`. Depths
    count from the first loop of this memory.
    """

    def __init__(self, schedule: Schedule, level: int = 0) -> None:
        """Names the loops of `schedule` that make blocks of its memory number `level`."""
        self._layer = schedule.layer
        self._cut_outside = frozenset(loop.dim for loop in schedule.loops if loop.level < level)
        sizes = {dim: {self._layer.size(dim)} for dim in Dim}
        self.extents = {dim: frozenset(found) for dim, found in sizes.items()}
        """How many iterations of each dimension these loops may have to cover."""
        loops: list[CLoop] = []
        for number, loop in enumerate(schedule.loops):
            even = all(size % loop.tile == 0 for size in sizes[loop.dim])
            loops.append(_named(schedule.loops, number, sizes[loop.dim], even))
            sizes[loop.dim] = {s for size in sizes[loop.dim] for s in (min(size, loop.tile), size % loop.tile) if s}
            if loop.level < level:
                self.extents[loop.dim] = frozenset(sizes[loop.dim])
        first = schedule.first_loop(level)
        self.outside = tuple(loops[:first])
        self.loops = tuple(loops[first : schedule.first_loop(level + 1)])

    def __len__(self) -> int:
        return len(self.loops)

    def of(self, dim: Dim, depth: int) -> tuple[CLoop, ...]:
        """The loops over `dim` among the first `depth`."""
        return tuple(loop for loop in self.loops[:depth] if loop.dim is dim)

    def cut_outside(self, dim: Dim) -> bool:
        """Whether loops of memories outside of this one cut a dimension."""
        return dim in self._cut_outside

    def start(self, dim: Dim, depth: int, prefix: str = "") -> str:
        """First iteration of `dim` inside the first `depth` loops."""
        loops = self.of(dim, depth)
        if loops:
            return prefix + loops[-1].variable
        return f"part->{dim.lower()}" if self.cut_outside(dim) else "0"

    def end(self, dim: Dim, depth: int, prefix: str = "") -> str:
        """The iteration after the last one of `dim` inside the first `depth` loops, computed from the starts."""
        loops = self.of(dim, depth)
        if not loops:
            return f"part->{dim.lower()}_end" if self.cut_outside(dim) else size_name(dim, self._layer)
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
        """`end` of the first iteration, whose tiles are full where no loop outside of these cuts the dimension."""
        loops = self.of(dim, depth)
        if not loops:
            return self.end(dim, 0)
        if not self.cut_outside(dim):
            return loops[-1].tile
        full = f"{self.start(dim, 0)} + {loops[-1].tile}"
        enough = all(extent >= loops[-1].tile_size for extent in self.extents[dim])
        return full if enough else f"match_min({full}, {self.end(dim, 0)})"


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
    if layer.op is Op.GROUPED_CONV2D and dim in (Dim.K, Dim.C):
        return "GROUPS" if dim is Dim.K else "GROUP_INPUTS"
    return {
        Dim.K: "CHANNELS" if layer.channelwise else "OUT_CHANNELS",
        Dim.C: "SUMMED_CHANNELS" if layer.fused else "IN_CHANNELS",
        Dim.OY: "OUT_HEIGHT",
        Dim.OX: "OUT_WIDTH",
        Dim.FY: "FILTER_HEIGHT",
        Dim.FX: "FILTER_WIDTH",
    }[dim]
