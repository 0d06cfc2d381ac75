"""Tables of docs/ with what `benchmarks.counted` counted last: cost-models.md on RTL, pulp-open.md on GVSoC."""

from __future__ import annotations

from benchmarks.counted.__main__ import FILE, read
from benchmarks.counted.count import EXACT, name_of
from benchmarks.counted.results import Key, by_kind, by_network, sums

_RTL: dict[str, Key] = {
    "| kind | layers | predicted | counted | error |": by_kind,
    "| network | layers | predicted | counted | error |": by_network,
}
"""Headers of tables, and whose sums are below each."""

_GVSOC: dict[str, Key] = {
    "| unit | kind | layers | predicted | counted | error |": by_kind,
    "| network | layers | predicted | counted | error |": by_network,
}
"""The same of eight cores and NE16."""


EXACT_HEADER = "| network | hardware | exact | times as many |"


def with_exact(page: str) -> str:
    """The page with what exact numerics cost, of networks that were counted with both on GVSoC."""
    known = {name: one.counted for (platform, name), one in sums(read(FILE), by_network).items() if platform == "gvsoc"}
    pairs = [(name, known[name], known[exact]) for name in known if (exact := name_of(name, EXACT)) in known]
    lines = page.split("\n")
    first = lines.index(EXACT_HEADER) + 2
    lines[first : lines.index("", first)] = [f"| {n} | {a:,} | {b:,} | {b / a:.2f} |" for n, a, b in pairs]
    return "\n".join(lines)


def with_counts(page: str, platform: str = "rtl") -> str:
    """The page with the sums that were counted on a platform."""
    lines = page.split("\n")
    for header, key in (_RTL if platform == "rtl" else _GVSOC).items():
        first = lines.index(header) + 2
        last = lines.index("", first)
        lines[first:last] = _rows(platform, key, header.count("|") - 5)
    return "\n".join(lines)


def _rows(platform: str, key: Key, names: int) -> list[str]:
    """Rows that begin with the last `names` names of their sum."""
    layers = [layer for layer in read(FILE) if layer.platform == platform]
    return [
        f"| {' | '.join(name[-names:])} | {one.layers} | {one.predicted:,} | {one.counted:,} | {one.error:+.1%} |"
        for name, one in sums(layers, key).items()
    ]
