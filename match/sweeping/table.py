"""A sweep as a table on the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from match.report.settings import setting_text
from match.sweeping.schema import PointResult, SweepResult, Value

_KIB = 1024


def show_sweep(result: SweepResult, console: Console) -> None:
    """Print a row for each point; a star marks those that no other is better than."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    several = len({point.model for point in result.points}) > 1
    energy = any(point.figures and point.figures.energy_pj is not None for point in result.points)
    table.add_column("", no_wrap=True)
    table.add_column("point", justify="right")
    for name in (*(("model",) if several else ()), *result.axes):
        table.add_column(name, justify="left" if name in ("model", "modules") else "right")
    unit = "µJ,\nestimated" if result.estimated_energy else "µJ"
    for name in ("cycles", "ms", *((unit,) if energy else ()), "L1 used", "main memory", "bytes moved", "exact"):
        table.add_column(name, justify="right")
    for number, point in enumerate(result.points):
        first = "*" if point.best else "", str(number), *((point.model,) if several else ())
        values = (value_text(name, value) for name, value in point.values.items())
        table.add_row(*first, *values, *_figures(point, energy))
    console.print(table)
    refused = [(number, point) for number, point in enumerate(result.points) if point.refusal]
    for number, point in refused:
        console.print(f"Point {number}: {point.refusal}", highlight=False, markup=False, soft_wrap=True)
    for line in hypothetical(result):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    best = sum(point.best for point in result.points)
    console.print(
        f"{len(result.points)} points on {result.target}"
        + (f", {len(refused)} of which cannot be compiled" if refused else "")
        + f"; no other is better than {best} of them (*) in cycles,{' energy,' if energy else ''} bytes of L1 and "
        "exactness together.",
        highlight=False,
        soft_wrap=True,
    )


def hypothetical(result: SweepResult) -> list[str]:
    """A sentence for each memory that some points have more of than the chip."""
    found: dict[tuple[str, int], list[int]] = {}
    for number, point in enumerate(result.points):
        for one in point.enlarged:
            found.setdefault((one.name, one.own), []).append(number)
    return [
        f"{'Point' if len(numbers) == 1 else 'Points'} {', '.join(map(str, numbers))}: hypothetical hardware with more "
        f"{memory} than the {own:,} bytes that {result.target} has for networks."
        for (memory, own), numbers in found.items()
    ]


def value_text(name: str, value: Value) -> str:
    """A value as it is given; sizes of memories in KiB where that is a whole number."""
    if name in ("l1", "l2") and isinstance(value, int) and value % _KIB == 0:
        return f"{value // _KIB}k"
    return setting_text(value)


def _figures(point: PointResult, energy: bool) -> tuple[str, ...]:
    figures = point.figures
    if figures is None:
        return ("", "", *(("",) if energy else ()), "", "", "", "")
    layers = f"{figures.inexact_layers} layer{'s' if figures.inexact_layers > 1 else ''}"
    exact = f"not in {layers}, {figures.moved:.1%} moved" if figures.inexact_layers else "yes"
    return (
        f"{figures.cycles:,}",
        f"{figures.milliseconds:,.3f}",
        *((("" if figures.energy_pj is None else f"{figures.energy_pj / 1e6:,.2f}"),) if energy else ()),
        f"{figures.l1_used_bytes:,}",
        f"{figures.main_bytes:,}",
        f"{figures.bytes_moved:,}",
        exact,
    )
