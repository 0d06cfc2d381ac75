"""Where the blocks of a layer's constants lie, as C: among all of them, or in a block of a memory further out."""

from __future__ import annotations

from dataclasses import dataclass

from match.codegen.nest import LoopNest
from match.dispatch.packed_constants import block_dims, pieces, tiles
from match.ir.layer import Dim, Operand
from match.mapping.schedule import Loop, Schedule


@dataclass(frozen=True)
class ConstantsText:
    """The constants in the memory number `level`.

    Blocks are fetched from an array: the block of the next memory further out that has constants, or all constants. The
    array consists of the blocks of the innermost memory, in the order of `pack_constants`.
    """

    operand: Operand
    schedule: Schedule
    nest: LoopNest
    level: int

    @property
    def depth(self) -> int:
        """Number of loops that the blocks are inside of, those of memories further out included."""
        return self._depth(self.level)

    @property
    def array_depth(self) -> int:
        """How many loops the array in the memory outside lies inside of; 0 for the array of all constants."""
        held = [n for n in range(self.level) if self.schedule.memories[n].has(self.operand.name)]
        return self._depth(held[-1]) if held else 0

    def _depth(self, level: int) -> int:
        return self.schedule.placement(self.operand.name, self.schedule.memories[level]).depth

    @property
    def _innermost(self) -> bool:
        return self.level == len(self.schedule.memories) - 1

    @property
    def _inside(self) -> tuple[Loop, ...]:
        """Loops that cut a block into those of the innermost memory."""
        return self._cuts(self.depth, self._depth(len(self.schedule.memories) - 1))

    @property
    def ranges(self) -> int:
        """Blocks of the innermost memory for each range of output channels: ranges of input channels."""
        cuts = tiles(self._inside if not self._innermost else self._loops, Dim.C)
        return sum(1 for _ in pieces(0, self.schedule.layer.size(Dim.C), cuts))

    @property
    def _loops(self) -> tuple[Loop, ...]:
        """Loops that cut the array into the blocks."""
        return self._cuts(self.array_depth, self.depth)

    def _cuts(self, begin: int, end: int) -> tuple[Loop, ...]:
        return tuple(loop for loop in self.schedule.loops[begin:end] if loop.dim in self.operand.dims)

    @property
    def alike(self) -> bool:
        """Whether all blocks have the same number of bytes."""
        return len(self._counts(self.depth, self._inside)) == 1

    def _counts(self, depth: int, loops: tuple[Loop, ...]) -> set[int]:
        """Into how many ranges of output channels `loops` cut what the first `depth` loops leave of them."""
        cuts = tiles(self._cuts(0, depth), Dim.K)
        extents = {extent for _, extent in pieces(0, self.schedule.layer.size(Dim.K), cuts)}
        return {sum(1 for _ in pieces(0, extent, tiles(loops, Dim.K))) for extent in extents}

    def index(self, depth: int, prefix: str = "", *, first: bool = False) -> str:
        """Number of a block in the array: inside the first `depth` loops of this memory, or the first one."""
        slower, faster = block_dims(self._loops)
        indices = {Dim.K: self._k_index(depth, prefix, first), Dim.C: self._terms(Dim.C, depth, prefix, first)}
        index, blocks = indices[slower], self._blocks(faster)
        if blocks != "1" and index != "0":
            index = f"({index}) * {blocks}" if " + " in index or ") - " in index else f"{index} * {blocks}"
        return " + ".join(term for term in (index, indices[faster]) if term != "0") or "0"

    def _blocks(self, dim: Dim) -> str:
        """Into how many pieces of `dim` the array is cut."""
        if dim is Dim.C:
            return str(self.ranges) if self._innermost else "1"
        counts = self._counts(self.array_depth, self._loops)
        if len(counts) == 1:
            return str(counts.pop())
        return f"({self.before('part->weights_k_end')} - {self.before('part->weights_k')})"

    def _k_index(self, depth: int, prefix: str, first: bool) -> str:
        """Number of the range of output channels in the array."""
        if not tiles(self._cuts(self.array_depth, self.schedule.first_loop(self.level)), Dim.K):
            return self._terms(Dim.K, depth, prefix, first)
        index = self.before(self.nest.start(Dim.K, 0 if first else depth, prefix))
        if tiles(self._cuts(0, self.array_depth), Dim.K):
            index += f" - {self.before('part->weights_k')}"
        return index

    def _terms(self, dim: Dim, depth: int, prefix: str, first: bool) -> str:
        """The same of any dimension, where only loops of this memory cut the array along it."""
        if first:
            return "0"
        loops = self.nest.of(dim, depth)
        origin = self.nest.start(dim, 0)
        terms: list[str] = []
        for level, loop in enumerate(loops):
            offset = prefix + loop.variable
            if level:
                offset = f"({offset} - {prefix}{loops[level - 1].variable})"
            elif origin != "0":
                offset = f"({offset} - {origin})"
            inner = [further.tile_size for further in loops[level + 1 :]]
            blocks = sum(1 for _ in pieces(0, loop.tile_size, inner))
            terms.append(f"{offset} / {loop.tile}" + (f" * {blocks}" if blocks > 1 else ""))
        return " + ".join(terms) or "0"

    @staticmethod
    def before(k: str) -> str:
        """Ranges of output channels in front of channel `k`, where one begins, among all of the layer's."""
        return f"weights_before({k})"

    def before_formula(self, loops: tuple[tuple[str, int], ...]) -> str:
        """The result of the function `before` for `k`; `loops` are tiles of output channels, outermost first."""
        rest, terms = "k", list[str]()
        for number, (name, size) in enumerate(loops[:-1]):
            count = sum(1 for _ in pieces(0, size, [further for _, further in loops[number + 1 :]]))
            terms.append(f"{rest} / {name}" + (f" * {count}" if count > 1 else ""))
            rest += f" % {name}"
        return " + ".join([*terms, f"({rest} + {loops[-1][0]} - 1) / {loops[-1][0]}"])
