"""The sizes of builds as a table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from match.report.schema import Report


def show_sizes(report: Report, console: Console) -> None:
    """Print a row for each build that was measured, in bytes; the last are stacks."""
    table = Table("platform", "flags", box=None)
    for column in ("text", "rodata", "data", "bss", "control", "layer", "kernels"):
        table.add_column(column, justify="right")
    for size in report.sizes:
        numbers = (size.text, size.rodata, size.data, size.bss, size.control_stack, size.layer_stack)
        kernels = [f"{module} {_number(stack)}" for module, stack in size.kernel_stacks.items()]
        table.add_row(
            size.platform, size.flags, *map(_number, numbers), "\n".join(kernels) or _number(size.kernel_stack)
        )
    console.print(table)


def _number(bytes_: int | None) -> str:
    return "?" if bytes_ is None else f"{bytes_:,}"
