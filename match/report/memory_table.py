"""Where a network lies that main memory cannot hold: a line per step with what external memory means for it."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.table import Table
from rich.text import Text

from match.report.schema import MemoryPlanSummary, MemoryStep, MemorySummary

KIB = 1024


def memory_table(memory: MemoryPlanSummary, main: MemorySummary) -> Table:
    """Steps that bring constants or cut something, in the order of execution."""
    outside = memory.external_memory.name
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for header, left in (
        ("layer", True),
        ("constants", False),
        ("how they come", True),
        (f"blocks in {main.name}", False),
        (f"in {outside}", True),
        ("exposed\ncycles", False),
    ):
        table.add_column(header, justify="left" if left else "right", no_wrap=True)
    names = [step.name for step in memory.steps]
    for number, step in enumerate(memory.steps):
        if step.constant_bytes or step.cut:
            outer = ", ".join(_outside(memory, number))
            blocks = f"{step.block_bytes:,}" if step.cut else ""
            exposed = f"{step.exposed_cycles:,}" if step.exposed_cycles else ""
            row = (step.name, f"{step.constant_bytes:,}", _way(step, number, names), blocks, outer, exposed)
            table.add_row(*map(Text, row))
    return table


def memory_lines(memory: MemoryPlanSummary, main: MemorySummary) -> Iterator[str]:
    """The sums: what is in use, and how much of the traffic shows."""
    outside = memory.external_memory
    yield (
        f"Memory: {memory.main_bytes / KIB:.1f} of {main.bytes / KIB:.0f} KiB of {main.name} and "
        f"{memory.external_bytes / KIB:.1f} of {outside.bytes / KIB:.0f} KiB of {outside.name} "
        f"({memory.image_bytes / KIB:.1f} KiB of it constants); all of it would take "
        f"{memory.whole_bytes / KIB:.1f} KiB of {main.name}."
    )
    yield (
        f"{outside.name}: {memory.traffic_cycles:,} cycles of transfers predicted, {memory.hidden:.1%} of them hidden; "
        f"the network takes {memory.exposed_cycles:,} cycles longer than with everything in {main.name}."
    )


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
