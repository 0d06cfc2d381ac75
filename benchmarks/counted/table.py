"""Results as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from benchmarks.counted.results import Key, Layer, sums

MOVED = 0.01
"""A smaller change is none."""


def summary(headers: Sequence[str], layers: Sequence[Layer], before: Sequence[Layer], key: Key) -> Table:
    """A row for each sum, and what moved since an earlier run that has the same layers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in headers:
        table.add_column(header)
    for header in ("layers", "predicted", "counted", "error", "predicted moved", "counted moved"):
        table.add_column(header, justify="right")
    known = {(one.network, one.platform, one.layer) for one in before}
    same = {(one.network, one.platform, one.layer) for one in layers} & known
    earlier, now = (
        sums([one for one in some if (one.network, one.platform, one.layer) in same], key) for some in (before, layers)
    )
    for name, found in sums(layers, key).items():
        moved = ("", "")
        if name in earlier and name in now:
            moved = (
                _moved(now[name].predicted, earlier[name].predicted),
                _moved(now[name].counted, earlier[name].counted),
            )
        figures = (str(found.layers), f"{found.predicted:,}", f"{found.counted:,}", f"{found.error:+.1%}")
        table.add_row(*name, *figures, *moved)
    return table


def _moved(now: int, before: int) -> str:
    change = now / before - 1
    return f"{change:+.1%}" if abs(change) >= MOVED else ""
