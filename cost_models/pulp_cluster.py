"""A PULP cluster with 8-bit SIMD dot products, executing the kernels of kernels/pulp.

The formulas are those kernels' loops, and count the cycles of the core with the most work. A block of 4 output channels
x 2 pixels takes 6 loads and 8 dot products a word, 14 instructions for 32 multiply-accumulates in a hardware loop, as
in PULP-NN (Garofalo et al., 2020). What stands around the loops is `pulp_cycles.KernelCycles`, measured on open RTL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from match.cost_models.dma import Mchan
from match.cost_models.pulp_energy import PulpEnergy
from match.cost_models.pulp_kernel_cost import KernelCost
from match.cost_models.pulp_team import Team
from match.ir.layer import Layer, Op
from match.target.cost import Block, CostModel, Energy, Starting, Tile


@dataclass(frozen=True)
class PulpClusterCost(Team, CostModel):
    """Cycles and scratch of the cluster's kernels.

    kernels: what the kernel of a layer costs.
    banks: what the cluster loses in each cycle in which NE16 computes another operator of a group: they share the banks
        of L1. Read off ten networks on GVSoC.
    kernel: cycles of a kernel call beside the work: filling in the tile's context (about 40 stores), fork and barrier
        of the event unit (tens of cycles, Glaser et al., 2020). Estimated.
    offload: cycles of a layer beside tiles: the control core's task, waking the cluster, the prologue. GVSoC counts
        that for the dense layers of ResNet8 and DS-CNN beyond their tiles (docs/pulp-open.md).
    ahead: of `kernel`, until the workers begin, where a master that is none of them starts them and goes on; None where
        it works, too, or waits.
    held: cycles that a call of a small kernel in a group takes less, if the kernel was called before and the call in
        front is of a small one, too: caches still hold its instructions.
    consumption: of the chip's units, None where it is not known.
    """

    kernels: Callable[[Layer], KernelCost] = field(kw_only=True)
    banks: float = 0.2
    kernel: int = 150
    offload: int = 920
    dma: Mchan = field(default_factory=Mchan)
    ahead: int | None = None
    held: int = 0
    consumption: PulpEnergy | None = None

    overlap = True
    arrays = True

    @property
    def energy(self) -> Energy | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What all its cores consume in a kernel."""
        return self.consumption and self.consumption.of_cluster(self.cores)

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes, by the layer's kernel."""
        return self.kernels(layer).scratch(self, layer, tile)

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of the busiest core, and what it waits for others."""
        kernel = self.kernels(layer)
        cycles = self.cycles.call + kernel.work(self, layer, tile)
        return cycles * self.sharing.factor(self.cores, kernel.waits)

    def sees_padding(self, layer: Layer) -> bool:
        """Depthwise convolutions: narrow tiles have kernels of their own."""
        return layer.op is Op.DEPTHWISE_CONV2D

    def launch(self, layer: Layer) -> float:
        """The same for every kernel."""
        return self.kernel

    def starting(self, layer: Layer, tile: Tile) -> Starting:
        """The master goes on, if it is none of the workers."""
        return super().starting(layer, tile) if self.ahead is None else Starting(self.ahead)

    def beside(self, layer: Layer) -> float:
        """They share the banks of L1."""
        return self.banks

    def transfer(self, layer: Layer, block: Block) -> float:
        """MCHAN's, and what the cores' use of L1's banks adds."""
        return self.dma.transfer(block) * self.sharing.transfer(self.cores, layer.op)

    def issue(self, layer: Layer) -> float:
        """MCHAN's."""
        return self.dma.call

    def overhead(self, layer: Layer) -> float:
        """The offload from the control core, and loading the instructions of all kernels."""
        return self.offload + sum(self.sharing.calls(self._loaded(layer.operators)))

    def group_overhead(self, layer: Layer) -> float:
        """The offload."""
        return self.offload

    def group_calls(self, layers: Sequence[Layer]) -> Sequence[float]:
        """Loading the instructions of each operator's kernel, or again if others have displaced them."""
        kernels = self._loaded(layers)
        loaded, held = self.sharing.calls(kernels), self.sharing.held(kernels)
        return [cycles - self.held * again for cycles, again in zip(loaded, held, strict=True)]

    def _loaded(self, layers: Sequence[Layer]) -> list[str]:
        """The kernels of layers, by the fields of their first calls."""
        return [self.kernels(layer).loaded(layer, self.cores) for layer in layers]
