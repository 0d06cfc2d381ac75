"""What chips there are and what their modules take, from the descriptions themselves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from match.dispatch.energy import without_energy
from match.errors import in_a_line
from match.target.hardware import HwModule, MatchTarget

KIB = 1024


def show_targets(targets: Sequence[MatchTarget], console: Console) -> None:
    """Print a table of targets with what the search can minimise for them, modules, memories and operators."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in ("target", "clock", "objectives", "main memory", "module", "scratchpad", "operators"):
        table.add_column(header, overflow="fold")
    for target in targets:
        main = ", ".join(_size(one.name, one.size) for one in (target.main_memory, target.flash) if one)
        names = ", ".join(objectives(target)) + (" (energies are estimates)" if target.estimated_energy else "")
        chip = (target.name, f"{target.clock_hz / 1e6:g} MHz", names, main)
        for module in target.modules:
            rooms = [room for memory in module.memories for room in memory.rooms]
            sizes = ", ".join(itertools.starmap(_size, rooms))
            table.add_row(*chip, module.name, sizes, ", ".join(operators(module)))
            chip = ("", "", "", "")
        table.add_row(*chip, "cpu", "", "everything else that TVM compiles to C")
    console.print(table)


def _size(name: str, size: int) -> str:
    return f"{name} {size / KIB:g} KiB"


def objectives(target: MatchTarget) -> tuple[str, ...]:
    """What can be minimised for a target."""
    return ("latency", "bytes", "ram") if without_energy(target) else ("latency", "bytes", "energy", "edp", "ram")


def operators(module: HwModule) -> list[str]:
    """The operators of a module's patterns; of one that fails, what is wrong with them."""
    try:
        return list(
            dict.fromkeys(pattern.own.name if pattern.own else pattern.op.value for pattern in module.patterns())
        )
    except Exception as error:  # noqa: BLE001  # a module from elsewhere; the table is to list all others, too
        return [f"its patterns: {in_a_line(error)}"]
