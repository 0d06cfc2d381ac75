"""What a chip's modules take and under which conditions, from the descriptions themselves."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from match.errors import OptionError
from match.target.arguments import shown
from match.target.hardware import Constraint, HwModule, MatchTarget, Pattern

_GROUPS = "It executes layers that fit its memory together one after the other, as a group."
_CHAINS = "Operators that it executes as one, tile by tile, if it takes each of them:"
_CHOICE = (
    "A module takes an operator that meets the conditions beside it. What takes the fewest predicted cycles for the "
    "network as a whole is chosen; what no module takes is compiled by TVM for the control core. The report names the "
    "condition that a layer does not meet."
)


class Taken(NamedTuple):
    """Operators of a module and the conditions under which it takes each of them, in sentences."""

    operators: tuple[str, ...]
    conditions: tuple[str, ...]


def taken(module: HwModule, operator: str | None = None) -> tuple[Taken, ...]:
    """What a module takes, operators of the same conditions together; `operator` alone if that is given."""
    found: dict[tuple[str, ...], list[str]] = {}
    for pattern in module.patterns():
        if not pattern.before and operator in (None, pattern.name):
            names = found.setdefault(tuple(map(_summary, pattern.conditions)), [])
            names += [pattern.name] if pattern.name not in names else []
    return tuple(Taken(tuple(names), conditions) for conditions, names in found.items())


def markdown(target: MatchTarget) -> str:
    """What each module of a target takes, as a page."""
    lines = [f"# Operators of {target.name}", "", *_wrapped(_CHOICE)]
    for module in target.modules:
        lines += ["", f"## {module.name}", "", "| operators | conditions |", "|---|---|"]
        lines += (f"| {', '.join(rows.operators)} | {'<br>'.join(rows.conditions)} |" for rows in taken(module))
        chains = list(_chains(module))
        lines += ["", _CHAINS, "", *(f"- {chain}" for chain in chains)] if chains else []
        lines += ["", _GROUPS] if module.groups else []
    return "\n".join(lines) + "\n"


def show_operators(target: MatchTarget, operator: str | None, console: Console) -> None:
    """Print what each module of a target takes, or the one `operator` alone.

    Raises:
        OptionError: if no module takes that.
    """
    known = dict.fromkeys(name for module in target.modules for own in taken(module) for name in own.operators)
    if operator is not None and operator not in known:
        raise OptionError(
            f"no module of {target.name} takes {shown(operator)}; the operators that some take: {', '.join(known)}."
        )
    for module in target.modules:
        rows = taken(module, operator)
        if not rows:
            console.print(Text(f"{module.name} does not take {operator}."), "", sep="\n")
            continue
        table = Table(title=module.name, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.add_column("operators", overflow="fold", max_width=max(console.width // 3, 20))
        table.add_column("conditions", overflow="fold")
        for own in rows:
            table.add_row(", ".join(own.operators), "\n".join(f"- {one}" for one in own.conditions) or "none")
            table.add_section()
        console.print(table, "", sep="\n")
        chains = list(_chains(module, operator))
        for line in [_CHAINS, *(f"- {chain}" for chain in chains), ""] if chains else []:
            console.print(line, highlight=False, markup=False)
        if module.groups:
            console.print(_GROUPS, "", highlight=False, sep="\n")
    console.print(_CHOICE, highlight=False)


def _chains(module: HwModule, operator: str | None = None) -> Iterator[str]:
    """The patterns of several operators, with what they ask beside the conditions of each operator."""
    for pattern in module.patterns():
        if pattern.before and (operator is None or operator in _names(pattern)):
            conditions = "".join(f" {_summary(condition)}" for condition in pattern.constraints)
            yield f"{' → '.join(pattern.ops)}{'.' if not conditions else ':' + conditions}"


def _names(pattern: Pattern) -> Sequence[str]:
    return [op.value for op in pattern.ops]


def _wrapped(text: str) -> list[str]:
    """A paragraph in lines of Markdown."""
    return textwrap.wrap(text, 110)


def _summary(constraint: Constraint) -> str:
    return (inspect.getdoc(constraint) or "").partition("\n\n")[0].replace("\n", " ")
