"""The points of a sweep: every combination of the values of each name.

A name is one that the target declares (`match.target.parameters`), or that of an option of a compilation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from match.compilation.options import Options
from match.compiled.stations import Asked
from match.errors import MatchError, OptionError
from match.sweeping.schema import Value
from match.target.arguments import is_a, shown
from match.target.hardware import MatchTarget
from match.target.memory_sizes import l1_sizes, memory_size, sizes_text
from match.target.parameters import Parameter, Setting
from match.target.registry import settable

NONE = "none"
"""What stands for no bound."""

_SIZES = ("l1", "l2")
_MODULES = "modules"
_OPTIONS = {
    "engine": Parameter("engine", str, "exact"),
    "objective": Parameter("objective", str, "latency"),
    "at_most": Parameter("at_most", str, NONE),
    "numerics": Parameter("numerics", str, "hardware"),
    "fuse": Parameter("fuse", bool, True),
    "rescale": Parameter("rescale", bool, False),
    "quantize_recurrent": Parameter("quantize_recurrent", bool, False),
}

MOST = 100_000
"""Points."""


@dataclass(frozen=True)
class Axis:
    """A name, and the values that it takes one after the other; `declared` tells whether the target declares it."""

    name: str
    values: tuple[Any, ...]
    declared: bool

    @property
    def shown(self) -> tuple[Value, ...]:
        """The values as the result has them: modules joined by "+"."""
        return tuple("+".join(value) if self.name == _MODULES and not self.declared else value for value in self.values)


def _bound(value: object) -> Setting:
    """A bound as it is given; None and "none" are none."""
    return NONE if value is None else _OPTIONS["at_most"].read(value)


@dataclass(frozen=True, eq=False)
class Point:
    """One combination: each value by its name, and what a compilation is asked for, or why none can be."""

    values: Mapping[str, Value]
    asked: Asked | MatchError


def axes(target: str | MatchTarget, given: Mapping[str, Any]) -> tuple[Axis, ...]:
    """What takes several values; those of a name are a sequence, or one value.

    Raises:
        OptionError: a name is neither the target's nor an option's, it has no values, or one twice or of another kind.
        TargetError: there is no such target.
    """
    known = settable(target)
    return tuple(_axis(name, _several(name, values), known, target) for name, values in given.items())


def _several(name: str, values: Any) -> list[Any]:
    found = list(values) if is_a(values, Iterable) and not is_a(values, str) else [values]
    if not found:
        raise OptionError(f"{name} has no values; give at least one.")
    return found


def _axis(name: str, values: Sequence[Any], known: Mapping[str, Parameter], target: str | MatchTarget) -> Axis:
    if name == "at_most" and name not in known:
        read = tuple(map(_bound, values))
    elif name in known or name in _OPTIONS:
        read = tuple({**_OPTIONS, **known}[name].read(value) for value in values)
    elif name in _SIZES:
        read = tuple(_size(name, value) for value in values)
    elif name == _MODULES:
        read = tuple(map(_names, values))
    else:
        chip = target if isinstance(target, str) else target.name
        there = ", ".join((*known, *_SIZES, _MODULES, *_OPTIONS))
        raise OptionError(f"{chip} has no {shown(name)} to set; what can be set: {there}.")
    if len(set(read)) < len(read):
        raise OptionError(f"{name} has a value more than once; give each once.")
    return Axis(name, read, name in known)


def _size(name: str, value: Any) -> int | str | None:
    """A size of a memory; sizes of L1 by module as a text, which is shown of the point, too."""
    if name == "l1" and isinstance(sizes := l1_sizes(value), dict):
        return sizes_text(sizes)
    return memory_size(name.upper(), value)


def _names(value: Any) -> tuple[str, ...]:
    """Some modules: their names, or these joined by "+"."""
    names = tuple(value.split("+")) if isinstance(value, str) else tuple(value) if is_a(value, Iterable) else ()
    if not names or not all(is_a(name, str) and name for name in names):
        raise OptionError(f"modules are names joined by '+', such as cluster+ne16, not {shown(value)}; give such.")
    return names


def points(target: str | MatchTarget, given: Sequence[Axis], cache: bool | str | PathLike[str]) -> tuple[Point, ...]:
    """Every combination of the values, the last name changing first.

    Raises:
        OptionError, TargetError: a compilation can be asked for none of them, or there are too many.
    """
    count = 1
    for axis in given:
        count *= len(axis.values)
    if count > MOST:
        raise OptionError(f"{count:,} points are too many; give fewer values, for at most {MOST:,} points.")
    found: list[Point] = []
    for combination in itertools.product(*(range(len(axis.values)) for axis in given)):
        chosen = {axis.name: axis.values[place] for axis, place in zip(given, combination, strict=True)}
        values = {axis.name: axis.shown[place] for axis, place in zip(given, combination, strict=True)}
        try:
            found.append(Point(values, _asked(target, given, chosen, cache)))
        except MatchError as error:
            found.append(Point(values, error))
    if isinstance(first := found[0].asked, MatchError) and not any(isinstance(point.asked, Asked) for point in found):
        raise first
    return tuple(found)


def _asked(
    target: str | MatchTarget, given: Sequence[Axis], chosen: Mapping[str, Any], cache: bool | str | PathLike[str]
) -> Asked:
    """What a compilation is asked for by the values of a point.

    Raises:
        OptionError, TargetError: there is none.
    """
    settings = {axis.name: chosen[axis.name] for axis in given if axis.declared}
    options: dict[str, Any] = {name: value for name, value in chosen.items() if name not in settings}
    if options.get("at_most") == NONE:
        del options["at_most"]
    return Asked.of(target, Options.parse(**options, jobs=1, cache=cache, settings=settings))
