"""The cluster: 8 cores with SIMD dot products, every operator, any geometry."""

from __future__ import annotations

from match.cost_models.pulp_cluster import PulpClusterCost
from match.ir.layer import Op
from match.mapping.memory import Memory
from match.target.hardware import ComputeApi, ModuleApi, Pattern, PlatformApi, SyncApi
from match.targets.pulp.kernels import PulpKernels
from match.targets.pulp.memory import CORES, L1_API
from match.targets.pulp.operators import kernel_cost

COST = PulpClusterCost(cores=CORES, kernels=kernel_cost)
"""By halves of multipliers, as nearly all layers are requantized; with the vendor's SDK."""

CHAINS: tuple[tuple[Op, ...], ...] = (
    (Op.DEPTHWISE_CONV2D, Op.CONV2D),
    (Op.CONV2D, Op.DEPTHWISE_CONV2D),
    (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.CONV2D),
    (Op.CONV2D, Op.ADD),
    (Op.DEPTHWISE_CONV2D, Op.CONV2D, Op.ADD),
    (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.CONV2D, Op.ADD),
    (Op.CONV2D, Op.MAX_POOL2D),
    (Op.CONV2D, Op.AVG_POOL2D),
    (Op.DEPTHWISE_CONV2D, Op.CONV2D, Op.AVG_POOL2D),
)
"""Operators that the cluster executes tile by tile, one after the other: separable convolutions and inverted residuals,
what is added to or pooled of a convolution."""


class Cluster(PulpKernels):
    """The cluster of a PULP chip with the kernels of kernels/pulp."""

    name = "cluster"
    groups = True
    api = ModuleApi(
        headers=("match_pulp_chip.h", "match_pulp.h"),
        platform=PlatformApi(offload="match_pulp_cluster_offload"),
        memory=L1_API,
        sync=SyncApi(wait_transfer="match_pulp_dma_wait", wait_compute="match_pulp_cluster_wait"),
        compute=ComputeApi(start="match_pulp_cluster_run", under_way=1),
    )

    def __init__(self, l1: Memory, cost: PulpClusterCost = COST) -> None:
        """With `l1` as its scratchpad, and what a chip's cores and DMA cost."""
        super().__init__(cost)
        self.memories = (l1,)

    def patterns(self) -> tuple[Pattern, ...]:
        """Every operator and some chains of them, see `operators`."""
        return (*super().patterns(), *(Pattern(last, before=tuple(before)) for *before, last in CHAINS))
