"""What the benchmark writes, as types; schema.json is made from them."""

from __future__ import annotations

from typing import Any

import msgspec

from benchmarks.energy.objectives import ObjectiveResult
from benchmarks.energy.published import EnergyResult

SCHEMA_VERSION = 1


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Published cells in the order of published.toml, and networks by target, each in all ways."""

    schema_version: int = SCHEMA_VERSION
    published: tuple[EnergyResult, ...]
    objectives: tuple[ObjectiveResult, ...]


def schema() -> dict[str, Any]:
    """JSON Schema of `Results`."""
    return msgspec.json.schema(Results)
