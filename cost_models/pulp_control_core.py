"""The control core of a PULP chip, executing the kernels of kernels/pulp out of L2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from match.ir.layer import Layer, Op
from match.target.cost import CostModel, Energy, Tile


class Stalls(NamedTuple):
    """What a cycle of a kernel becomes where instructions and tensors come from L2, and what a product takes besides.

    Products are the loops that load most: weights and inputs of each.
    """

    cycle: float
    product: float = 0.0


AT_HAND = Stalls(1.0)
"""Where they do not."""


@dataclass(frozen=True)
class ControlCoreCost(CostModel):
    """Cycles and scratch of the cluster's kernels on the control core.

    kernels: what they take on one core of the cluster, out of L1, which the RTL of a core confirms within 1 %.
    call: cycles of a layer beside its kernel there: filling in the context, calls. Counted.
    stalls: of the call, and of kernels that `stalls_by_kind` does not name. 1 where the core reaches L2 as a cluster's
        core does L1 and has a cache for its instructions, as in PULPissimo (Schiavone et al., 2018).
    energy: what a cycle consumes, None where it is not known.
    """

    kernels: CostModel
    call: float = 180.0
    stalls: Stalls = AT_HAND
    stalls_by_kind: Mapping[Op, Stalls] = field(default_factory=dict[Op, Stalls], hash=False)
    energy: Energy | None = None

    overlap = False
    arrays = True

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes of L2, those of one core in L1."""
        return self.kernels.scratch(layer, tile)

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of the kernel on all of the layer, or a tile where an external memory has the tensors."""
        stalls = self.stalls_by_kind.get(layer.op, self.stalls)
        share = tile.k * tile.c * tile.oy * tile.ox / (layer.k * layer.c * layer.oy * layer.ox)
        return stalls.cycle * self.kernels.compute(layer, tile) + stalls.product * share * layer.macs

    def overhead(self, layer: Layer) -> float:
        """The call."""
        return self.stalls.cycle * self.call
