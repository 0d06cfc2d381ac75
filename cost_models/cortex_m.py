"""PLACEHOLDER"""

from __future__ import annotations

from dataclasses import dataclass

from match.ir.layer import Layer, Op
from match.target.cost import CostModel, Tile


@dataclass(frozen=True)
class CortexMCost(CostModel):
    cpu: str = "cortex-m7"

    @classmethod
    def of(cls, cpu: str) -> CortexMCost:
        return cls(cpu)

    def scratch(self, layer: Layer, tile: Tile) -> int:
        mve = self.cpu == "cortex-m55"
        if layer.op is Op.CONV2D or layer.op is Op.DENSE:
            n = layer.fy * layer.fx * layer.c
            if mve:
                r = -(-n // 16) * 16
                return r if layer.op is Op.DENSE and layer.ox == 1 else 2 * r + 16
            r = -(-n // 4) * 4
            return 2 * r if layer.op is Op.DENSE and layer.ox == 1 else 9 * r + 8
        if layer.op is Op.DEPTHWISE_CONV2D:
            if mve:
                return 32 * layer.fy * layer.fx + layer.k
            pairs = layer.fy // 2 + 1
            cols = (layer.ox - 1) * layer.stride[1] + (layer.fx - 1) * layer.dilation[1] + 1
            return 4 * (4 * cols * pairs + 2 * layer.fx * pairs + layer.ox)
        return 4096

    def compute(self, layer: Layer, tile: Tile) -> float:
        return 1.5 * layer.macs + 20 * tile.k * tile.oy * tile.ox
