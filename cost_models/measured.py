"""Constants that were measured or fitted: they stand once, in a file that ``python -m benchmarks.rtl --fit`` writes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

FILE = Path(__file__).with_name("pulp_cycles.json")
"""Cycles by the names of fields, for each of the classes that have them: `KernelCycles`, `Int16Cycles`, `Sharing`."""

Numbers = dict[str, dict[str, float]]


@cache
def _numbers() -> Numbers:
    return msgspec.json.decode(FILE.read_bytes(), type=Numbers)


def measured(group: Literal["kernel", "int16", "sharing"]) -> dict[str, float]:
    """The constants of a class."""
    return dict(_numbers()[group])


def written(changes: dict[str, float], group: Literal["kernel", "int16", "sharing"] = "kernel") -> bytes:
    """The file with other values for some constants of a class."""
    numbers = _numbers()
    changed = {**numbers, group: {**numbers[group], **changes}}
    plain = {name: {key: _plain(value) for key, value in values.items()} for name, values in changed.items()}
    return msgspec.json.format(msgspec.json.encode(plain)) + b"\n"


def _plain(value: float) -> float:
    """A whole number without a point."""
    return int(value) if value.is_integer() else value
