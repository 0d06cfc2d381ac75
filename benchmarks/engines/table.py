"""Results as a table, each engine beside the first of the same network and size."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.engines.results import Measurement


def size_label(size: int | None) -> str:
    """A size of L1 as it is written: "full", "12 kB" or a number of bytes."""
    if size is None:
        return "full"
    return f"{size // 1024} kB" if size % 1024 == 0 else f"{size} B"


def show(measurements: Sequence[Measurement], console: Console) -> None:
    """Print a row for each measurement; cycles are set against those of the first engine."""
    first: dict[tuple[str, int | None], Measurement] = {}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in ("network", "L1", "engine"):
        table.add_column(header)
    for header in ("cycles", "ratio", "bytes moved", "CPU s"):
        table.add_column(header, justify="right")
    table.add_column("layers without a mapping", overflow="fold")
    for one in measurements:
        place = (one.network, one.l1)
        heading = ("", "") if place in first else (one.network, size_label(one.l1))
        reference = first.setdefault(place, one)
        table.add_row(
            *heading,
            one.engine,
            f"{one.cycles:,.0f}",
            f"{one.cycles / reference.cycles:.3f}" if reference.cycles else "",
            f"{one.moved_bytes:,}",
            f"{one.seconds:.2f}",
            ", ".join(one.unmapped),
            end_section=False,
        )
    console.print(table)
