"""A cost model asked about one layer: every answer is checked and remembered."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from match.cost import Block, CostModel, Tile
from match.errors import CostModelError
from match.layer import Axis, Dim, Layer, Operand
from match.schedule.blocks import Span, block_of, input_axes, largest_tile, tile_of
from match.schedule.mapping import Memory


class Move(NamedTuple):
    """What one transfer costs: cycles of the DMA, bytes."""

    transfer: float
    bytes: int


class Run(NamedTuple):
    """`count` consecutive iterations of a loop, from `first`, that look the same to every operand."""

    first: int
    count: int


class Pricing:
    """Costs of one layer's tiles and blocks in one memory.

    Raises CostModelError, from any method, when the cost model raises or returns what is not a finite number of at least
    zero; the message names the cost model, the layer and the arguments.
    """

    def __init__(self, layer: Layer, operands: tuple[Operand, ...], memory: Memory, cost_model: CostModel) -> None:
        self.layer = layer
        self.operands = operands
        self.memory = memory
        self.cost_model = cost_model
        self.overlap = cost_model.overlap
        self.overhead = self._number("overhead", cost_model.overhead)
        self.launch = self._number("launch", cost_model.launch)
        self.issue = self._number("issue", cost_model.issue)
        self._dims = tuple(tuple(sorted(operand.dims)) for operand in operands)
        self._axes = {dim: _axes_of(dim, layer, operands) for dim in Dim}
        self._compute: dict[tuple[Span, ...], float] = {}
        self._tiles: dict[Tile, float] = {}
        self._scratch: dict[Tile, int] = {}
        self._moves: tuple[dict[tuple[object, ...], Move], ...] = tuple({} for _ in operands)
        self._blocks: dict[Block, Move] = {}
        self._runs: dict[tuple[Dim, int, int, int], tuple[Run, ...]] = {}

    def scratch(self, extents: Mapping[Dim, int]) -> int:
        """Bytes of scratch for any tile of at most `extents`."""
        tile = largest_tile(self.layer, extents)
        known = self._scratch.get(tile)
        if known is None:
            known = math.ceil(self._number("scratch", self.cost_model.scratch, tile))
            self._scratch[tile] = known
        return known

    def compute(self, spans: Mapping[Dim, Span]) -> float:
        """Cycles of the kernel call on `spans`, without `launch`."""
        key = tuple(spans.values())
        known = self._compute.get(key)
        if known is None:
            tile = tile_of(self.layer, spans)
            known = self._tiles.get(tile)
            if known is None:
                known = self._number("compute", self.cost_model.compute, tile)
                self._tiles[tile] = known
            self._compute[key] = known
        return known

    def move(self, operand: int, spans: Mapping[Dim, Span], extents: Mapping[Dim, int]) -> Move:
        """The transfer of the block of operand number `operand` that covers `spans`, one of those of at most `extents`."""
        key = tuple((spans[dim], extents[dim]) for dim in self._dims[operand])
        known = self._moves[operand].get(key)
        if known is None:
            block = block_of(self.operands[operand], spans, extents, self.memory.alignment)
            known = self._blocks.get(block)
            if known is None:
                transfer = self._number("transfer", self.cost_model.transfer, block)
                known = Move(transfer, block.bytes)
                self._blocks[block] = known
            self._moves[operand][key] = known
        return known

    def runs(self, dim: Dim, start: int, extent: int, tile: int) -> tuple[Run, ...]:
        """The iterations of a loop that cuts `extent` iterations of `dim`, from `start`, into tiles.

        Neighbours are in one run when they have the same extent and none of their operands' blocks is clipped.
        """
        key = (dim, start, extent, tile)
        known = self._runs.get(key)
        if known is None:
            known = self._runs[key] = tuple(_runs(self._axes[dim], start, extent, tile))
        return known

    def _number(self, name: str, function: Callable[..., float], *arguments: object) -> float:
        try:
            value = function(self.layer, *arguments)
            valid = 0 <= value < math.inf
        except Exception as error:  # noqa: BLE001: whatever an author's code raises is reported as their model's failure
            raise CostModelError(f"{self._call(name, arguments)} raised {type(error).__name__}: {error}.") from error
        if not valid:
            raise CostModelError(
                f"{self._call(name, arguments)} returned {value}; it must return a finite number of at least 0."
            )
        return value

    def _call(self, name: str, arguments: tuple[object, ...]) -> str:
        words = ", ".join(str(argument) for argument in arguments)
        return f"cost model {type(self.cost_model).__name__}, layer {self.layer.name}: {name}({words})"


def _axes_of(dim: Dim, layer: Layer, operands: tuple[Operand, ...]) -> tuple[Axis, ...]:
    axes = {axis for operand in operands for component in operand.components for axis in component.axes}
    return tuple(axis for axis in axes | set(input_axes(layer)) if axis.dim is dim)


def _runs(axes: tuple[Axis, ...], start: int, extent: int, tile: int) -> list[Run]:
    count, full = -(-extent // tile), extent // tile
    low = max((-(-axis.before // axis.stride) for axis in axes), default=start)
    high = min(((axis.limit + axis.before - axis.window) // axis.stride for axis in axes), default=start + extent - 1)
    first = max(0, -(-(low - start) // tile))
    last = min(full - 1, (high - tile + 1 - start) // tile)
    if last <= first:
        return [Run(index, 1) for index in range(count)]
    before = [Run(index, 1) for index in range(first)]
    behind = [Run(index, 1) for index in range(last + 1, count)]
    return [*before, Run(first, last - first + 1), *behind]
