"""The cost model of a module's kernel where operands pass main memory on their way from an external one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match.ir.layer import Layer
from match.target.cost import Block, CostModel, MappingView, Starting, Tile
from match.target.hardware import External
from match.target.operators_cost import OperatorsCost


class ExternalCost(CostModel):
    """A module's cost model, with the DMA engine of the external memory for blocks into main memory and out of it.

    The core pays for a transfer as for those of the module. Energy is the module's, whose `Energy.byte` has an entry
    for the main memory if it knows what the external one takes.
    """

    def __init__(self, module: CostModel, external: External, main_memory: str) -> None:
        """With `main_memory` as the name of that memory."""
        self.module = module
        self.dma = external.dma
        self.main_memory = main_memory
        self.overlap = module.overlap
        self.arrays = module.arrays
        self.energy = module.energy

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """The module's."""
        return self.module.scratch(layer, tile)

    def compute(self, layer: Layer, tile: Tile) -> float:
        """The module's."""
        return self.module.compute(layer, tile)

    def launch(self, layer: Layer) -> float:
        """The module's."""
        return self.module.launch(layer)

    def transfer(self, layer: Layer, block: Block) -> float:
        """The external memory's for blocks in main memory, else the module's."""
        if block.memory == self.main_memory:
            return self.dma.transfer(block)
        return self.module.transfer(layer, block)

    def issue(self, layer: Layer) -> float:
        """The module's, for transfers between any two memories."""
        return self.module.issue(layer)

    def overhead(self, layer: Layer) -> float:
        """The module's."""
        return self.module.overhead(layer)

    def starting(self, layer: Layer, tile: Tile) -> Starting:
        """The module's."""
        return self.module.starting(layer, tile)

    def beside(self, layer: Layer) -> float:
        """The module's."""
        return self.module.beside(layer)

    def group_overhead(self, layer: Layer) -> float:
        """The module's."""
        return self.module.group_overhead(layer)

    def group_calls(self, layers: Sequence[Layer]) -> Sequence[float]:
        """The module's."""
        return self.module.group_calls(layers)

    def behind_another(self, layer: Layer) -> float:
        """The module's."""
        return self.module.behind_another(layer)


class _WholeMappings(ExternalCost):
    """The cost model of a module that predicts whole mappings: an engine sees that it does."""

    def latency(self, view: MappingView) -> float | None:
        return self.module.latency(view)


def external_cost(module: CostModel, external: External, main_memory: str) -> CostModel:
    """The cost model `module` for schedules whose first memory is the main memory, called `main_memory`.

    In a chain or a group, the cost model of each operator is changed in this way.
    """
    if isinstance(module, OperatorsCost):
        return replace(module, models=tuple(external_cost(model, external, main_memory) for model in module.models))
    whole = type(module).latency is not CostModel.latency
    return (_WholeMappings if whole else ExternalCost)(module, external, main_memory)
