"""What becomes of the operators of a file."""

from __future__ import annotations

from pathlib import Path

import match
from match.dispatch.plan import CPU
from match.errors import ModelError
from match.report.layer_facts import is_floating
from match.report.schema import LayerSummary

MODULES, CORE, REAL, NOTHING = "modules", "control core", "control core, floating point", "nothing to compute"

TARGET = "gap9"


def verdict(path: Path) -> str:
    """Who computes the operators of a file, or why it is refused.

    Modules compute what one of them has a price for, also where the control core takes fewer cycles for few elements.
    """
    try:
        report = match.predict(path, TARGET)
    except ModelError as error:
        said = str(error).removeprefix(f"{path} ")
        return f"refused: {said}"
    found = {one for layer in report.layers if (one := _of_layer(layer)) is not None}
    if not found:
        return NOTHING
    return " or ".join(one for one in (MODULES, CORE, REAL) if one in found)


def _of_layer(layer: LayerSummary) -> str | None:
    if not layer.cycles:
        return None
    if layer.module != CPU or any(one.module != CPU and one.cycles is not None for one in layer.candidates):
        return MODULES
    return REAL if is_floating(layer) else CORE
