"""The cores that execute a kernel of kernels/pulp, as the formulas of its cycles need them."""

from __future__ import annotations

from dataclasses import dataclass

from match.cost_models.pulp_cycles import Form, KernelCycles, Sharing


@dataclass(frozen=True)
class Team:
    """Workers and the requantization of a layer, by the fields of `PulpClusterCost`."""

    cores: int
    form: Form
    listed: float
    cycles: KernelCycles
    sharing: Sharing

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
