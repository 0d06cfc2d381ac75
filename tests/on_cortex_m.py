"""The table of docs/cortex-m.md with what `benchmarks.cortex_m` counted last."""

from __future__ import annotations

from benchmarks.cortex_m.__main__ import FILE, read

HEADER = "| network | target | predicted cycles | instructions | RAM, bytes | constants, bytes | code, bytes |"


def with_cores(page: str) -> str:
    """The page with a row for each network on each core."""
    lines = page.split("\n")
    first = lines.index(HEADER) + 2
    lines[first : lines.index("", first)] = [
        f"| {one.network} | `{one.target}` | {one.predicted:,} | {one.instructions:,} | {one.ram:,} | {one.constants:,} "
        f"| {one.text:,} |"
        for one in read(FILE).counted
    ]
    return "\n".join(lines)
