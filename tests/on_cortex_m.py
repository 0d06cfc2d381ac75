"""The tables of docs/cortex-m.md with what `benchmarks.cortex_m` counted and predicted last."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.command import read
from benchmarks.cortex_m.__main__ import FILE
from benchmarks.cortex_m.count import Beside, Counted, Results

COUNTED = "| network | target | predicted cycles | instructions | -O3 | -Os | RAM | stack | constants | code |"
BESIDE = "| network | target | published, ms | of | predicted, ms |"


def with_cores(page: str) -> str:
    """The page with a row for each network on each core, and on each board of a publication."""
    results = read(FILE, Results)
    return _with(_with(page, COUNTED, map(_row, results.counted)), BESIDE, map(_published, results.beside))


def _with(page: str, header: str, rows: Iterable[str]) -> str:
    lines = page.split("\n")
    first = lines.index(header) + 2
    lines[first : lines.index("", first)] = rows
    return "\n".join(lines)


def _row(one: Counted) -> str:
    counts = one.instructions, one.fastest, one.smallest
    numbers = one.predicted, *counts, one.ram, one.stack, one.constants, one.text
    return f"| {one.network} | `{one.target}` | {' | '.join(f'{number:,}' for number in numbers)} |"


def _published(one: Beside) -> str:
    return f"| {one.network} | `{one.target}` | {one.measured:g} | {one.software} | {one.predicted:.1f} |"
