"""A cost model asked about one layer: every answer is checked and remembered."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from match.errors import CostModelError
from match.ir.layer import Axis, Dim, Layer, Operand, input_axes
from match.mapping.memory import Memory
from match.prediction.arrays import Flags, Floats, Ints
from match.prediction.blocks import (
    Span,
    array_limits,
    axes_of,
    axis_length,
    axis_lengths,
    block_of_lengths,
    blocks_of_lengths,
    largest_tile,
    reduction,
    tile_of,
)
from match.prediction.questions import Questions
from match.prediction.runs import Run, runs, unclipped
from match.target.answers import SLACK, number
from match.target.cost import Block, Cost, CostModel, Energy, MappingView, Tile
from match.target.group import GroupCost

Lengths = tuple[int, ...]
"""Elements along the axes of an operand."""

MOST_BYTES = 1 << 60
"""More elements than any memory has."""

SAMPLE = 8
"""Answers of each kind that `Prices.confirm` asks for again."""

ANYWHERE = "sees_padding says that padding changes nothing"
"""Why a tile costs the same wherever it lies."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Move(NamedTuple):
    """What one transfer costs: cycles of the DMA, bytes."""

    transfer: float
    bytes: int


class Prices:
    """Prices of one layer's tiles and blocks in one memory; `operands` are those that it holds.

    Raises CostModelError, from any method, as `Questions` does.
    """

    def __init__(
        self,
        layer: Layer,
        operands: tuple[Operand, ...],
        memory: Memory,
        cost_model: CostModel,
    ) -> None:
        self.layer = layer
        self.operands = operands
        self.memory = memory
        self.cost_model = cost_model
        self.overlap = cost_model.overlap
        self.has_latency = type(cost_model).latency is not CostModel.latency
        self._questions = Questions(cost_model, layer)
        self.sees_padding = bool(self._questions.ask("sees_padding"))
        self.overhead = self._questions.ask("overhead")
        self.launch = self._questions.ask("launch")
        self.issue = self._questions.ask("issue")
        self.rows, self.columns = input_axes(layer)
        self.axes = tuple(axes_of(operand) for operand in operands)
        self._limits = tuple(array_limits(operand) for operand in operands)
        self._dims = tuple(tuple(operand.dims) for operand in operands)
        everything = {self.rows, self.columns}.union(*self.axes)
        self._clipping = {dim: [axis for axis in everything if axis.dim is dim and axis.stride] for dim in Dim}
        # Kernels begin a reduction with the first of its channels and end it with the last: like tiles at a border.
        self._clipping[Dim.C].append(Axis(Dim.C, layer.c, window=3, before=1))
        self._unclipped = {dim: unclipped(axes) for dim, axes in self._clipping.items()}
        self._kernels: dict[tuple[Span, Span, Span, Span], float] = {}
        self._calls: dict[Tile, float] = {}
        self._arrays: dict[object, Lengths] = {}
        self._fetches: tuple[dict[object, Move], ...] = tuple({} for _ in operands)
        self._moves: tuple[dict[tuple[Lengths, Lengths | None], Move], ...] = tuple({} for _ in operands)
        self._views: list[tuple[MappingView, float]] = []
        self._runs: dict[tuple[Dim, int, int, int], tuple[Run, ...]] = {}

    @property
    def takes_arrays(self) -> bool:
        """See `CostModel.arrays`."""
        return self.cost_model.arrays

    def scratch(self, extents: Mapping[Dim, int]) -> int:
        """Bytes of scratch for any tile of at most `extents`."""
        return math.ceil(min(self._questions.ask("scratch", largest_tile(self.layer, extents)), MOST_BYTES))

    def scratches(self, extents: Mapping[Dim, Ints], wanted: Flags) -> Ints:
        """`scratch` of arrays of extents that broadcast, where `wanted`."""
        if type(self.cost_model).scratch is CostModel.scratch:
            return np.zeros((), np.int64)
        layer, oy, ox = self.layer, extents[Dim.OY], extents[Dim.OX]
        iy, ix = axis_lengths(self.rows, oy), axis_lengths(self.columns, ox)
        numbers: tuple[Any, ...] = (extents[Dim.K], extents[Dim.C], oy, ox, iy, ix, layer.fy, layer.fx)
        answers = self._questions.ask_arrays("scratch", Tile(*numbers), wanted)
        return np.ceil(np.minimum(answers, MOST_BYTES)).astype(np.int64)

    def compute(self, spans: Mapping[Dim, Span]) -> float:
        """Cycles of the kernel call on `spans`, without `launch`."""
        k, c, oy, ox = key = spans[Dim.K], spans[Dim.C], spans[Dim.OY], spans[Dim.OX]
        known = self._kernels.get(key)
        if known is None:
            iy, ix = self.rows.span(*oy)[1], self.columns.span(*ox)[1]
            known = self.kernel(k[1], (oy[1], iy), (ox[1], ix), reduction(self.layer, c))
            self._kernels[key] = known
        return known

    def kernel(self, k: int, rows: tuple[int, ...], columns: tuple[int, ...], reduced: tuple[int, ...]) -> float:
        """Cycles of a kernel call, without `launch`.

        `rows` and `columns` are of the output and of the input, `reduced` what `blocks.reduction` gives.
        """
        (oy, iy), (ox, ix), (c, begin, end) = rows, columns, reduced
        tile = Tile(k, c, oy, ox, iy, ix, self.layer.fy, self.layer.fx, bool(begin), bool(end))
        known = self._calls.get(tile)
        if known is None:
            known = self._calls[tile] = self._questions.ask("compute", tile)
        return known

    def kernels(self, tile: Tile, wanted: Flags | None = None) -> Floats:
        """`kernel` of a tile whose numbers are arrays that broadcast, where `wanted`."""
        return self._questions.ask_arrays("compute", tile, wanted)

    def prepare(self, tiles: Mapping[Dim, int]) -> None:
        """Ask for all kernel calls of a tiling at once: a cost model that takes arrays answers faster."""
        if not self.takes_arrays:
            return
        kinds = [
            [
                (run.first * tile, min(tile, self.layer.size(dim) - run.first * tile))
                for run in self.runs(dim, 0, self.layer.size(dim), tile)
            ]
            for dim, tile in tiles.items()
        ]
        spans = (self.layer.spans | dict(zip(tiles, kind, strict=True)) for kind in itertools.product(*kinds))
        lacking = [
            tile for tile in dict.fromkeys(tile_of(self.layer, span) for span in spans) if tile not in self._calls
        ]
        if lacking:
            columns: tuple[Any, ...] = tuple(map(np.array, zip(*lacking, strict=True)))
            every = Tile(*columns)._replace(fy=self.layer.fy, fx=self.layer.fx)
            answers = np.broadcast_to(self.kernels(every), len(lacking))
            self._calls.update(zip(lacking, answers.tolist(), strict=True))

    def move(
        self, operand: int, spans: Mapping[Dim, Span], extents: Mapping[Dim, int], limits: Lengths | None = None
    ) -> Move:
        """The transfer of an operand's block that covers `spans`, one of the blocks of at most `extents`.

        It lies in a dense array of `limits`, by default the tensor.
        """
        key = limits, *[(spans[dim], extents[dim]) for dim in self._dims[operand]]
        known = self._fetches[operand].get(key)
        if known is None:
            tensor, axes = self.operands[operand], self.axes[operand]
            lengths = tuple([axis_length(tensor, axis, spans[axis.dim], extents[axis.dim]) for axis in axes])
            known = self._fetches[operand][key] = self.block(operand, lengths, limits)
        return known

    def array(self, operand: int, spans: Mapping[Dim, Span]) -> Lengths:
        """The limits of the array that holds the block of an activation that covers `spans`."""
        key = operand, *[spans[dim] for dim in self._dims[operand]]
        known = self._arrays.get(key)
        if known is None:
            tensor, axes = self.operands[operand], self.axes[operand]
            known = self._arrays[key] = tuple([axis_length(tensor, axis, spans[axis.dim], 0) for axis in axes])
        return known

    def block(self, operand: int, lengths: Lengths, limits: Lengths | None = None) -> Move:
        """The transfer of a block of operand number `operand` with these elements along its axes.

        It lies in a dense array of `limits`, by default the tensor.
        """
        return self._blocks(operand, [(lengths, limits)])[0]

    def transfers(
        self, operand: int, lengths: Sequence[Ints], limits: Sequence[Ints] | None, most: int | None = None
    ) -> tuple[Floats, Ints]:
        """DMA cycles and bytes of blocks: those of `block` for arrays that broadcast.

        A cost model that takes no arrays is not asked for blocks of more than `most` bytes, which count 0 cycles.
        """
        block = blocks_of_lengths(self.operands[operand], lengths, self.memory, limits)
        moved = np.asarray(block.bytes)
        return self._questions.ask_arrays("transfer", block, None if most is None else moved <= most), moved

    def _blocks(self, operand: int, shapes: Sequence[tuple[Lengths, Lengths | None]]) -> list[Move]:
        def ask(shapes: Sequence[tuple[Lengths, Lengths | None]]) -> list[Move]:
            tensor, memory, whole = self.operands[operand], self.memory, self._limits[operand]
            return self.moves(
                [block_of_lengths(tensor, lengths, memory, limits or whole) for lengths, limits in shapes]
            )

        return _remembered(self._moves[operand], shapes, ask)

    def moves(self, blocks: Sequence[Block]) -> list[Move]:
        """The transfers of blocks, asked of the cost model each time."""
        cycles = self._questions.ask_each("transfer", blocks)
        return [Move(answer, block.bytes) for answer, block in zip(cycles, blocks, strict=True)]

    def unclipped(self, dim: Dim, end: int) -> tuple[int, int]:
        """The range of iterations before `end` in which no block is clipped, as a half-open interval."""
        low, high = self._unclipped[dim]
        return low, end if high is None else high

    def alike(self, dim: Dim, span: Span) -> Span:
        """The first span of equal cost: of the same extent, and not clipped. A clipped span stands for itself."""
        start, extent = span
        low, high = self._unclipped[dim]
        return (low, extent) if low <= start and (high is None or start + extent <= high) else span

    def latency(self, view: MappingView) -> float:
        """Cycles of a whole mapping, if the cost model has a `latency` of its own; else `view.cycles`."""
        if not self.has_latency:
            return view.cycles
        cycles = self._latency(view)
        self._views.append((view, cycles))
        return cycles

    def _latency(self, view: MappingView) -> float:
        call = partial(self._questions.text, "latency", view)

        def ask() -> object:
            answer = self.cost_model.latency(view)
            return view.cycles if answer is None else answer

        cycles = number(ask, call)
        if cycles < view.least * (1 - SLACK):
            raise CostModelError(f"{call()} returned {cycles:g}, but its kernels alone take {view.least:g} cycles.")
        return cycles

    def energy(self, moved: Mapping[str, int], cost: Cost) -> float | None:
        """Energy of a mapping of this cost, in pJ, None if unknown.

        `moved` are bytes that move into each memory and out of it.
        """
        if self.cost_model.energy is None:
            return None
        energy = self.cycle_energy
        work = self._work(energy, cost)
        moves = sum(self.byte_energy(memory) * count for memory, count in moved.items())
        return work + energy.cycle * cost.cycles + moves

    def _work(self, energy: Energy, cost: Cost) -> float:
        """What multiply-accumulates, kernels and the core beside them take beyond any cycle."""
        model, layer = self.cost_model, self.layer
        if isinstance(model, GroupCost):  # operators may be on several modules
            return self._energy(model.work(layer, self.group_calls, cost.overhead), "of a group")
        return energy.mac * layer.macs + energy.work(cost.compute, cost.overhead)

    @cached_property
    def group_calls(self) -> tuple[float, ...]:
        """Cycles of each kernel call of a group, beside its launch."""
        assert isinstance(self.cost_model, GroupCost)
        # Authors may return NumPy's numbers.
        return tuple(map(float, self.cost_model.calls(self.layer, largest_tile(self.layer, self.layer.extents))))

    @cached_property
    def cycle_energy(self) -> Energy:
        """Energy of multiply-accumulates and cycles, checked; 0 where nothing is known. `byte_energy` has bytes."""
        energy = self.cost_model.energy
        if energy is None:
            return Energy(0.0)
        mac, cycle = self._energy(energy.mac, "mac"), self._energy(energy.cycle, "cycle")
        kernel, control = self._energy(energy.kernel, "kernel"), self._energy(energy.control, "control")
        return Energy(mac, {}, cycle, kernel, control)

    def byte_energy(self, memory: str) -> float:
        """Energy of a byte that moves into a memory or out of it, in pJ.

        Raises:
            CostModelError: if the cost model does not know it.
        """
        energy = self.cost_model.energy
        if energy is None or memory not in energy.byte:
            given = "none" if energy is None else ", ".join(energy.byte) or "none"
            raise CostModelError(
                f"cost model {type(self.cost_model).__name__}, layer {self.layer.name}: energy has no entry for memory "
                f"{memory}; it has: {given}."
            )
        return self._energy(energy.byte[memory], f"byte[{memory!r}]")

    def _energy(self, value: float, where: str) -> float:
        return number(
            lambda: value,
            lambda: f"cost model {type(self.cost_model).__name__}, layer {self.layer.name}: energy.{where}",
        )

    def runs(self, dim: Dim, start: int, extent: int, tile: int) -> tuple[Run, ...]:
        """The iterations of a loop that cuts `extent` iterations of `dim`, from `start`, into tiles.

        Neighbours are in one run when they have the same extent, none of their operands' blocks is clipped and none
        begins or ends a reduction.
        """
        key = (dim, start, extent, tile)
        known = self._runs.get(key)
        if known is None:
            known = self._runs[key] = runs(self._clipping[dim], start, extent, tile)
        return known

    def confirm(self) -> None:
        """Ask again for a sample of the remembered answers, spread over all of them.

        Raises:
            CostModelError: if an answer is another one this time, or depends on padding against `sees_padding`.
        """
        questions = self._questions
        for method, known in (("overhead", self.overhead), ("launch", self.launch), ("issue", self.issue)):
            questions.confirm(known, method)
        questions.confirm_sample()
        for tile, known in _sample(self._calls.items()):
            questions.confirm(known, "compute", tile)
            if not self.sees_padding:
                inner = tile._replace(iy=self.rows.length(tile.oy), ix=self.columns.length(tile.ox))
                questions.same(known, questions.ask("compute", inner), "compute", tile, reason=ANYWHERE)
        for operand, moves in zip(self.operands, self._moves, strict=True):
            for (lengths, limits), move in _sample(moves.items()):
                questions.confirm(move.transfer, "transfer", block_of_lengths(operand, lengths, self.memory, limits))
        for view, known in _sample(self._views):
            questions.same(known, self._latency(view), "latency", view)


def _remembered(
    known: dict[_Key, _Value], keys: Sequence[_Key], ask: Callable[[list[_Key]], Iterable[_Value]]
) -> list[_Value]:
    """The answer for each of `keys`: the `known` one, or a new one, asked for once."""
    lacking = [key for key in dict.fromkeys(keys) if key not in known]
    if lacking:
        known.update(zip(lacking, ask(lacking), strict=True))
    return [known[key] for key in keys]


def _sample(remembered: Collection[tuple[_Key, _Value]]) -> Iterator[tuple[_Key, _Value]]:
    return islice(remembered, 0, None, -(-len(remembered) // SAMPLE) or 1)
