"""The constants in the tables of docs/cost-models.md: each row has the values of the names that it begins with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from match.cost_models.measured import measured

Group = Literal["kernel", "int16", "sharing"]

_TABLE = "| constant (`KernelCycles`) | cycles | of |"
_ROW = re.compile(r"^\| (?P<names>`[^|]*) \|(?P<values>[^|]*)\| (?P<text>.*)$")
_GROUPS: dict[str, Group] = {"Int16Cycles": "int16", "Sharing": "sharing"}
SHARES = frozenset(
    {"waits", "tables", "largest", "arriving", "recurrent", "again", "behind", "waits_int16", "elements_int16"}
)
"""Fields of `Sharing`, in percent."""


def names_of(cell: str) -> list[tuple[Group, str]]:
    """The constants that a row's first cell names: as `NAME`, `Sharing.NAME` or `.NAME`, of one class.

    (`Int16Cycles`) behind them says whose they are if not those of `KernelCycles`.
    """
    quoted = re.findall(r"`([^`]*)`", cell)
    group: Group = "kernel"
    for name in quoted:
        group = _GROUPS.get(name.split(".")[0], group)
    known = measured(group)
    names = [name.removeprefix("Sharing").removeprefix(".") for name in quoted if name not in _GROUPS]
    names = [name for name in names if name != "KernelCycles"]
    return [(group, name) for name in names] if names and all(name in known for name in names) else []


def rows(page: str) -> Iterator[tuple[int, list[tuple[Group, str]]]]:
    """Lines of a page that are rows of its table of constants, by number."""
    lines = page.split("\n")
    first = lines.index(_TABLE)
    last = lines.index("", first)
    for number, line in enumerate(lines[:last]):
        if number < first:
            continue
        found = _ROW.match(line)
        names = names_of(found["names"]) if found else []
        if names:
            yield number, names


def with_values(page: str) -> str:
    """The page with the values that the constants have."""
    lines = page.split("\n")
    for number, names in rows(page):
        found = _ROW.match(lines[number])
        if found is not None:
            values = ", ".join(_shown(group, name) for group, name in names)
            lines[number] = f"| {found['names']} | {values} | {found['text']}"
    return "\n".join(lines)


def _shown(group: Group, name: str) -> str:
    value = measured(group)[name]
    return f"{100 * value:g} %" if group == "sharing" and name in SHARES else f"{value:g}"
