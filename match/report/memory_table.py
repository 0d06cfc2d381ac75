"""Where a network lies that main memory cannot hold: a line per step with what external memory means for it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from match.report.columns import Column, fitted
from match.report.schema import MemoryPlanSummary, MemoryStep, MemorySummary, Totals

KIB = 1024


def memory_table(memory: MemoryPlanSummary, main: MemorySummary, console: Console) -> tuple[Table, tuple[str, ...]]:
    """Steps that bring constants or cut something, in order of execution, and the titles of columns that do not fit."""
    steps = memory.steps
    names = [step.name for step in steps]
    columns = [
        Column[int]("layer", lambda number: names[number], folds=True),
        Column[int]("constants", lambda number: f"{steps[number].constant_bytes:,}", "right", rank=3),
        Column[int]("how they come", lambda number: _way(steps[number], number, names), folds=True),
        Column[int](f"blocks in {main.name}", lambda number: _blocks(steps[number]), "right", rank=1),
        Column[int](f"in {memory.external_memory.name}", lambda number: ", ".join(_outside(memory, number)), rank=2),
        Column[int]("exposed\ncycles", lambda number: _exposed(steps[number]), "right"),
    ]
    rows = [number for number, step in enumerate(steps) if step.constant_bytes or step.cut]
    return fitted(columns, rows, console)


def program_text(totals: Totals) -> str:
    """What the program is estimated to take of main memory, to be said after what the network takes; or nothing."""
    return f", beside an estimated {totals.program_bytes / KIB:.1f} KiB for the program" if totals.program_bytes else ""


def memory_lines(memory: MemoryPlanSummary, main: MemorySummary, totals: Totals) -> Iterator[str]:
    """The sums: what is in use, and how much of the traffic shows."""
    outside = memory.external_memory
    yield (
        f"Memory: {memory.main_bytes / KIB:.1f} of {main.bytes / KIB:.0f} KiB of {main.name}{program_text(totals)}, "
        f"and {memory.external_bytes / KIB:.1f} of {outside.bytes / KIB:.0f} KiB of {outside.name} "
        f"({memory.image_bytes / KIB:.1f} KiB of it constants); all of it would take "
        f"{memory.whole_bytes / KIB:.1f} KiB of {main.name}."
    )
    yield (
        f"{outside.name}: {memory.traffic_cycles:,} cycles of transfers predicted, {memory.hidden:.1%} of them hidden; "
        f"the network takes {memory.exposed_cycles:,} cycles longer than with everything in {main.name}."
    )


def _blocks(step: MemoryStep) -> str:
    return f"{step.block_bytes:,}" if step.cut else ""


def _exposed(step: MemoryStep) -> str:
    return f"{step.exposed_cycles:,}" if step.exposed_cycles else ""


def _way(step: MemoryStep, number: int, names: list[str]) -> str:
    match step.constants:
        case "none":
            return ""
        case "resident":
            return "they stay"
        case "cut":
            return "in pieces"
        case "fetched":
            late = step.fetched_at == number
            return "late" if late else f"during {names[step.fetched_at or 0]}"


def _outside(memory: MemoryPlanSummary, number: int) -> Iterator[str]:
    for tensor in memory.tensors:
        if tensor.external and memory.steps[number].cut:
            if tensor.first == number:
                yield "output"
            elif number in tensor.read_by:
                yield "input"
