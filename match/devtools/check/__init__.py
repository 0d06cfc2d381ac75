"""Checks a target as its author would like to be told: what is wrong, in one sentence each.

The fields of the JSON are explained in docs/json.md.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from match.compilation.stopwatch import Progress, unheard
from match.devtools.check.description import description_problems
from match.devtools.check.execution import Coverage, execution_problems
from match.target.hardware import MatchTarget

__all__ = ["Check", "Coverage", "check_target", "encode", "schema"]

SCHEMA_VERSION = 1


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`problems` are sentences about what is wrong with a target, `coverage` is what was run to find that out.

    `untried` are sentences about what the target lists and none of the small layers could try, and about operators that
    a module takes with scales of few bits alone.
    """

    target: str
    problems: tuple[str, ...]
    coverage: tuple[Coverage, ...]
    untried: tuple[str, ...] = ()
    schema_version: Literal[1] = SCHEMA_VERSION


def encode(check: Check) -> bytes:
    """What was found as JSON: UTF-8, indented, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(check), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of what was found, made from the types."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Check)))


def check_target(target: MatchTarget, progress: Progress = unheard) -> Check:
    """Check a description, then compile and run small layers of every pattern on this machine.

    Each layer's outputs are compared, byte by byte, with those of TVM's C for the same layer, and those of some layers
    in each form of requantization that modules list. What the description gets wrong is reported first; layers are
    tried only when nothing is. `progress` is told what is tried.

    Raises:
        ToolchainError: there is no C compiler or make.
    """
    problems = description_problems(target)
    if problems:
        return Check(target.name, problems, ())
    return Check(target.name, *execution_problems(target, progress))
