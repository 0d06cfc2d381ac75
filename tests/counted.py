"""Tables of docs/ with what `benchmarks.counted` counted last: cost-models.md on RTL, pulp-open.md on GVSoC."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.counted.__main__ import FILE, read
from benchmarks.counted.count import APART, EXACT, name_of
from benchmarks.counted.results import Key, Layer, by_kind, by_network, sums

BEFORE = FILE.with_name("before.json")
"""The same networks with the kernels and cost models of an early revision."""

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


NETWORKS_BEFORE = "| network | before: predicted | counted | error | today: predicted | counted | error |"
KINDS_BEFORE = "| kind | layers before, today | RTL before | today | GVSoC before | error | today | error |"
TEXTS_BEFORE = "| file | bytes before | today |"
ENOUGH = 5_000
"""Cycles of a kind, below which a call's own are most of it."""


def with_before(page: str) -> str:
    """The page with what was counted before and is today, of networks that were counted at both times."""
    before, today = read(BEFORE), read(FILE)
    page = _filled(page, NETWORKS_BEFORE, _networks(before.layers, today.layers))
    page = _filled(page, KINDS_BEFORE, _kinds(before.layers, today.layers))
    sizes = {one.file: one.bytes for one in before.texts}
    grown = [(one.file, sizes.get(one.file, 0), one.bytes) for one in today.texts]
    rows = [f"| {file} | {was:,} | {now:,} |" for file, was, now in grown if now > was]
    rows.append(f"| all files | {sum(sizes.values()):,} | {sum(one.bytes for one in today.texts):,} |")
    return _filled(page, TEXTS_BEFORE, rows)


def _filled(page: str, header: str, rows: list[str]) -> str:
    """The page with these rows in the table of the header."""
    lines = page.split("\n")
    first = lines.index(header) + 2
    lines[first : lines.index("", first)] = rows
    return "\n".join(lines)


def _networks(before: tuple[Layer, ...], today: tuple[Layer, ...]) -> list[str]:
    """Whole networks on GVSoC."""
    was, now = (sums([one for one in layers if one.platform == "gvsoc"], by_network) for layers in (before, today))
    both = [name for name in was if name in now and APART not in name[1]]
    return [
        f"| {name[1]} | "
        + " | ".join(f"{one.predicted:,} | {one.counted:,} | {one.error:+.1%}" for one in (was[name], now[name]))
        + " |"
        for name in both
    ]


def _kinds(before: tuple[Layer, ...], today: tuple[Layer, ...]) -> list[str]:
    """Kinds of layers, layer by layer on all modules, and on one core's RTL."""
    networks = {by_network(one) for one in before} & {by_network(one) for one in today}

    def chosen(layers: tuple[Layer, ...]) -> Iterator[Layer]:
        return (
            one for one in layers if by_network(one) in networks and (one.platform == "rtl" or APART in one.network)
        )

    was, now = (sums(chosen(layers), lambda one: (one.platform, one.kind)) for layers in (before, today))
    rows: list[str] = []
    for kind in sorted({name[1] for name in was} & {name[1] for name in now}):
        figures = [(was.get((platform, kind)), now.get((platform, kind))) for platform in ("rtl", "gvsoc")]
        (core_was, core_now), (chip_was, chip_now) = figures
        if chip_was is None or chip_now is None or max(chip_was.counted, chip_now.counted) < ENOUGH:
            continue
        core = [f"{one.counted:,}" if one and core_was and core_now else "" for one in (core_was, core_now)]
        chip = [f"{one.counted:,} | {one.error:+.1%}" for one in (chip_was, chip_now)]
        rows.append(f"| {' | '.join((kind, f'{chip_was.layers}, {chip_now.layers}', *core, *chip))} |")
    return rows


def with_exact(page: str) -> str:
    """The page with what exact numerics cost, of networks that were counted with both on GVSoC."""
    known = {
        name: one.counted
        for (platform, name), one in sums(read(FILE).layers, by_network).items()
        if platform == "gvsoc"
    }
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
    layers = [layer for layer in read(FILE).layers if layer.platform == platform]
    return [
        f"| {' | '.join(name[-names:])} | {one.layers} | {one.predicted:,} | {one.counted:,} | {one.error:+.1%} |"
        for name, one in sums(layers, key).items()
    ]
