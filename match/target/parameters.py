"""What can be set of a target: the parameters of its constructor, so that all that is computed from them follows.

A parameter that is a number, a truth value or a text is set by its name ("clock_hz"); of one that is a dataclass each
such field is, by both names ("dma.bytes"). Nothing else of a description can be set from outside.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from match.errors import OptionError, in_a_line
from match.target.arguments import is_a, shown
from match.target.byte_sizes import bytes_of
from match.target.hardware import MatchTarget

_WORDS = {int: "a whole number, such as 4 or 64k", float: "a number", bool: "true or false", str: "a text"}
"""The kinds that a parameter may have, and what is said to who gives another."""

_TRUTHS = {"true": True, "false": False}

Setting = int | float | bool | str


@dataclass(frozen=True)
class Parameter:
    """One of what can be set: its name, its kind (int, float, bool or str), and what it is if nothing is said."""

    name: str
    kind: type
    default: Setting

    def read(self, value: object) -> Setting:
        """A value that is given, as this kind: itself, or a text that says it; numbers are not negative.

        Raises:
            OptionError: it is of another kind.
        """
        found = self._of_text(value) if isinstance(value, str) else value
        if self.kind is float and is_a(found, int):
            found = float(found)  # pyright: ignore[reportArgumentType] - an int
        if type(found) is not self.kind or (is_a(found, int, float) and not found >= 0):  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
            raise OptionError(f"{self.name} is {_WORDS[self.kind]}, not {shown(value)}; give another value.")
        return found  # pyright: ignore[reportReturnType] - of the kind

    def _of_text(self, text: str) -> object:
        if self.kind is str:
            return text
        if self.kind is bool:
            return _TRUTHS.get(text.lower(), text)
        try:
            return self.kind(text)
        except ValueError:
            return bytes_of(text) if self.kind is int else text


def parameters(target: type[MatchTarget]) -> dict[str, Parameter]:
    """What can be set of a class of targets, by name, in the order of its constructor."""
    return {found.name: found for name, default in _given(target) for found in _of(name, default)}


def made(target: type[MatchTarget], settings: Mapping[str, Any]) -> MatchTarget:
    """A target whose constructor is given some settings, by name.

    Raises:
        OptionError: a name is not one of `parameters`, or a value is of another kind or refused by the target.
    """
    known = parameters(target)
    read = {name: _known(name, known, target).read(value) for name, value in settings.items()}
    arguments: dict[str, Any] = {}
    try:
        for name, default in _given(target):
            fields = {key.removeprefix(f"{name}."): one for key, one in read.items() if key.startswith(f"{name}.")}
            if name in read:
                arguments[name] = read[name]
            elif fields:
                arguments[name] = dataclasses.replace(default, **fields)
        chip = target(**arguments)
        chip.settings = read
        return chip
    except ValueError as error:
        said = ", ".join(f"{name}={value}" for name, value in read.items())
        raise OptionError(f"target {target.name} cannot have {said}: {in_a_line(error)}; give other values.") from error


def _known(name: str, known: Mapping[str, Parameter], target: type[MatchTarget]) -> Parameter:
    if name not in known:
        there = f"what can be set: {', '.join(known)}" if known else "its constructor has no parameters to set"
        raise OptionError(f"target {target.name} has no {shown(name)} to set; {there}.")
    return known[name]


def _given(target: type[MatchTarget]) -> Iterator[tuple[str, Any]]:
    """The constructor's parameters that have defaults, and these."""
    if target.__init__ is object.__init__:
        return
    for name, parameter in list(inspect.signature(target.__init__).parameters.items())[1:]:
        if parameter.default is not inspect.Parameter.empty:
            yield name, parameter.default


def _of(name: str, default: Any) -> Iterator[Parameter]:
    """The parameter itself, or the fields of a dataclass."""
    if type(default) in _WORDS:
        yield Parameter(name, next(kind for kind in _WORDS if type(default) is kind), default)
    elif dataclasses.is_dataclass(default):
        kinds = get_type_hints(type(default))
        for field in dataclasses.fields(default):
            if field.init and kinds[field.name] in _WORDS:
                yield Parameter(f"{name}.{field.name}", kinds[field.name], getattr(default, field.name))
