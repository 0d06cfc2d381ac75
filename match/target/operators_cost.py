"""Cost of operators that a module computes one after the other in one offload, from the cost model of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from match.ir.layer import Layer
from match.target.cost import Block, CostModel, Energy, Tile, larger

WORD = 4
"""Tensors between operators, and what kernels take of scratch, begin at multiples of so many bytes."""


def whole_words(size: Any) -> Any:
    """Bytes rounded up to whole words; an array, too."""
    return -(-size // WORD) * WORD


@dataclass(frozen=True)
class ScratchLayout:
    """Where tensors between operators and kernels' own scratch lie in scratch, for any tile up to a largest.

    tensors: byte offset of each tensor between operators. kernels: that of what kernels take, one after the other.
    bytes: all of it. The numbers may be arrays.
    """

    tensors: tuple[Any, ...]
    kernels: Any
    bytes: Any


@dataclass(frozen=True)
class OperatorsCost(CostModel):
    """Cost of the kernel calls of several operators, and of transfers of what is outside.

    It has the `latency` of no model: a module whose models have one of their own fuses nothing.
    """

    models: tuple[CostModel, ...]

    @property
    def overlap(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As the module's DMA does."""
        return self.models[-1].overlap

    @property
    def energy(self) -> Energy | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the module."""
        return self.models[-1].energy

    @abstractmethod
    def tiles(self, layer: Layer, tile: Tile) -> Sequence[Tile]:
        """The kernel call of each operator for a tile of the layer."""

    @abstractmethod
    def tensors(self, layer: Layer, tiles: Sequence[Tile]) -> tuple[tuple[Any, ...], Any]:
        """Where the tensors between operators lie in scratch, and the bytes of all of them."""

    def layout(self, layer: Layer, tile: Tile) -> ScratchLayout:
        """What lies where in scratch."""
        tiles = self.tiles(layer, tile)
        offsets, end = self.tensors(layer, tiles)
        most: Any = 0
        for model, stage, inner in zip(self.models, layer.stages, tiles, strict=True):
            most = larger(most, model.scratch(stage, inner))
        return ScratchLayout(offsets, end, end + most)

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Tensors between operators, and what the kernel takes that takes most."""
        total: int = self.layout(layer, tile).bytes
        return total

    def calls(self, layer: Layer, tile: Tile) -> list[float]:
        """Cycles of each operator's kernel call, beside `launch`."""
        each = zip(self.models, layer.stages, self.tiles(layer, tile), strict=True)
        return [model.compute(stage, inner) for model, stage, inner in each]

    def launches(self, layer: Layer) -> list[float]:
        """Cycles of each operator's kernel call, whatever its tile."""
        return [model.launch(stage) for model, stage in zip(self.models, layer.stages, strict=True)]

    def compute(self, layer: Layer, tile: Tile) -> float:
        """All kernel calls."""
        return sum(self.calls(layer, tile))

    def launch(self, layer: Layer) -> float:
        """Cycles that all kernel calls of a layer take beside their work."""
        return sum(self.launches(layer))

    def transfer(self, layer: Layer, block: Block) -> float:
        """The last operator's."""
        return self.models[-1].transfer(layer.stages[-1], block)

    def issue(self, layer: Layer) -> float:
        """The last operator's."""
        return self.models[-1].issue(layer.stages[-1])

    def overhead(self, layer: Layer) -> float:
        """Once for all operators; the last one's cost model is asked about the whole."""
        return self.models[-1].overhead(layer)
