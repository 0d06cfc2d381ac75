"""Targets with figures of energy: only they have the objective "energy"."""

from __future__ import annotations

from match.dispatch.plan import CPU
from match.target.cost import CostModel, CpuCostModel
from match.target.hardware import MatchTarget


def without_energy(target: MatchTarget) -> tuple[str, ...]:
    """Names of the target's modules, the control core last, whose cost models give no energy."""
    lacking = [module.name for module in target.modules if _energy(getattr(module, "cost_model", None)) is None]
    return (*lacking, *(() if knows_energy(target.cpu_cost_model) else (CPU,)))


def knows_energy(model: CpuCostModel) -> bool:
    """Whether a control core's cost model gives the energy of an operator."""
    return type(model).energy is not CpuCostModel.energy


def _energy(model: object) -> object:
    return model.energy if isinstance(model, CostModel) else None
