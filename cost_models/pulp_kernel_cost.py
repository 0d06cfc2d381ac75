"""What a kernel of kernels/pulp costs. The record of each operator (targets/pulp/operators.py) has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from match.cost_models.pulp_team import Team
from match.ir.layer import Layer
from match.target.cost import Tile


def no_scratch(_team: Team, _layer: Layer, _tile: Tile) -> int:
    """A kernel that needs none."""
    return 0


@dataclass(frozen=True)
class KernelCost:
    """What a kernel of kernels/pulp costs.

    work: cycles of the busiest core in a tile, beside those of the call.
    loads: the name of the field of `Sharing` with the cycles that its first call in an offload takes more. If an
        operator has several kernels, a function of the layer and the number of cores gives the name.
    waits: the name of the field of `Sharing` that says what eight cores lose.
    scratch: bytes, as kernels/pulp/match_pulp.h gives them.
    """

    work: Callable[[Team, Layer, Tile], float]
    loads: str | Callable[[Layer, int], str] = "other"
    waits: str = "waits"
    scratch: Callable[[Team, Layer, Tile], int] = no_scratch

    def loaded(self, layer: Layer, cores: int) -> str:
        """The field of `Sharing` for the layer's kernel."""
        return self.loads if isinstance(self.loads, str) else self.loads(layer, cores)
