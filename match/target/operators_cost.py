"""Cost of operators that a module computes one after the other in one offload, from the cost model of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from match.ir.layer import Layer
from match.target.cost import Block, CostModel, Energy, Tile


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

    def calls(self, layer: Layer, tile: Tile) -> list[float]:
        """Cycles of each operator's kernel call, beside `launch`."""
        each = zip(self.models, layer.operators, self.tiles(layer, tile), strict=True)
        return [model.compute(stage, inner) for model, stage, inner in each]

    def launches(self, layer: Layer) -> list[float]:
        """Cycles of each operator's kernel call, whatever its tile."""
        return [model.launch(stage) for model, stage in zip(self.models, layer.operators, strict=True)]

    def compute(self, layer: Layer, tile: Tile) -> float:
        """All kernel calls."""
        return sum(self.calls(layer, tile))

    def launch(self, layer: Layer) -> float:
        """Cycles that all kernel calls of a layer take beside their work."""
        return sum(self.launches(layer))

    def transfer(self, layer: Layer, block: Block) -> float:
        """The last operator's."""
        return self.models[-1].transfer(layer.operators[-1], block)

    def issue(self, layer: Layer) -> float:
        """The last operator's."""
        return self.models[-1].issue(layer.operators[-1])
