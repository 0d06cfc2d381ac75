"""Results as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from benchmarks.rtl.results import Measurement, Summary


def calls(measurements: Sequence[Measurement]) -> Table:
    """A row for each kernel call."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in ("group", "layer", "form"):
        table.add_column(header)
    for header in ("cycles", "predicted", "error", "MAC/cycle", "required", "of the bound"):
        table.add_column(header, justify="right")
    for one in measurements:
        table.add_row(
            one.group,
            one.layer,
            one.form,
            f"{one.cycles:,}",
            f"{one.predicted:,.0f}",
            f"{one.error:+.1%}",
            f"{one.rate:.3f}" if one.macs else "",
            f"{one.required:.2f}" if one.required else "",
            f"{one.rate / one.bound:.0%}" if one.bound else "",
        )
    return table


def groups(summaries: Sequence[Summary]) -> Table:
    """A row for each group."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("group")
    for header in ("calls", "mean error", "worst error", "Kendall's tau"):
        table.add_column(header, justify="right")
    for one in summaries:
        figures = (f"{one.mean_error:.1%}", f"{one.worst_error:.1%}", f"{one.tau:.3f}")
        table.add_row(one.group, str(one.calls), *figures)
    return table
