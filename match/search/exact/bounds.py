"""Lower bounds of the cost of mappings: of all mappings with a tile, and of a single mapping.

    core_cycles = overhead + kernels + issues and waits of the core while no kernel runs
    dma_cycles  = overhead + first issue + max(all transfers, those up to the last fetch + last kernels and write-back)
    lower_bound_cycles[tile, residency] = max(core_cycles, dma_cycles)

If transfers block the core, the latency is the sum of all terms. The bound of a tile assumes that every block is
fetched once, with each operand whole or cut along any of its dimensions, whichever costs least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from match.ir.layer import Dim, Operand, Role
from match.prediction.arrays import Flags, Floats, Ints
from match.search.exact.residencies import Residencies, Way
from match.search.exact.tables import TILED, Box, Figures, Tables, within


class Bound(NamedTuple):
    """Lower bounds of cycles and bytes of mappings; arrays over mappings, or tables over tiles."""

    cycles: Floats
    moved: Floats


MayWin = Callable[[Ints, Bound], Flags]
"""Which mappings with tiles of these numbers may win; arrays over mappings."""


class HeldOperand(NamedTuple):
    """An operand of some tiles, held in some ways; arrays of shape (ways, tiles).

    - need: bytes of all its buffers; sums: bytes of partial sums, which lie in the shared room.
    - moved: bytes of all its blocks; transfer: their DMA cycles.
    - waits: DMA cycles in which no kernel runs; last: those of the last write-back.
    - issues: transfers that the core issues; of an input, without the ones before the first kernel.
    - chain: of an input, cycles from the first issue to the last arrival, as each block is issued when the one before
      has arrived; first: DMA cycles of the first block.
    - blocks: the number of transfers; longest: of an output, DMA cycles of the longest one.
    - depth: number of loops inside which its blocks are fetched or written back; buffers: the number of its buffers.
    """

    need: Floats
    sums: Floats
    moved: Floats
    transfer: Floats
    waits: Floats
    last: Floats
    issues: Floats
    chain: Floats
    first: Floats
    blocks: Floats
    longest: Floats
    depth: Floats
    buffers: Floats


class LeastFigures(NamedTuple):
    """The least figures of an operand over all mappings with a tile of each size, summed over outer blocks; tables.

    moved: bytes of all blocks. transfer: DMA cycles of all blocks. end: those that no kernel hides, see `Figures`.
    """

    moved: Floats
    transfer: Floats
    end: Floats


def least_figures(tables: Tables, *, whole: bool = True) -> tuple[LeastFigures, ...]:
    """The least figures of each operand; unless `whole`, of mappings that hold no more of it than a tile needs."""
    every: list[LeastFigures] = []
    for operand, figures in zip(tables.prices.operands, tables.figures, strict=True):
        outside = math.prod(tables.outer_counts[dim] for dim in TILED if dim not in operand.dims)
        least: list[npt.NDArray[Any]] = [figures.moved, figures.transfer, figures.end]
        if whole:
            least = [_least(operand, table) for table in least]
        every.append(LeastFigures(*(float(outside) * table for table in least)))
    return tuple(every)


def _least(operand: Operand, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The least figure of an operand for each tile; an axis for each tiled dimension.

    Along a dimension of the operand, a mapping holds the operand whole or cuts it as the tile does. The smaller of the
    two figures counts: the last entry of `table` along an axis is that of the whole. Along input channels that the tile
    cuts, only an input can be whole.
    """
    for axis, dim in enumerate(TILED):
        if table.shape[axis] > 1 and (dim is not Dim.C or operand.role is Role.INPUT):
            table = np.minimum(table, table.take([-1], axis))
    return table


def tile_bound(tables: Tables, least: Sequence[LeastFigures], box: Box, kernels: Floats) -> Bound:
    """The bound of all mappings with a tile, for the tiles of a box; tables.

    `least` are those of `tables`, `kernels` the cycles of all kernel calls, with the overhead and their launches.
    """
    prices = tables.prices
    moved, transfer, end = (_total(within(one[place], box) for one in least) for place in range(3))
    if not prices.overlap:
        issues = prices.issue * len(prices.operands) * tables.outer_blocks
        return Bound(kernels + issues + transfer, moved)
    outputs = [operand.role is Role.OUTPUT for operand in prices.operands]
    begun, finished = (prices.issue * tables.outer_blocks * some for some in (not all(outputs), sum(outputs)))
    return Bound(np.maximum(kernels + (begun + finished + end), prices.overhead + begun + transfer), moved)


@dataclass(frozen=True)
class TileGroup:
    """Some tiles that cut the same dimensions, `dims`; `index` has the numbers of their sizes, shape (4, tiles)."""

    tables: Tables
    dims: tuple[Dim, ...]
    index: Ints
    room: Ints
    kernels: Floats
    last_kernels: Floats
    residencies: Residencies

    @cached_property
    def counts(self) -> Mapping[Dim, Ints]:
        """Tiles along each dimension."""
        return {dim: self.tables.counts[dim][index] for dim, index in zip(TILED, self.index, strict=True)}

    def bounds(self, may_win: MayWin) -> tuple[Ints, Ints, Bound]:
        """Mappings that fit and may win: numbers of residency and tile, and bounds; arrays over mappings."""
        held = [self._held(number, ways) for number, ways in enumerate(self.residencies.ways)]
        residency, tile = self._fit(held)
        hopeful = may_win(tile, self._rough(held, residency, tile))
        residency, tile = residency[hopeful], tile[hopeful]
        return residency, tile, self._bound(held, residency, tile)

    def _rough(self, held: Sequence[HeldOperand], residency: Ints, tile: Ints) -> Bound:
        """A weaker bound of some mappings, without terms that are small or take long to compute.

        It saves no time on one memory. On two memories, with many more mappings, bounding takes a fifth less time.
        """
        core, transfer, moved = self.kernels[tile], np.zeros(()), np.zeros(())
        for one, way in zip(held, self.residencies.which[:, residency], strict=True):
            core = core + (one.waits + one.last)[way, tile]
            transfer = transfer + one.transfer[way, tile]
            moved = moved + one.moved[way, tile]
        prices = self.tables.prices
        return Bound(np.maximum(core, prices.overhead + transfer) if prices.overlap else core, moved)

    def _bound(self, held: Sequence[HeldOperand], residency: Ints, tile: Ints) -> Bound:
        """The bound of some mappings."""
        tables, prices = self.tables, self.tables.prices
        which = self.residencies.which[:, residency]
        chosen = [HeldOperand(*(figure[way, tile] for figure in one)) for one, way in zip(held, which, strict=True)]
        outputs = [operand.role is Role.OUTPUT for operand in prices.operands]
        inputs = [one for one, output in zip(chosen, outputs, strict=True) if not output]
        written = [one for one, output in zip(chosen, outputs, strict=True) if output]
        begun = prices.issue * tables.outer_blocks if inputs and prices.overlap else 0.0
        nothing = np.zeros(len(tile))
        transfer, moved = (
            nothing + _total(one.transfer for one in chosen),
            nothing + _total(one.moved for one in chosen),
        )
        fetches, writes = (prices.issue * _total(one.issues for one in some) for some in (inputs, written))
        core = self.kernels[tile] + writes
        if not prices.overlap:
            return Bound(core + fetches + transfer, moved)
        core = core + (self._idle(inputs) if tables.outer_blocks == 1 else begun)
        waits = _total(one.waits for one in inputs) + np.maximum(_total(one.waits for one in written), fetches)
        last = _total(one.last for one in written)
        finish = prices.issue * tables.outer_blocks * len(written) + last
        fetched = np.maximum.reduce([_total(one.transfer for one in inputs), *(one.chain for one in inputs)])
        core = core + waits + last
        dma = prices.overhead + begun + np.maximum(transfer, fetched + self.last_kernels[tile] + finish)
        rows = np.flatnonzero(dma > core)
        if inputs and prices.takes_arrays and len(rows):
            some, others = (
                [HeldOperand(*(figure[rows] for figure in one)) for one in group] for group in (inputs, written)
            )
            behind = self._kernels_behind(residency[rows], tile[rows]) + (finish + nothing)[rows]
            end = _moved_before_last_fetch(some, others, tables.outer_blocks) + behind
            dma[rows] = np.maximum(dma[rows], prices.overhead + begun + end)
        return Bound(np.maximum(core, dma), moved)

    def _held(self, number: int, ways: Sequence[Way]) -> HeldOperand:
        """The figures of operand `number` in each of some ways."""
        tables, prices = self.tables, self.tables.prices
        operand, figures = prices.operands[number], tables.figures[number]
        result = HeldOperand(*np.zeros((len(HeldOperand._fields), len(ways), self.index.shape[1])))
        others, own = ([dim for dim in TILED if (dim in operand.dims) is mine] for mine in (False, True))
        once = self._iterations(frozenset(), others)
        for row, (inside, buffers) in enumerate(ways):
            again = self._iterations(inside, others)
            fetches = again * self._iterations(inside, own)
            block, sums, moved, transfer, end, longest = self._gathered(figures, inside)
            transfer, end = again * transfer, once * end
            result.blocks[row], result.longest[row] = fetches, longest
            result.depth[row], result.buffers[row] = len(inside), buffers
            result.need[row], result.moved[row], result.transfer[row] = buffers * block, again * moved, transfer
            if operand.role is Role.OUTPUT:
                result.sums[row] = sums if Dim.C in self.dims else 0
                result.waits[row] = transfer - end if buffers == 1 else 0
                result.last[row], result.issues[row] = end, fetches
            else:
                result.waits[row] = transfer if buffers == 1 else end
                result.first[row] = end
                result.issues[row] = fetches - (buffers * tables.outer_blocks if prices.overlap else 0)
                result.chain[row] = transfer + prices.issue * (fetches - tables.outer_blocks)
        return result

    def _kernels_behind(self, residency: Ints, tile: Ints) -> Floats:
        """A lower bound on the cycles of the kernel calls after the last fetch, for each of some mappings.

        They run in the last iteration of the loops around one input: the input with the most loops around it.
        """
        result = self.last_kernels[tile]
        numbers, place = np.unique(residency, return_inverse=True)
        deepest = [self._deepest(number) for number in numbers.tolist()]
        for inside in dict.fromkeys(deepest):
            if len(inside) < len(self.dims):
                rows = np.isin(place, [number for number, one in enumerate(deepest) if one == inside])
                tiles, back = np.unique(tile[rows], return_inverse=True)
                result[rows] = self.tables.last_kernels(self.index[:, tiles], inside)[back]
        return result

    def _deepest(self, residency: int) -> frozenset[Dim]:
        """The dimensions of the loops around one input: the input with the most loops around it."""
        operands = self.tables.prices.operands
        which: list[int] = self.residencies.which[:, residency].tolist()
        held = zip(operands, self.residencies.ways, which, strict=True)
        return max((ways[way][0] for operand, ways, way in held if operand.role is not Role.OUTPUT), key=len)

    def _idle(self, inputs: Sequence[HeldOperand]) -> Floats:
        """Cycles before the first kernel in which the DMA is idle, or done with the first block of every input.

        Before the loops the core issues the first transfer of each operand with two buffers, or at depth 0. Then, from
        the outermost depth inwards, it waits for each of these and issues the next one, and fetches the operands with
        one buffer.
        """
        issue, now, busy = self.tables.prices.issue, np.zeros(()), np.zeros(())
        arrivals: list[Floats] = []
        for one in inputs:
            early = (one.buffers == 2) | (one.depth == 0)
            now = now + issue * early
            busy = np.where(early, np.maximum(busy, now) + one.first, busy)
            arrivals.append(busy)
        for level in range(len(self.dims) + 1):
            for one, arrival in zip(inputs, arrivals, strict=True):
                here, double = one.depth == level, one.buffers == 2
                fetches = here & ~double & (level > 0)
                now = np.where(here & ~fetches, np.maximum(now, arrival) + issue * double, now)
                busy = np.where(fetches, np.maximum(busy, now + issue) + one.first, busy)
                now = np.where(fetches, busy, now)
        return now - _total(one.first for one in inputs)

    def _iterations(self, inside: frozenset[Dim], dims: Sequence[Dim]) -> Ints:
        """Iterations, in all outer blocks, of the loops over the dimensions of `dims` that are `inside`."""
        result = np.ones((), np.int64)
        for dim in dims:
            result = result * (self.counts[dim] if dim in inside else self.tables.outer_counts[dim])
        return result

    def _gathered(self, figures: Figures, inside: frozenset[Dim]) -> list[npt.NDArray[Any]]:
        """The figures of an operand that is cut along the dimensions `inside` alone."""
        return [
            table[
                tuple(
                    (index if dim in inside else -1) if length > 1 else 0
                    for dim, index, length in zip(TILED, self.index, table.shape, strict=True)
                )
            ]
            for table in figures
        ]

    def _fit(self, held: Sequence[HeldOperand]) -> tuple[Ints, Ints]:
        """The numbers of residency and tile of the mappings whose blocks fit."""
        memory = self.tables.prices.memory
        own = dict(memory.private)
        shared: list[Floats] = []
        for operand, one in zip(self.tables.prices.operands, held, strict=True):
            private = operand.name in own
            there = np.where(one.need <= own[operand.name], 0, math.inf) if private else one.need
            shared.append(there + one.sums)
        which = self.residencies.which
        least = _total(taken.min(axis=1)[way] for taken, way in zip(shared, which, strict=True))
        rows = np.flatnonzero(np.broadcast_to(least <= self.room.max(), which.shape[1]))
        taken = _total(taken[way] for taken, way in zip(shared, which[:, rows], strict=True))
        # Where no operand is left for this memory, nothing has made a table of the sum yet.
        row, tile = np.nonzero(np.broadcast_to(taken <= self.room, (len(rows), len(self.room))))
        return rows[row], tile


def _moved_before_last_fetch(
    inputs: Sequence[HeldOperand], written: Sequence[HeldOperand], outer_blocks: int
) -> Floats:
    """DMA cycles of all fetches, and of the write-backs that are issued before the last fetch.

    An input's last fetch is issued at the beginning of the last iteration of the loops around it, or of the last but
    one if there are two buffers. Write-backs inside of these iterations follow, each as long as the longest.
    """
    before = np.zeros(())
    for one in inputs:
        wrote = np.zeros(())
        for output in written:
            # In an outer block at a border a loop may have a single iteration.
            few = np.ones(()) if outer_blocks == 1 else one.buffers
            follow = np.where(output.depth < one.depth, few, one.buffers * output.blocks / one.blocks)
            behind = outer_blocks * (follow - 1) * output.longest + output.last
            wrote = wrote + np.where(one.depth > 0, np.maximum(0, output.transfer - behind), 0)
        before = np.maximum(before, wrote)
    return before + _total(one.transfer for one in inputs)


def _total(arrays: Any) -> Floats:
    return sum(arrays, start=np.zeros(()))
