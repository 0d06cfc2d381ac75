"""What chips there are and what their modules take, from the descriptions themselves."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from match.dispatch.energy import without_energy
from match.errors import in_a_line
from match.target.hardware import Constraint, HwModule, MatchTarget

KIB = 1024


def show_targets(targets: Sequence[MatchTarget], console: Console) -> None:
    """Print a table of targets with what the search can minimise for them, modules, memories and operators."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in ("target", "clock", "objectives", "main memory", "module", "scratchpad", "operators"):
        table.add_column(header, overflow="fold")
    for target in targets:
        main = _size(target.main_memory.name, target.main_memory.size)
        chip = (target.name, f"{target.clock_hz / 1e6:g} MHz", ", ".join(objectives(target)), main)
        for module in target.modules:
            rooms = [room for memory in module.memories for room in memory.rooms]
            sizes = ", ".join(itertools.starmap(_size, rooms))
            table.add_row(*chip, module.name, sizes, ", ".join(operators(module)))
            chip = ("", "", "", "")
        table.add_row(*chip, "cpu", "", "everything else that TVM compiles to C")
    console.print(table)


def markdown(target: MatchTarget) -> str:
    """What each module of a target takes, as a page: a table of the constraints' summaries by operator."""
    lines = [
        f"# Operators of {target.name}",
        "",
        "A module takes an operator that meets the conditions marked for it. What takes the fewest predicted cycles",
        "for the network as a whole is chosen; what no module takes is compiled by TVM for the control core. The",
        "report names the condition that a layer does not meet.",
    ]
    for module in target.modules:
        patterns = [pattern for pattern in module.patterns() if not pattern.before]
        conditions = dict.fromkeys(constraint for pattern in patterns for constraint in pattern.conditions)
        lines += ["", f"## {module.name}", ""]
        lines.append(f"| condition | {' | '.join(pattern.name for pattern in patterns)} |")
        lines.append("|---|" + ":-:|" * len(patterns))
        for condition in conditions:
            marks = ("✓" if condition in pattern.conditions else "" for pattern in patterns)
            lines.append(f"| {_summary(condition)} | {' | '.join(marks)} |")
        lines += _chains(module)
        if module.groups:
            lines += ["", "It executes layers that fit its memory together one after the other, as a group."]
    return "\n".join(lines) + "\n"


def _chains(module: HwModule) -> list[str]:
    """The patterns of several operators, with what they ask beside the conditions of each operator."""
    chains = [pattern for pattern in module.patterns() if pattern.before]
    lines = ["", "Operators that it executes as one, tile by tile, if it takes each of them:", ""] if chains else []
    for pattern in chains:
        conditions = "".join(f" {_summary(condition)}" for condition in pattern.constraints)
        lines.append(f"- {' → '.join(pattern.ops)}{'.' if not conditions else ':' + conditions}")
    return lines


def _size(name: str, size: int) -> str:
    return f"{name} {size / KIB:g} KiB"


def objectives(target: MatchTarget) -> tuple[str, ...]:
    """What the search can minimise for a target."""
    return ("latency", "bytes") if without_energy(target) else ("latency", "bytes", "energy")


def operators(module: HwModule) -> list[str]:
    """The operators of a module's patterns; of one that fails, what is wrong with them."""
    try:
        return list(
            dict.fromkeys(pattern.own.name if pattern.own else pattern.op.value for pattern in module.patterns())
        )
    except Exception as error:  # noqa: BLE001  # a module from elsewhere; the table is to list all others, too
        return [f"its patterns: {in_a_line(error)}"]


def _summary(constraint: Constraint) -> str:
    return (inspect.getdoc(constraint) or "").partition("\n\n")[0].replace("\n", " ")
