"""Targets with figures of energy: only they have the objective "energy"."""

from __future__ import annotations

from match.dispatch.plan import CPU
from match.target.cost import CostModel, CpuCostModel
from match.target.hardware import MatchTarget


def without_energy(target: MatchTarget) -> tuple[str, ...]:
    """Names of the target's modules, the control core last, whose cost models give no energy."""
    models = {
        **{module.name: getattr(module, "cost_model", None) for module in target.modules},
        CPU: target.cpu_cost_model,
    }
    return tuple(name for name, model in models.items() if not _knows_energy(model))


def _knows_energy(model: object) -> bool:
    return isinstance(model, CostModel | CpuCostModel) and model.energy is not None
