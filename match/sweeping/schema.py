"""The result of a sweep as types; the fields are explained in docs/sweep.md."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from match.report.schema import EnlargedMemory

SCHEMA_VERSION = 1

Value = int | float | bool | str | None


class Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is predicted of a point.

    `l1_bytes` is the largest scratchpad of its modules, and `l1_used_bytes` the most that a layer takes of one.
    `main_bytes` is the most that main memory holds at once, estimated. `energy_pj` is null where the target gives no
    energy of some layer. `inexact_layers` are those that do not compute the network's own numbers, and `moved` is the
    share of the outputs' elements that this moves in random samples. `module_cycles` are the cycles of each module that
    executes layers, the control core's as "cpu".
    """

    cycles: int
    milliseconds: float
    energy_pj: float | None
    l1_bytes: int
    l1_used_bytes: int
    main_bytes: int
    bytes_moved: int
    inexact_layers: int
    moved: float
    module_cycles: dict[str, int]


class PointResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A point: the network, each value that was set, and its figures, or why there are none.

    `best` tells whether no other point of the network is as good in cycles, energy, bytes of L1 and exactness, and
    better in one of them. `enlarged` are memories that it has more bytes of than the chip: it is hypothetical.
    """

    model: str
    values: dict[str, Value]
    figures: Figures | None
    refusal: str | None = None
    best: bool = False
    enlarged: tuple[EnlargedMemory, ...] = ()


class SweepResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole sweep: the points in the order of the values as they were given, the last name changing first.

    `estimated_energy` tells that the target's energies are estimates.
    """

    generator: str
    target: str
    axes: dict[str, tuple[Value, ...]]
    points: tuple[PointResult, ...]
    estimated_energy: bool = False
    schema_version: Literal[1] = SCHEMA_VERSION


def encode(result: SweepResult) -> bytes:
    """The result as JSON: UTF-8, indented, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the result, made from the types."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(SweepResult)))
