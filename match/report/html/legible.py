"""Texts of a report as they may be shown: names come from model files, which may be anybody's."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from match.report.schema import Report


def legible(report: Report) -> Report:
    """The report with what does not print in its texts written out.

    A mark that turns the direction of writing would else change what stands beside a name.
    """
    return msgspec.convert(_each(msgspec.to_builtins(report)), Report)


def printable(text: str) -> str:
    """A text in one line, with each character that does not print as its code point, such as ⟨U+202E⟩."""
    return "".join(one if one.isprintable() else _written_out(one) for one in text)


def _written_out(character: str) -> str:
    return " " if character.isspace() else f"⟨U+{ord(character):04X}⟩"


def _each(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _each(one) for key, one in cast("dict[str, Any]", value).items()}
    return [_each(one) for one in cast("list[Any]", value)] if isinstance(value, list | tuple) else value
