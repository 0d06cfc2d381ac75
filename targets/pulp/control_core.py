"""The control core as a module: the kernels of kernels/pulp on one core, out of L2."""

from __future__ import annotations

from dataclasses import replace

from match.cost_models.pulp_cluster import PulpClusterCost
from match.cost_models.pulp_control_core import ControlCoreCost
from match.cost_models.pulp_cycles import ALONE
from match.ir.layer import Layer
from match.ir.requantization import Requantizer
from match.target.cost import CostModel
from match.target.hardware import DirectApi
from match.targets.pulp.kernels import PulpKernels
from match.targets.pulp.operators import kernel_cost

ONE_CORE = PulpClusterCost(cores=1, sharing=ALONE, kernels=kernel_cost)
"""The kernels on one core, with instructions and tensors at hand."""


class ControlCore(PulpKernels):
    """The core that leads the network, which has the cluster's instructions and no scratchpad."""

    name = "core"
    memories = ()
    api = DirectApi(("match_pulp.h",))

    def __init__(self, cost: ControlCoreCost) -> None:
        """With what a kernel of one core takes there."""
        super().__init__(ONE_CORE, cost)
        self._cost = cost

    def cost(self, layer: Layer, requantizer: Requantizer | None) -> CostModel:
        """What the kernel takes on a core of the cluster, and what L2 adds."""
        return replace(self._cost, kernels=super().cost(layer, requantizer))
