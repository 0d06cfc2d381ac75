"""A cost model asked about one layer: every answer is checked and remembered."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from match.answers import SLACK, call_text, checked, failure, number
from match.cost import Block, CostModel, MappingView, Tile
from match.errors import CostModelError
from match.layer import Axis, Dim, Layer, Operand
from match.schedule.blocks import (
    Span,
    array_limits,
    axes_of,
    axis_length,
    block_of_lengths,
    input_axes,
    reduction,
)
from match.schedule.mapping import Memory

Lengths = tuple[int, ...]
"""Elements along the axes of an operand."""

SAMPLE = 8
"""Answers of each kind that `Pricing.confirm` asks for again."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Move(NamedTuple):
    """What one transfer costs: cycles of the DMA, bytes."""

    transfer: float
    bytes: int


class Run(NamedTuple):
    """Consecutive iterations of a loop, `first` to `last`, that look the same to every operand and to the kernel."""

    first: int
    last: int


class Pricing:
    """Costs of one layer's tiles and blocks in one memory, which holds `operands`; `others` are those it does not hold.

    Raises CostModelError, from any method, when the cost model raises or returns what is not a finite number of at
    least zero; the message names the cost model, the layer and the arguments.
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
        self.overhead = self._number("overhead")
        self.launch = self._number("launch")
        self.issue = self._number("issue")
        self.rows, self.columns = self._seen = input_axes(layer)
        self.axes = tuple(axes_of(operand) for operand in operands)
        self._limits = tuple(array_limits(operand) for operand in operands)
        self._dims = tuple(tuple(operand.dims) for operand in operands)
        everything = {self.rows, self.columns}.union(*self.axes, *(axes_of(operand) for operand in others))
        self._clipping = {dim: [axis for axis in everything if axis.dim is dim] for dim in Dim}
        # Kernels begin a reduction with the first of its channels and end it with the last: like tiles at a border.
        self._clipping[Dim.C].append(Axis(Dim.C, layer.c, window=3, before=1))
        self._kernels: dict[tuple[Span, Span, Span, Span], float] = {}
        self._calls: dict[tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]], float] = {}
        self._scratch: dict[tuple[int, int, int, int], int] = {}
        self._fetches: tuple[dict[object, Move], ...] = tuple({} for _ in operands)
        self._moves: tuple[dict[tuple[Lengths, Lengths | None], Move], ...] = tuple({} for _ in operands)
        self._views: list[tuple[MappingView, float]] = []
        self._runs: dict[tuple[Dim, int, int, int], tuple[Run, ...]] = {}

    def gapless(self) -> Pricing:
        """Prices of the same layer without the rows and columns that a stride leaves between windows.

        Blocks of a layer that is cut may leave them out, those of a whole one may not: cutting never pays but for them.
        A layer that has none keeps its prices.
        """
        if all(axis.stride <= axis.window for axes in self._clipping.values() for axis in axes):
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
        return self.scratch_of(extents[Dim.K], extents[Dim.OY], extents[Dim.OX], extents[Dim.C])

    def scratch_of(self, k: int, oy: int, ox: int, c: int) -> int:
        """Bytes of scratch for any tile of at most these extents."""
        known = self._scratch.get((k, oy, ox, c))
        if known is None:
            known = math.ceil(self._number("scratch", self._largest_tile(k, oy, ox, c)))
            self._scratch[k, oy, ox, c] = known
        return known

    def _largest_tile(self, k: int, oy: int, ox: int, c: int) -> Tile:
        """As `blocks.largest_tile`, whatever is left out between windows."""
        rows, columns = self._seen
        return Tile(k, c, oy, ox, rows.length(oy), columns.length(ox), self.layer.fy, self.layer.fx)

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
        key = k, rows, columns, reduced
        known = self._calls.get(key)
        if known is None:
            known = self._calls[key] = self._number("compute", self._tile(*key))
        return known

    def _tile(self, k: int, rows: tuple[int, ...], columns: tuple[int, ...], reduced: tuple[int, ...]) -> Tile:
        (oy, iy), (ox, ix), (c, begin, end) = rows, columns, reduced
        return Tile(k, c, oy, ox, iy, ix, self.layer.fy, self.layer.fx, bool(begin), bool(end))

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

    def block(self, operand: int, lengths: Lengths, limits: Lengths | None = None) -> Move:
        """The transfer of a block of operand number `operand` with these elements along its axes."""
        known = self._moves[operand].get((lengths, limits))
        if known is None:
            tensor, within = self.operands[operand], limits or self._limits[operand]
            known = self.transfer(block_of_lengths(tensor, lengths, self.memory, within))
            self._moves[operand][lengths, limits] = known
        return known

    def transfer(self, block: Block) -> Move:
        """The transfer of a block, asked of the cost model each time."""
        return Move(self._number("transfer", block), block.bytes)

    def unclipped(self, dim: Dim, end: int) -> tuple[int, int]:
        """The iterations before `end`, from a first one to before another, at which no operand's block is clipped."""
        return _unclipped(self._clipping[dim], end)

    def alike(self, dim: Dim, span: Span) -> Span:
        """The first span that looks the same to every operand: the same extent, and where one is clipped itself."""
        start, extent = span
        low, high = self.unclipped(dim, start + extent)
        return (low, extent) if low <= start and start + extent <= high else span

    def latency(self, view: MappingView) -> float:
        """Cycles of a whole mapping, if the cost model has a `latency` of its own; else `view.cycles`."""
        if not self.has_latency:
            return view.cycles
        cycles = self._latency(view)
        self._views.append((view, cycles))
        return cycles

    def _latency(self, view: MappingView) -> float:
        call = partial(self._call, "latency", (view,))

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
            known = self._runs[key] = _runs(self._clipping[dim], start, extent, tile)
        return known

    def confirm(self) -> None:
        """Ask again for a sample of what is remembered, spread over all of it.

        Raises:
            CostModelError: if an answer is another one this time.
        """
        for method, known in (("overhead", self.overhead), ("launch", self.launch), ("issue", self.issue)):
            self._confirm(known, method)
        for call, known in _sample(self._calls.items()):
            self._confirm(known, "compute", self._tile(*call))
        for sizes, known in _sample(self._scratch.items()):
            self._confirm(known, "scratch", self._largest_tile(*sizes))
        for operand, moves in zip(self.operands, self._moves, strict=True):
            for (lengths, limits), move in _sample(moves.items()):
                self._confirm(move.transfer, "transfer", block_of_lengths(operand, lengths, self.memory, limits))
        for view, known in _sample(self._views):
            self._same(known, self._latency(view), "latency", view)

    def _confirm(self, known: float, method: str, *arguments: object) -> None:
        again = self._number(method, *arguments)
        self._same(known, math.ceil(again) if method == "scratch" else again, method, *arguments)

    def _same(self, known: float, again: float, method: str, *arguments: object) -> None:
        if again != known:
            raise CostModelError(
                f"{self._call(method, arguments)} returned {known:.10g}, then {again:.10g}; a cost model must be "
                f"deterministic."
            )

    def _number(self, method: str, *arguments: object) -> float:
        try:
            value = getattr(self.cost_model, method)(self.layer, *arguments)
        except Exception as error:
            raise failure(self._call(method, arguments), error) from error
        return checked(value, lambda: self._call(method, arguments))

    def _call(self, method: str, arguments: tuple[object, ...]) -> str:
        return call_text(self.cost_model, self.layer.name, method, arguments)


def _sample(remembered: Collection[tuple[_Key, _Value]]) -> Iterator[tuple[_Key, _Value]]:
    return islice(remembered, 0, None, -(-len(remembered) // SAMPLE) or 1)


def _gapless(axis: Axis, layer: Layer) -> Axis:
    if axis.stride <= axis.window:
        return axis
    size = layer.size(axis.dim)
    windows = [index * axis.stride - axis.before for index in range(size)]
    before = sum(min(axis.window, max(0, -window)) for window in windows)
    behind = sum(min(axis.window, max(0, window + axis.window - axis.limit)) for window in windows)
    return replace(axis, stride=axis.window, before=before, limit=size * axis.window - before - behind)


def _unclipped(axes: Sequence[Axis], end: int) -> tuple[int, int]:
    """The iterations, from a first one to before another, whose windows lie inside all tensors; `end` without axes."""
    low = max((-(-axis.before // axis.stride) for axis in axes), default=0)
    return low, min(((axis.limit + axis.before - axis.window) // axis.stride + 1 for axis in axes), default=end)


def _runs(axes: Sequence[Axis], start: int, extent: int, tile: int) -> tuple[Run, ...]:
    last_tile = (extent - 1) // tile
    low, high = _unclipped(axes, start + extent)
    first = max(0, -(-(low - start) // tile))
    last = min(extent // tile - 1, (high - tile - start) // tile)
    if last <= first:
        return tuple(Run(index, index) for index in range(last_tile + 1))
    before = [Run(index, index) for index in range(first)]
    behind = [Run(index, index) for index in range(last + 1, last_tile + 1)]
    return (*before, Run(first, last), *behind)
