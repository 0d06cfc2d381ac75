"""Tables as wide as a terminal: what does not fit is left out, and said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

Row = TypeVar("Row")
_UNBOUNDED = 10_000


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column and what a row shows in it.

    The lowest positive `rank` is left out first; columns without one always stay. `folds` tells whether a cell may take
    several lines, so that the column is no wider than a third of the terminal.
    """

    header: str
    cell: Callable[[Row], str]
    justify: Literal["left", "right"] = "left"
    rank: int = 0
    folds: bool = False

    @property
    def title(self) -> str:
        """The header in one line."""
        return self.header.replace("\n", " ")


def fitted(columns: Sequence[Column[Row]], rows: Sequence[Row], console: Console) -> tuple[Table, tuple[str, ...]]:
    """The table of the columns that fit the console, and the titles of those that do not, in their order."""
    shown = list(columns)
    table = _table(shown, rows, console)
    unbounded = console.options.update_width(_UNBOUNDED)
    while console.measure(table, options=unbounded).maximum > console.width and any(column.rank for column in shown):
        least = min((column for column in shown if column.rank), key=lambda column: column.rank)
        shown = [column for column in shown if column is not least]
        table = _table(shown, rows, console)
    return table, tuple(column.title for column in columns if column not in shown)


def left_out(titles: Sequence[str], where: str) -> list[Text]:
    """A line that names columns which did not fit, and `where` they are; nothing if all did."""
    if not titles:
        return []
    return [Text(f"Not shown, since this terminal is too narrow: {', '.join(titles)}; {where}.", style="dim")]


def _table(columns: Sequence[Column[Row]], rows: Sequence[Row], console: Console) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        widest = console.width // 3 if column.folds else None
        table.add_column(
            column.header, justify=column.justify, no_wrap=not column.folds, overflow="fold", max_width=widest
        )
    for row in rows:
        table.add_row(*(Text(column.cell(row)) for column in columns))
    return table
