"""The cores that execute a kernel of kernels/pulp, as the formulas of its cycles need them."""

from __future__ import annotations

from dataclasses import dataclass, field

from match.cost_models.pulp_cycles import Form, KernelCycles, Sharing
from match.cost_models.pulp_int16 import Int16Cycles


@dataclass(frozen=True)
class Team:
    """Workers and the requantization of a layer.

    cores: workers that share out a tile: pairs of pixels by fours of channels (convolutions), strips of channels
        (depthwise), elements (addition, lookup) or channels (others).
    form: of requantization. listed: exceptions of an output channel in the mean.
    cycles: what kernels take on one core; int16: the same of kernels for activations of 16 bits.
    sharing: what each core loses because the others work, too.
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
