"""The installed targets, as types and as JSON; the fields are explained in docs/json.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from match.report.targets import objectives, operators
from match.target.hardware import HwModule, MatchTarget
from match.target.parameters import parameters

SCHEMA_VERSION = 1


class MemorySize(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory by name, and how many bytes it has."""

    name: str
    bytes: int


class ModuleEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A module: its `scratchpads`, and the `operators` that it may take, under conditions (`match ops`)."""

    name: str
    scratchpads: tuple[MemorySize, ...]
    operators: tuple[str, ...]


class TargetEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A target: `objectives` are what the search can minimise for it; `external_memory` is null where it has none.

    `flash` is the memory that constants lie in, null where main memory has them.

    `settings` are what can be set of it, by name, each with what it is if nothing is said. `estimated_energy` tells
    that its energies follow from publications, with assumptions, and were not measured.
    """

    name: str
    clock_hz: float
    objectives: tuple[str, ...]
    main_memory: MemorySize
    external_memory: MemorySize | None
    modules: tuple[ModuleEntry, ...]
    settings: dict[str, int | float | bool | str] = {}
    estimated_energy: bool = False
    flash: MemorySize | None = None


class TargetList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The installed targets, and a sentence of `problems` for each that cannot be loaded."""

    targets: tuple[TargetEntry, ...]
    problems: tuple[str, ...]
    schema_version: Literal[1] = SCHEMA_VERSION


def target_list(targets: Sequence[MatchTarget], problems: Sequence[str]) -> TargetList:
    """The list of targets that were found, and of what was wrong with others."""
    return TargetList(tuple(map(_entry, targets)), tuple(problems))


def encode(targets: TargetList) -> bytes:
    """The list as JSON: UTF-8, indented, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(targets), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the list, made from the types."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(TargetList)))


def _entry(target: MatchTarget) -> TargetEntry:
    external = target.external.memory if target.external else None
    return TargetEntry(
        target.name,
        target.clock_hz,
        objectives(target),
        MemorySize(target.main_memory.name, target.main_memory.size),
        external and MemorySize(external.name, external.size),
        tuple(map(_module, target.modules)),
        {name: one.default for name, one in parameters(type(target)).items()},
        target.estimated_energy,
        target.flash and MemorySize(target.flash.name, target.flash.size),
    )


def _module(module: HwModule) -> ModuleEntry:
    rooms = [room for memory in module.memories for room in memory.rooms]
    return ModuleEntry(module.name, tuple(MemorySize(*room) for room in rooms), tuple(operators(module)))
