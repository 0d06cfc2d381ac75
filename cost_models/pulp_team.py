"""What the formulas of kernels/pulp need: the cores that execute a kernel, and the form of a formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from match.cost_models.pulp_cycles import Form, KernelCycles, Sharing
from match.cost_models.pulp_int16 import Int16Cycles
from match.ir.layer import Layer
from match.target.cost import Tile


@dataclass(frozen=True)
class Team:
    """Workers and the requantization of a layer.

    cores: workers that share out a tile: pairs of pixels by fours of channels (convolutions), strips of channels
        (depthwise), elements (addition, lookup) or channels (others).
    form: of requantization. listed: exceptions of an output channel in the mean.
    cycles: of one core; int16: of activations of 16 bits. sharing: what all of them lose.
    """

    cores: int = 8
    form: Form = "split"
    listed: float = 0
    cycles: KernelCycles = field(default_factory=KernelCycles.measured)
    int16: Int16Cycles = field(default_factory=Int16Cycles.measured)
    sharing: Sharing = field(default_factory=Sharing.measured)

    @property
    def requantize(self) -> float:
        """Cycles of an output's requantization."""
        cycles: float = getattr(self.cycles, self.form)
        return cycles

    def by_form(self, name: str) -> float:
        """What a kernel takes for an element by form: the field for int32 has no form in its name."""
        form = {"int32": "", "rows": "", "split": "_split", "split_signed": "_split_signed"}.get(self.form, "_int64")
        cycles: float = getattr(self.cycles, name + form)
        return cycles


def no_scratch(_team: Team, _layer: Layer, _tile: Tile) -> int:
    """A kernel that needs none."""
    return 0


@dataclass(frozen=True)
class KernelCost:
    """What a kernel of kernels/pulp costs.

    work: cycles of the busiest core in a tile, beside those of the call.
    loads: the field of `Sharing` that has the cycles of its first call in an offload, by layer and cores where an
        operator has several kernels.
    waits: the field of `Sharing` that says what eight cores lose.
    scratch: bytes, as kernels/pulp/match_pulp.h gives them.
    """

    work: Callable[[Team, Layer, Tile], float]
    loads: str | Callable[[Layer, int], str] = "other"
    waits: str = "waits"
    scratch: Callable[[Team, Layer, Tile], int] = no_scratch

    def loaded(self, layer: Layer, cores: int) -> str:
        """The field of `Sharing` for the layer's kernel."""
        return self.loads if isinstance(self.loads, str) else self.loads(layer, cores)
