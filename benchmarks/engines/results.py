"""What the benchmark writes, as types; ``results.schema.json`` beside it is the JSON Schema made from them."""

from __future__ import annotations

from typing import Any

import msgspec


class Measurement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One network at one size of L1 with one engine.

    l1: bytes of L1, null for the target's own. cycles: predicted, the sum over layers of the cheapest module among
    those that have a mapping, or of the control core where none has. moved_bytes: between memories, of those mappings.
    seconds: of CPU time in the searches, each distinct layer once for each module. unmapped: layers that some module
    takes and for which the engine finds a mapping on none.
    """

    network: str
    l1: int | None
    engine: str
    cycles: float
    moved_bytes: int
    seconds: float
    layers: int
    unmapped: tuple[str, ...]


class Results(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run of the benchmark: the chip, those of its modules that were used, and what was measured."""

    target: str
    modules: tuple[str, ...]
    measurements: tuple[Measurement, ...]


def encode(results: Results) -> bytes:
    """Results as JSON: UTF-8, indented, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of what `encode` writes."""
    return msgspec.json.schema(Results)
