"""A cost model asked about one layer: every answer is checked and remembered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, repeat
from typing import NamedTuple, TypeVar

import numpy as np

from match.errors import CostModelError
from match.ir.layer import Axis, Dim, Layer, Operand
from match.schedule.blocks import (
    Span,
    array_limits,
    axes_of,
    axis_length,
    axis_lengths,
    block_of_lengths,
    input_axes,
    reduction,
)
from match.schedule.mapping import Memory
from match.schedule.questions import Questions
from match.schedule.rooms import Floats, Ints
from match.schedule.runs import Run, runs, unclipped
from match.target.answers import SLACK, number
from match.target.cost import Block, CostModel, MappingView, Tile

Lengths = tuple[int, ...]
"""Elements along the axes of an operand."""

MOST_BYTES = 1 << 60
"""More than this no memory has."""

SAMPLE = 8
"""Answers of each kind that `Pricing.confirm` asks for again."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Move(NamedTuple):
    """What one transfer costs: cycles of the DMA, bytes."""

    transfer: float
    bytes: int


class Pricing:
    """Costs of one layer's tiles and blocks in one memory, which holds `operands`; `others` are those it does not hold.

    Raises CostModelError, from any method, as `Questions` does.
    """

    def __init__(
        self,
        layer: Layer,
        operands: tuple[Operand, ...],
        memory: Memory,
        cost_model: CostModel,
        others: tuple[Operand, ...] = (),
    ) -> None:
        self.layer = layer
        self.operands = operands
        self.others = others
        self.memory = memory
        self.cost_model = cost_model
        self.overlap = cost_model.overlap
        self.has_latency = type(cost_model).latency is not CostModel.latency
        self._questions = Questions(cost_model, layer)
        self.overhead = self._questions.ask("overhead")
        self.launch = self._questions.ask("launch")
        self.issue = self._questions.ask("issue")
        self.rows, self.columns = self._seen = input_axes(layer)
        self.axes = tuple(axes_of(operand) for operand in operands)
        self._limits = tuple(array_limits(operand) for operand in operands)
        self._dims = tuple(tuple(operand.dims) for operand in operands)
        everything = {self.rows, self.columns}.union(*self.axes, *(axes_of(operand) for operand in others))
        self._clipping = {dim: [axis for axis in everything if axis.dim is dim] for dim in Dim}
        # Kernels begin a reduction with the first of its channels and end it with the last: like tiles at a border.
        self._clipping[Dim.C].append(Axis(Dim.C, layer.c, window=3, before=1))
        self._unclipped = {dim: unclipped(axes) for dim, axes in self._clipping.items()}
        self._kernels: dict[tuple[Span, Span, Span, Span], float] = {}
        self._calls: dict[Tile, float] = {}
        self._scratch: dict[Tile, float] = {}
        self._arrays: dict[object, Lengths] = {}
        self._fetches: tuple[dict[object, Move], ...] = tuple({} for _ in operands)
        self._moves: tuple[dict[tuple[Lengths, Lengths | None], Move], ...] = tuple({} for _ in operands)
        self._views: list[tuple[MappingView, float]] = []
        self._runs: dict[tuple[Dim, int, int, int], tuple[Run, ...]] = {}

    def gapless(self) -> Pricing:
        """Prices of the same layer without the rows and columns that no window reads, between them or behind the last.

        Blocks of a layer that is cut may leave out those between windows, those of a whole one may not; and what lies
        behind the last keeps a whole row from being one piece. Cutting never pays but for them. A layer that has none
        keeps its prices.
        """
        if all(_gapless(axis, self.layer) == axis for axes in self._clipping.values() for axis in axes):
            return self
        operands = tuple(
            replace(
                operand,
                components=tuple(
                    replace(component, axes=tuple(_gapless(axis, self.layer) for axis in component.axes))
                    for component in operand.components
                ),
            )
            for operand in self.operands
        )
        result = Pricing(self.layer, operands, self.memory, self.cost_model, self.others)
        result.rows, result.columns = _gapless(self.rows, self.layer), _gapless(self.columns, self.layer)
        return result

    def scratch(self, extents: Mapping[Dim, int]) -> int:
        """Bytes of scratch for any tile of at most `extents`."""
        return int(self.scratches(np.array([[extents[dim] for dim in (Dim.K, Dim.OY, Dim.OX, Dim.C)]]))[0])

    def scratches(self, tiles: Ints) -> Ints:
        """`scratch` of tiles, rows of extents along K, OY, OX and C, shape (n, 4); whatever windows leave out."""
        rows, columns = self._seen
        k, oy, ox, c = tiles.T
        largest = self._tiles(k, c, oy, ox, axis_lengths(rows, oy), axis_lengths(columns, ox))
        bytes_of = _remembered(self._scratch, largest, partial(self._questions.ask_each, "scratch"))
        return np.ceil(np.minimum(bytes_of, MOST_BYTES)).astype(np.int64)

    def _tiles(self, *columns: Ints) -> list[Tile]:
        """Tiles from their extents, those of the kernel left out, and `begin` and `end` if there are."""
        sizes, ends = columns[:6], columns[6:]
        windows = repeat(self.layer.fy), repeat(self.layer.fx)
        flags = (end.astype(np.bool_).tolist() for end in ends)
        return [Tile(*row) for row in zip(*(size.tolist() for size in sizes), *windows, *flags, strict=False)]

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
        return self._kernel_calls([Tile(k, c, oy, ox, iy, ix, self.layer.fy, self.layer.fx, bool(begin), bool(end))])[0]

    def kernels(self, calls: Ints) -> Floats:
        """`kernel` of rows of output channels, rows, columns and what is reduced, all in one; shape (n, 8)."""
        k, oy, iy, ox, ix, c, begin, end = calls.T
        return np.array(self._kernel_calls(self._tiles(k, c, oy, ox, iy, ix, begin, end)))

    def _kernel_calls(self, tiles: list[Tile]) -> list[float]:
        return _remembered(self._calls, tiles, partial(self._questions.ask_each, "compute"))

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
        """How the array lies that holds the block of an activation that covers `spans`."""
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

    def transfers(self, operand: int, lengths: Ints, limits: Ints | None = None) -> Floats:
        """DMA cycles of blocks: those of `block` for rows of lengths and of limits, shape (n, axes)."""
        within = repeat(None) if limits is None else _rows(limits)
        moves = self._blocks(operand, list(zip(_rows(lengths), within, strict=False)))
        return np.array([move.transfer for move in moves])

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
        """The iterations before `end`, from a first one to before another, at which no operand's block is clipped."""
        low, high = self._unclipped[dim]
        return low, end if high is None else high

    def alike(self, dim: Dim, span: Span) -> Span:
        """The first span that looks the same to every operand: the same extent, and where one is clipped itself."""
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

    def energy(self, moved: Mapping[str, int]) -> float | None:
        """Energy of the layer, in pJ, when so many bytes move into each memory and out of it; None if unknown."""
        energy = self.cost_model.energy
        if energy is None:
            return None
        work = self._energy(energy.mac, "mac") * self.layer.macs
        return work + sum(self.byte_energy(memory) * count for memory, count in moved.items())

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
        """Ask again for a sample of what is remembered, spread over all of it.

        Raises:
            CostModelError: if an answer is another one this time.
        """
        questions = self._questions
        for method, known in (("overhead", self.overhead), ("launch", self.launch), ("issue", self.issue)):
            questions.confirm(known, method)
        for method, answers in (("compute", self._calls), ("scratch", self._scratch)):
            for tile, known in _sample(answers.items()):
                questions.confirm(known, method, tile)
        for operand, moves in zip(self.operands, self._moves, strict=True):
            for (lengths, limits), move in _sample(moves.items()):
                questions.confirm(move.transfer, "transfer", block_of_lengths(operand, lengths, self.memory, limits))
        for view, known in _sample(self._views):
            questions.same(known, self._latency(view), "latency", view)


def _remembered(
    known: dict[_Key, _Value], keys: Sequence[_Key], ask: Callable[[list[_Key]], Iterable[_Value]]
) -> list[_Value]:
    """What is `known` of each of `keys`; what is not yet is asked, once."""
    lacking = [key for key in dict.fromkeys(keys) if key not in known]
    if lacking:
        known.update(zip(lacking, ask(lacking), strict=True))
    return [known[key] for key in keys]


def _rows(array: Ints) -> list[tuple[int, ...]]:
    rows: list[list[int]] = array.tolist()
    return [tuple(row) for row in rows]


def _sample(remembered: Collection[tuple[_Key, _Value]]) -> Iterator[tuple[_Key, _Value]]:
    return islice(remembered, 0, None, -(-len(remembered) // SAMPLE) or 1)


def _gapless(axis: Axis, layer: Layer) -> Axis:
    size = layer.size(axis.dim)
    if axis.stride <= axis.window:
        return replace(axis, limit=axis.span(0, size)[1])
    windows = [index * axis.stride - axis.before for index in range(size)]
    before = sum(min(axis.window, max(0, -window)) for window in windows)
    behind = sum(min(axis.window, max(0, window + axis.window - axis.limit)) for window in windows)
    return replace(axis, stride=axis.window, before=before, limit=size * axis.window - before - behind)
