"""The first sieve of a search: the tiles that fit a memory, with lower bounds of what any mapping with them costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from match.layer import Dim, Role
from match.schedule.tiles import TILED, Floats, Ints, Sizes, TileCosts, product, total

T = TypeVar("T")
Flags = npt.NDArray[np.bool_]
Index = Sequence[Ints]
"""Tiles, each given by its place among the candidates of each dimension: three arrays."""


class Sieve:
    """The tiles that fit in some mapping, with lower bounds of `cycles` and of bytes `moved`, arrays over the tiles.

    The bounds of a new sieve count kernel calls, and compute as if one dimension alone were cut. Those of a refined one add
    transfers: how often each block is fetched at least, and what of that no kernel can hide. They rest on
    `CostModel.regular`; without that promise compute and transfers count nothing.
    """

    def __init__(self, costs: TileCosts, candidates: Mapping[Dim, Ints]) -> None:
        self._bounds = _Bounds(costs, candidates)
        self._index, self._room = self._bounds.feasible()
        self.cycles = self._bounds.work(self._index)
        self.moved = np.zeros(len(self.cycles))

    def __len__(self) -> int:
        return len(self.cycles)

    def tiles(self) -> Ints:
        """The tiles, shape (n, 3)."""
        return self._bounds.sizes(self._index)

    def select(self, rows: Ints) -> Sieve:
        """A sieve of these tiles."""
        part = copy(self)
        part._index = [index[rows] for index in self._index]
        part._room, part.cycles, part.moved = self._room[rows], self.cycles[rows], self.moved[rows]
        return part

    def refined(self, most_moved: float = math.inf) -> Sieve:
        """A sieve of the same tiles with the bounds of mappings that move at most `most_moved` bytes."""
        part = copy(self)
        if self._bounds.regular:
            part.cycles, part.moved = self._bounds.transfers(self._index, self._room, self.cycles, most_moved)
        return part


@dataclass
class _Floor:
    """Lower bounds over several ways to hold an operand with the same number of buffers; arrays over tiles.

    transfer: DMA cycles of all its blocks. moved: their bytes. exposed: cycles of them beside which no kernel runs. core: these
    and the cycles to issue transfers.
    """

    transfer: Floats
    moved: Floats
    exposed: Floats
    core: Floats

    @classmethod
    def over_nothing(cls, count: int) -> _Floor:
        return cls(*(np.full(count, np.inf) for _ in range(4)))

    def admit(self, fits: Flags, transfer: Floats, moved: Floats, exposed: Floats, core: Floats) -> None:
        """Take in one more way, where it fits."""
        ways = ((self.transfer, transfer), (self.moved, moved), (self.exposed, exposed), (self.core, core))
        for mine, its in ways:
            np.minimum(mine, its, out=mine, where=fits)


@dataclass(frozen=True)
class _Line:
    """An operand cut along one dimension, by candidate size.

    transfer, moved: DMA cycles and bytes of its blocks. cover: how many blocks like the one at the end cover the operand, infinite
    if that one is empty; ends: DMA cycles of so many. The end is the last block of an output, which no kernel hides, and the
    first one of another operand.
    """

    transfer: Floats
    moved: Floats
    cover: Floats
    ends: Floats

    def at(self, places: Ints) -> _Line:
        """The same, by tile."""
        return _Line(self.transfer[places], self.moved[places], self.cover[places], self.ends[places])


class _Bounds:
    """Bounds of all tiles from the costs of those that are cut in one dimension alone."""

    def __init__(self, costs: TileCosts, candidates: Mapping[Dim, Ints]) -> None:
        self.costs = costs
        self.pricing = costs.pricing
        gapless = self.pricing.gapless()
        self.least = costs if gapless is self.pricing else TileCosts(gapless)
        self.regular = self.pricing.cost_model.regular
        self.candidates = candidates
        self.counts = {dim: -(-costs.extents[dim] // candidates[dim]) for dim in TILED}
        operands = self.pricing.operands
        self.dims = [[dim for dim in TILED if dim in operand.dims] for operand in operands]
        self.is_output = [operand.role is Role.OUTPUT for operand in operands]
        self.lines: dict[int, dict[Dim, _Line]] = {}

    def feasible(self) -> tuple[Index, Ints]:
        """The tiles that fit, and the bytes that their blocks may take."""
        grid = np.meshgrid(*(np.arange(len(self.candidates[dim])) for dim in TILED), indexing="ij", sparse=True)
        need = total(self.block(n, TILED, grid) for n in range(len(self.dims)))
        least = tuple(int(self.candidates[dim][0]) for dim in TILED)
        scratch = np.zeros((), np.int64)
        for dim, places in zip(TILED, grid, strict=True):  # scratch never shrinks when a tile grows
            scratch = np.maximum(scratch, np.array(self.along(dim, self.costs.scratch, least), np.int64)[places])
        room = self.pricing.memory.size - scratch
        index = np.nonzero(need <= room)
        return index, np.broadcast_to(room, need.shape)[index]

    def sizes(self, index: Index) -> Ints:
        return np.stack([self.candidates[dim][places] for dim, places in zip(TILED, index, strict=True)], axis=1)

    def along(self, dim: Dim, cost: Callable[[Sizes], T], base: Sizes) -> list[T]:
        """A cost of the candidate sizes along `dim`, the other dimensions as in `base`."""
        n = TILED.index(dim)
        return [cost((*base[:n], size, *base[n + 1 :])) for size in self.candidates[dim].tolist()]

    def block(self, number: int, cut: Sequence[Dim], index: Index) -> Ints:
        """Bytes of an operand's blocks when the dimensions `cut` have their tile's size and the others are whole."""
        sizes = {dim: self.candidates[dim][places] for dim, places in zip(TILED, index, strict=True) if dim in cut}
        return self.costs.blocks(number, sizes)

    def work(self, index: Index) -> Floats:
        """Lower bound of the cycles of a layer, transfers left out."""
        calls = product(self.counts[dim][places] for dim, places in zip(TILED, index, strict=True))
        compute = np.zeros(len(calls))
        if self.regular:
            for dim, places in zip(TILED, index, strict=True):
                line = np.array(self.along(dim, self.least.compute, self.costs.whole), np.float64)
                compute = np.maximum(compute, line[places])
        return self.pricing.overhead + calls * self.pricing.launch + compute

    def transfers(self, index: Index, room: Ints, work: Floats, most_moved: float) -> tuple[Floats, Floats]:
        """Lower bounds of cycles and bytes with transfers; `work` are those of cycles without."""
        counts = {dim: self.counts[dim][places] for dim, places in zip(TILED, index, strict=True)}
        blocks = [self.block(n, TILED, index) for n in range(len(self.dims))]
        spare = room - total(blocks)
        least = [self.least.totals(n, self.costs.whole).moved for n in range(len(self.dims))]
        floors = [
            self.floors(n, index, counts, spare + block, most_moved - sum(least) + least[n])
            for n, block in enumerate(blocks)
        ]
        cycles, moved = np.full(len(work), np.inf), np.full(len(work), np.inf)
        uncut = product(counts.values()) == 1
        for outermost in TILED:
            possible = uncut | (counts[outermost] > 1)
            held = [floor[outermost] for floor in floors]
            np.minimum(cycles, self.latency(held, blocks, room, work), out=cycles, where=possible)
            np.minimum(moved, total(np.minimum(one.moved, two.moved) for one, two in held), out=moved, where=possible)
        return cycles, moved

    def latency(self, held: list[tuple[_Floor, _Floor]], blocks: list[Ints], room: Ints, work: Floats) -> Floats:
        """Lower bound of the cycles when each operand is held in one of the ways of `held`, with one buffer or two."""
        pricing = self.pricing
        transfer = total(np.minimum(one.transfer, two.transfer) for one, two in held)
        if not pricing.overlap:
            return work + transfer
        core = np.full(len(work), np.inf)
        for buffers in itertools.product((0, 1), repeat=len(held)):
            need = total((1 + more) * block for more, block in zip(buffers, blocks, strict=True))
            # While the core waits for a write-back, it can issue transfers.
            waits = any(out and not more for out, more in zip(self.is_output, buffers, strict=True))
            added = total(
                ways[more].exposed if waits and not out else ways[more].core
                for out, more, ways in zip(self.is_output, buffers, held, strict=True)
            )
            np.minimum(core, added, out=core, where=need <= room)
        return np.maximum(work + pricing.issue + core, pricing.overhead + pricing.issue + transfer)

    def floors(
        self, number: int, index: Index, counts: Mapping[Dim, Ints], room: Ints, most_moved: float
    ) -> dict[Dim, tuple[_Floor, _Floor]]:
        """What an operand costs at least in `room` bytes with one buffer and with two, for each outermost loop."""
        dims, out, size = self.dims[number], self.is_output[number], len(room)
        lines = {dim: line.at(index[TILED.index(dim)]) for dim, line in self.lines_of(number).items()}
        whole = self.least.totals(number, self.costs.whole)
        result = {dim: (_Floor.over_nothing(size), _Floor.over_nothing(size)) for dim in TILED}
        for cut in itertools.chain.from_iterable(itertools.combinations(dims, n) for n in range(len(dims) + 1)):
            block = self.block(number, cut, index)
            blocks = product(counts[dim] for dim in cut).astype(np.float64)
            parts = product(lines[dim].cover for dim in cut)
            transfer = _largest(size, whole.transfer, (lines[dim].transfer for dim in cut))
            moved = _largest(size, whole.moved, (lines[dim].moved for dim in cut))
            end = _largest(size, whole.transfer, (lines[dim].ends for dim in cut)) / parts
            for outermost in TILED:
                if cut and outermost in dims and outermost not in cut:
                    continue  # a block is fetched inside the outermost loop, or before all of them
                again = counts[outermost] if cut and outermost not in dims else np.ones((), np.int64)
                for buffers in (1, 2) if cut else (1,):
                    fits = (buffers * block <= room) & (again * moved <= most_moved)
                    fetches = again * blocks
                    issues = self.pricing.issue * (fetches if out else np.maximum(0.0, fetches - buffers))
                    exposed = again * transfer if buffers == 1 else end
                    result[outermost][buffers - 1].admit(
                        fits, again * transfer, again * moved, exposed + issues if out else exposed, exposed + issues
                    )
        return result

    def lines_of(self, number: int) -> dict[Dim, _Line]:
        """The lines of an operand."""
        known = self.lines.get(number)
        if known is None:
            out = self.is_output[number]
            known = {}
            for dim in self.dims[number]:
                totals = self.along(dim, lambda tile: self.least.totals(number, tile), self.costs.whole)
                end = np.array([each.last if out else each.first for each in totals], np.float64)
                cover = self.cover(number, dim)
                known[dim] = _Line(
                    np.array([each.transfer for each in totals], np.float64),
                    np.array([each.moved for each in totals], np.float64),
                    cover,
                    np.where(np.isfinite(cover), cover, 0.0) * end,
                )
            self.lines[number] = known
        return known

    def cover(self, number: int, dim: Dim) -> Floats:
        """How many blocks like the first one (of an output, the last one) it takes to cover an operand along `dim`."""
        extent = self.costs.extents[dim]
        axes = [axis for axis in self.least.pricing.axes[number] if axis.dim is dim]
        result: list[float] = []
        for size in self.candidates[dim].tolist():
            start = (extent - 1) // size * size if self.is_output[number] else 0
            lengths = [axis.span(start, min(size, extent - start))[1] for axis in axes]
            parts = [-(-axis.limit // n) if n else math.inf for axis, n in zip(axes, lengths, strict=True)]
            result.append(max(1, *parts))
        return np.array(result, np.float64)


def _largest(size: int, whole: float, parts: Iterable[Floats]) -> Floats:
    result = np.full(size, float(whole))
    for part in parts:
        np.maximum(result, part, out=result)
    return result
