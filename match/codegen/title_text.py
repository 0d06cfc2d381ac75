"""What the top of a layer's C says of it, and what its constants are called."""

from __future__ import annotations

import re
import textwrap

from match.codegen.c_text import WIDTH, comment
from match.codegen.context_text import WINDOWED
from match.dispatch.plan import LayerPlan
from match.ir.layer import Group, Role

_NUMBER = re.compile(r"_\d+_[a-z]\w*?$")
"""What follows the network's name in the symbol of a layer."""


def title(plan: LayerPlan) -> str:
    """What the layer is."""
    layer = plan.layer
    if isinstance(layer.attributes, Group):
        what = f"{len(layer.operators)} operators in one offload"
        units = " and ".join(unit.name for unit in plan.units)
        return comment(f"{layer.name}: {what}, on {units} of {plan.target}")
    shape = f"{layer.iy}x{layer.ix}x{layer.input_channels} to {layer.oy}x{layer.ox}x{layer.output_channels}"
    window = f" {layer.fy}x{layer.fx}" if layer.op in WINDOWED and not layer.fused else ""
    return comment(f"{layer.name}: {layer.what}{window}, {shape}, on {plan.module} of {plan.target}")


def source_lines(plan: LayerPlan) -> list[str]:
    """What the model calls the layer, in lines of a comment; none if that is not known."""
    return textwrap.wrap(f"In the model: {comment(plan.source)}", WIDTH - 3) if plan.source else []


def contents(plan: LayerPlan) -> str:
    """What the constants in the layer's file are, as the start of a sentence; empty if there are none in it."""
    operand = next((one for one in plan.schedule.operands if one.role is Role.CONSTANT), None)
    if operand is None or plan.constants_at == "network":
        return ""
    if isinstance(plan.layer.attributes, Group):
        return "The constants of all operators"
    return " and ".join(component.name for component in operand.components).replace("_", " ").capitalize()


def constants_macro(plan: LayerPlan) -> str:
    """The macro that places the constants of all layers of the network, whose name begins the symbol."""
    return f"{_NUMBER.sub('', plan.symbol)}_WEIGHTS".upper()
