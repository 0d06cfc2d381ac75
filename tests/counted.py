"""The tables of docs/cost-models.md with what `benchmarks.counted` counted last."""

from __future__ import annotations

from benchmarks.counted.__main__ import FILE, read
from benchmarks.counted.results import Key, by_kind, by_network, sums

_TABLES: dict[str, Key] = {
    "| kind | layers | predicted | counted | error |": by_kind,
    "| network | layers | predicted | counted | error |": by_network,
}
"""Their headers, and whose sums are below each: those on RTL."""


def with_counts(page: str) -> str:
    """The page with the sums that were counted."""
    lines = page.split("\n")
    for header, key in _TABLES.items():
        first = lines.index(header) + 2
        last = lines.index("", first)
        lines[first:last] = _rows(key)
    return "\n".join(lines)


def _rows(key: Key) -> list[str]:
    layers = [layer for layer in read(FILE) if layer.platform == "rtl"]
    return [
        f"| {name[-1]} | {one.layers} | {one.predicted:,} | {one.counted:,} | {one.error:+.1%} |"
        for name, one in sums(layers, key).items()
    ]
