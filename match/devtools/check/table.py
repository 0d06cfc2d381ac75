"""What came of a check, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from match.devtools.check.execution import Coverage


def show_coverage(coverage: Sequence[Coverage], console: Console) -> None:
    """Print how many of the small layers that a target was checked with each module took."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in ("module", "operator", "layers equal to TVM's", "refused"):
        table.add_column(header)
    for row in coverage:
        table.add_row(row.module, row.op, str(row.taken), str(row.tried - row.taken))
    console.print(table)
