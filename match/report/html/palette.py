"""Colours that everyone can tell apart, in light and in dark: those of Okabe and Ito, and Tol's muted ones."""

from __future__ import annotations

from collections.abc import Mapping

from match.analysis.timeline.chrome_trace import Doing
from match.dispatch.plan import CPU
from match.report.layer_rows import Cause
from match.report.memory_areas import CALLERS, PROGRAM, SCRATCH, STATES
from match.report.schema import TargetSummary

_UNITS = ("#d55e00", "#cc79a7", "#f0e442", "#56b4e9", "#009e73", "#e69f00", "#0072b2")
_CORE = "#8a929c"

CAUSES: Mapping[Cause, str] = {
    "compute": "#44aa99",
    "transfers": "#ddcc77",
    "offload": "#cc6677",
    "external memory": "#6699cc",
    "control core": _CORE,
}

OPERANDS = {"input": "#56b4e9", "addend": "#0072b2", "weights": "#e69f00", "output": "#009e73"}
OTHER = "#b5739d"

DOINGS: Mapping[Doing, str] = {
    "call": "#9aa5b1",
    "start": "#7f6bb3",
    "wait": "#cfd5dc",
    "offload": "#cc6677",
    "idle": "#e4e7eb",
}
"""What the core that executes tile loops does."""

AREAS = {
    "activations": "#56b4e9",
    "constants that stay": "#e69f00",
    "constants on their way": "#f7f0a0",
    "constants in use": "#f0e442",
    "blocks": "#009e73",
    STATES: "#cc6677",
    CALLERS: "#aab2bd",
    PROGRAM: "#cfd5dc",
    SCRATCH: "#aab2bd",
    **OPERANDS,
}


def unit_colours(target: TargetSummary) -> dict[str, str]:
    """A colour for each unit of a chip; the control core is grey."""
    modules = [module.name for module in target.modules if module.name != CPU]
    return {**{name: _UNITS[place % len(_UNITS)] for place, name in enumerate(modules)}, CPU: _CORE}
