"""The core of a Cortex-M with tightly coupled memory as a module of its own: a DMA fills it while kernels run."""

from __future__ import annotations

from collections.abc import Mapping

from match.cost_models.cortex_m import CortexMCost
from match.ir.layer import Dim, Layer, Op
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target.constraints import uint8_input, whole_addend
from match.target.hardware import ModuleApi, Pattern
from match.targets.cortex_m.module import CortexM
from match.targets.cortex_m.operators import FORMS

OPS = (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.DENSE, Op.ADD, Op.LOOKUP, Op.AVG_POOL2D, Op.MAX_POOL2D)
"""Operators with a kernel in kernels/cortex_m, which takes tiles as well."""


class TightlyCoupled(CortexM):
    """Computes tiles out of a scratchpad, with the kernels of kernels/cortex_m."""

    name = "tcm"
    sums = int16 = frozenset[Op]()

    def __init__(self, memory: Memory, api: ModuleApi, cost: CortexMCost) -> None:
        """With the memory, the functions that fill it, and what kernels and transfers cost."""
        super().__init__(cost)
        self.memories = (memory,)
        self.api = api

    def patterns(self) -> tuple[Pattern, ...]:
        """All of `OPS`."""
        return tuple(Pattern(op, (uint8_input, whole_addend)) for op in OPS)

    def forms(self, layer: Layer) -> tuple[Requantizer, ...]:
        """Those of kernels/cortex_m alone."""
        return FORMS.get(layer.op, ())

    def tile_multiples(self, layer: Layer) -> Mapping[Dim, int]:
        """Four channels: what kernels take at once, and a word for the DMA."""
        return {Dim.K: 4}
