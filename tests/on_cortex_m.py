"""The table of docs/cortex-m.md with what `benchmarks.cortex_m` counted last."""

from __future__ import annotations

from benchmarks.cortex_m.__main__ import FILE, read
from benchmarks.cortex_m.count import Counted

HEADER = "| network | target | predicted cycles | instructions | RAM, bytes | constants, bytes | code, bytes |"


def with_cores(page: str) -> str:
    """The page with a row for each network on each core."""
    lines = page.split("\n")
    first = lines.index(HEADER) + 2
    lines[first : lines.index("", first)] = map(_row, read(FILE).counted)
    return "\n".join(lines)


def _row(one: Counted) -> str:
    numbers = one.predicted, one.instructions, one.ram, one.constants, one.text
    return f"| {one.network} | `{one.target}` | {' | '.join(f'{number:,}' for number in numbers)} |"
