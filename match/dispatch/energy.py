"""Targets with figures of energy: only they have objectives and bounds that need them."""

from __future__ import annotations

from match.compilation.options import Options
from match.dispatch.plan import CPU
from match.errors import OptionError
from match.target.cost import CostModel, CpuCostModel
from match.target.hardware import MatchTarget


def without_energy(target: MatchTarget) -> tuple[str, ...]:
    """Names of the target's modules, the control core last, whose cost models give no energy."""
    models = {
        **{module.name: getattr(module, "cost_model", None) for module in target.modules},
        CPU: target.cpu_cost_model,
    }
    return tuple(name for name, model in models.items() if not _knows_energy(model))


def check_energy(target: MatchTarget, options: Options) -> None:
    """Raises OptionError if the options need energies that the target does not give."""
    if "energy" not in options.searched:
        return
    lacking = without_energy(target)
    if lacking:
        what = (
            f"objective {options.objective!r}"
            if options.objective in ("energy", "edp")
            else f"at_most {options.at_most}"
        )
        raise OptionError(
            f"{what} needs the energy of every module, and target {target.name} does not give that of "
            f"{', '.join(lacking)}; choose latency or bytes, or a target that `match targets` lists with energy."
        )


def _knows_energy(model: object) -> bool:
    return isinstance(model, CostModel | CpuCostModel) and model.energy is not None
