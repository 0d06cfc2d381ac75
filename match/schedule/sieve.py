"""The first sieve of a search: all tiles that fit a memory, with lower bounds of what any mapping with them costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from match.layer import Dim, Role
from match.schedule.tiles import (
    TILED,
    Floats,
    Ints,
    Sizes,
    TileCosts,
    Totals,
    component_lengths,
    round_up,
)


Index = tuple[Ints, ...]
Flags = npt.NDArray[np.bool_]


@dataclass
class _Floor:
    """Lower bounds over several ways to hold an operand with a given number of buffers; arrays over tiles.

    transfer: DMA cycles of all its blocks. moved: their bytes. exposed: cycles of them beside which no kernel runs. core: these
    and the cycles to issue transfers.
    """

    transfer: Floats
    moved: Floats
    exposed: Floats
    core: Floats

    @classmethod
    def of_nothing(cls, count: int) -> Self:
        return cls(*(np.full(count, np.inf) for _ in range(4)))

    def admit(self, fits: Flags, transfer: Floats, moved: Floats, exposed: Floats, core: Floats) -> None:
        """One more way, where it fits."""
        ways = ((self.transfer, transfer), (self.moved, moved), (self.exposed, exposed), (self.core, core))
        for mine, its in ways:
            np.minimum(mine, its, out=mine, where=fits)


class Sieve:
    """The tiles that fit in some mapping, shape (n, 3), with lower bounds of `cycles` and bytes `moved`, shape (n,).

    The bounds of a new sieve count kernel calls, and compute as if one dimension alone were cut. Those of a refined one add
    transfers: how often each block is fetched at least, and what of that no kernel can hide. They rest on
    `CostModel.regular`; without that promise compute and transfers count nothing.
    """

    def __init__(self, costs: TileCosts, candidates: Mapping[Dim, Ints]) -> None:
        self._tables = _Tables(costs, candidates)
        self._index, self._room = self._tables.feasible()
        self.cycles = self._tables.work(self._index)
        self.moved = np.zeros(len(self.cycles))

    def __len__(self) -> int:
        return len(self.cycles)

    def tiles(self) -> Ints:
        """The tiles, shape (n, 3)."""
        return self._tables.sizes(self._index)

    def select(self, rows: Ints) -> Sieve:
        """A sieve of these tiles."""
        part = copy(self)
        part._index = tuple(index[rows] for index in self._index)
        part._room, part.cycles, part.moved = self._room[rows], self.cycles[rows], self.moved[rows]
        return part

    def refined(self) -> Sieve:
        """A sieve of the same tiles with tighter bounds."""
        part = copy(self)
        if self._tables.regular:
            cycles, part.moved = self._tables.transfers(self._index, self._room, self.cycles)
            part.cycles = np.maximum(self.cycles, cycles)
        return part


class _Tables:
    """What tiles cost that are cut in one dimension alone, by candidate size; and from it, bounds for all tiles.

    A tile is given by its index among the candidates of each dimension, `index`, three arrays.
    """

    def __init__(self, costs: TileCosts, candidates: Mapping[Dim, Ints]) -> None:
        self.costs = costs
        self.pricing = costs.pricing
        self.regular = self.pricing.cost_model.regular
        self.candidates = candidates
        self.counts = {dim: -(-costs.extents[dim] // candidates[dim]) for dim in TILED}
        operands = self.pricing.operands
        self.dims = [tuple(dim for dim in TILED if dim in operand.dims) for operand in operands]
        self.output = [operand.role is Role.OUTPUT for operand in operands]
        self.lengths = [
            [{dim: component_lengths(component, dim, candidates[dim]) for dim in dims} for component in operand.components]
            for operand, dims in zip(operands, self.dims, strict=True)
        ]

    def feasible(self) -> tuple[Index, Ints]:
        """The tiles that fit, and the bytes that operands may take beside them."""
        grid = np.meshgrid(*(np.arange(len(self.candidates[dim])) for dim in TILED), indexing="ij", sparse=True)
        need = sum((self.block(n, TILED, grid) for n in range(len(self.dims))), start=np.int64(0))
        scratch = np.zeros((), np.int64)
        least = tuple(int(self.candidates[dim][0]) for dim in TILED)
        for dim, axis in zip(TILED, grid, strict=True):
            scratch = np.maximum(scratch, self.line(dim, self.costs.scratch, least).astype(np.int64)[axis])
        room = self.pricing.memory.size - scratch
        index = np.nonzero(need <= room)
        return index, np.broadcast_to(room, need.shape)[index]

    def sizes(self, index: Index) -> Ints:
        return np.stack([self.candidates[dim][i] for dim, i in zip(TILED, index, strict=True)], axis=1)

    def line(self, dim: Dim, cost: Callable[[Sizes], float], base: Sizes) -> Floats:
        """A cost of the candidate sizes along `dim`, the other dimensions as in `base`."""
        n = TILED.index(dim)
        return np.array([cost((*base[:n], size, *base[n + 1 :])) for size in self.candidates[dim].tolist()], np.float64)

    def block(self, number: int, cut: Sequence[Dim], index: Index | Sequence[Ints]) -> Ints:
        """Bytes of an operand's blocks when the dimensions `cut` have their tile's size and the others are whole."""
        total = np.zeros((), np.int64)
        for component, lengths in zip(self.pricing.operands[number].components, self.lengths[number], strict=True):
            size = np.full((), component.element_bytes, np.int64)
            for axis in component.axes:
                if axis.dim not in lengths:
                    size = size * axis.length(self.costs.extents[axis.dim])
            for dim, length in lengths.items():
                size = size * (length[index[TILED.index(dim)]] if dim in cut else length[-1])
            total = total + round_up(size, self.pricing.memory.alignment)
        return total

    def work(self, index: Index) -> Floats:
        """Lower bound of the cycles of a layer, transfers left out."""
        pricing = self.pricing
        calls = math.prod(self.counts[dim][i] for dim, i in zip(TILED, index, strict=True))
        compute = np.zeros(len(calls))
        if self.regular:
            for dim, i in zip(TILED, index, strict=True):
                np.maximum(compute, self.line(dim, self.costs.compute, self.costs.whole)[i], out=compute)
        return pricing.overhead + calls * pricing.launch + compute

    def transfers(self, index: Index, room: Ints, work: Floats) -> tuple[Floats, Floats]:
        """Lower bounds of cycles and bytes with transfers, given those of `work`."""
        counts = {dim: self.counts[dim][i] for dim, i in zip(TILED, index, strict=True)}
        blocks = [self.block(n, TILED, index) for n in range(len(self.dims))]
        spare = room - sum(blocks)
        floors = [self.floors(n, index, counts, spare + block) for n, block in enumerate(blocks)]
        cycles, moved = np.full(len(work), np.inf), np.full(len(work), np.inf)
        uncut = math.prod(counts.values()) == 1
        for outermost in TILED:
            possible = uncut | (counts[outermost] > 1)
            held = [floor[outermost] for floor in floors]
            np.minimum(cycles, self.latency(held, blocks, room, work), out=cycles, where=possible)
            np.minimum(moved, sum(np.minimum(one.moved, two.moved) for one, two in held), out=moved, where=possible)
        return cycles, moved

    def latency(self, held: list[tuple[_Floor, _Floor]], blocks: list[Ints], room: Ints, work: Floats) -> Floats:
        """Lower bound of the cycles, operands held in one of the ways of `held`."""
        pricing = self.pricing
        transfer = sum((np.minimum(one.transfer, two.transfer) for one, two in held), start=np.zeros(len(work)))
        if not pricing.overlap:
            return work + transfer
        core = np.full(len(work), np.inf)
        for buffers in itertools.product((0, 1), repeat=len(held)):
            need = sum((1 + more) * block for more, block in zip(buffers, blocks, strict=True))
            # transfers can be issued while the core waits for a write-back anyway
            waits = any(out and not more for out, more in zip(self.output, buffers, strict=True))
            added = sum(
                ways[more].exposed if waits and not out else ways[more].core
                for out, more, ways in zip(self.output, buffers, held, strict=True)
            )
            np.minimum(core, added, out=core, where=need <= room)
        return np.maximum(work + pricing.issue + core, pricing.overhead + pricing.issue + transfer)

    def floors(
        self, number: int, index: Index, counts: Mapping[Dim, Ints], room: Ints
    ) -> dict[Dim, tuple[_Floor, _Floor]]:
        """What an operand costs at least in `room` bytes with one buffer and with two, for each outermost loop."""
        issue = self.pricing.issue
        dims, out = self.dims[number], self.output[number]
        whole = self.costs.totals(number, self.costs.whole)
        lines = self.lines(number)
        mine = {dim: {name: line[index[TILED.index(dim)]] for name, line in lines[dim].items()} for dim in dims}
        result = {dim: (_Floor.of_nothing(len(room)), _Floor.of_nothing(len(room))) for dim in TILED}
        for cut in (cut for length in range(len(dims) + 1) for cut in itertools.combinations(dims, length)):
            size = self.block(number, cut, index)
            calls = math.prod((counts[dim] for dim in cut), start=np.ones(len(room)))
            parts = math.prod((mine[dim]["cover"] for dim in cut), start=np.ones(len(room)))
            transfer, moved, end = (np.full(len(room), whole.transfer), np.full(len(room), float(whole.moved)), whole.transfer / parts)
            for dim in cut:
                transfer = np.maximum(transfer, mine[dim]["transfer"])
                moved = np.maximum(moved, mine[dim]["moved"])
                end = np.maximum(end, mine[dim]["end"] * mine[dim]["cover"] / parts)
            for outermost in TILED:
                if cut and outermost in dims and outermost not in cut:
                    continue  # it is fetched inside the outermost loop, or before all loops
                again = counts[outermost] if cut and outermost not in dims else 1
                for buffers in (1, 2) if cut else (1,):
                    fits = buffers * size <= room
                    issues = issue * (again * calls if out else np.maximum(0, again * calls - buffers))
                    exposed = again * transfer if buffers == 1 else end
                    floor = result[outermost][buffers - 1]
                    floor.admit(fits, again * transfer, again * moved, exposed + issues if out else exposed, exposed + issues)
        return result

    @cached_property
    def _lines(self) -> dict[int, dict[Dim, dict[str, Floats]]]:
        return {}

    def lines(self, number: int) -> dict[Dim, dict[str, Floats]]:
        """Of an operand cut along one dimension: cycles and bytes of its blocks, cycles of one at the end, how many such cover it.

        The end is the last block of an output, which nothing hides, and the first one of another operand.
        """
        known = self._lines.get(number)
        if known is None:
            out = self.output[number]

            def of(dim: Dim, field: Callable[[Totals], float]) -> Floats:
                return self.line(dim, lambda tile: field(self.costs.totals(number, tile)), self.costs.whole)

            known = self._lines[number] = {
                dim: {
                    "transfer": of(dim, lambda totals: totals.transfer),
                    "moved": of(dim, lambda totals: totals.moved),
                    "end": of(dim, lambda totals: totals.last if out else totals.first),
                    "cover": self.cover(number, dim),
                }
                for dim in self.dims[number]
            }
        return known

    def cover(self, number: int, dim: Dim) -> Floats:
        extent = self.costs.extents[dim]
        axes = [a for c in self.pricing.operands[number].components for a in c.axes if a.dim is dim]
        result: list[int] = []
        for size in self.candidates[dim].tolist():
            start = (extent - 1) // size * size if self.output[number] else 0
            lengths = [axis.span(start, min(size, extent - start))[1] for axis in axes]
            result.append(max(-(-axis.limit // max(1, length)) for axis, length in zip(axes, lengths, strict=True)))
        return np.array(result, np.float64)
