"""The sizes of builds as a table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from match.report.schema import Report


def show_sizes(report: Report, console: Console) -> None:
    """Print a row for each build that was measured, in bytes; the last three are stacks."""
    table = Table("platform", "flags", box=None)
    for column in ("text", "rodata", "data", "bss", "control", "layer", "kernel"):
        table.add_column(column, justify="right")
    for size in report.sizes:
        stacks = (size.control_stack, size.layer_stack, size.kernel_stack)
        numbers = (size.text, size.rodata, size.data, size.bss, *stacks)
        table.add_row(size.platform, size.flags, *("?" if n is None else f"{n:,}" for n in numbers))
    console.print(table)
