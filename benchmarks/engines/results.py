"""What the benchmark writes, as types; ``results.schema.json`` beside it is the JSON Schema made from them."""

from __future__ import annotations

from typing import Any

import msgspec


class LayerSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One search: a layer on one of the modules that take it; layers that only differ in name and values share one.

    layer: the first of those. cycles: predicted, of the mapping found; null if none was. moved_bytes: between memories.
    seconds: of CPU time.
    """

    layer: str
    module: str
    cycles: float | None
    moved_bytes: int | None
    seconds: float


class Measurement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One network at one size of L1 with one engine.

    l1: bytes of L1, null for the target's own. cycles: predicted, the sum over layers of the cheapest module among
    those that have a mapping, or of the control core where none has. moved_bytes: between memories, of those mappings.
    seconds: of CPU time in the searches, each distinct layer once for each module. unmapped: layers that some module
    takes and for which the engine finds a mapping on none. searches: one by one, in the order of the layers.
    """

    network: str
    l1: int | None
    engine: str
    cycles: float
    moved_bytes: int
    seconds: float
    layers: int
    unmapped: tuple[str, ...]
    searches: tuple[LayerSearch, ...]


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first engine beside another, over all searches in which at least one of the two found a mapping.

    fewer, equal: searches in which the first one's mapping takes fewer predicted cycles, or as many. only: those in
    which the other one found none. behind: those in which it is the other way round, as sentences.
    """

    engine: str
    other: str
    searches: int
    fewer: int
    equal: int
    only: int
    behind: tuple[str, ...]


class Results(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run of the benchmark: the chip, those of its modules that were used, what was measured, and how it compares.

    shapes: whether layers were mapped by their shapes alone, whatever their scales and zero points.
    """

    target: str
    modules: tuple[str, ...]
    shapes: bool
    measurements: tuple[Measurement, ...]
    comparisons: tuple[Comparison, ...]


def encode(results: Results) -> bytes:
    """Results as JSON: UTF-8, indented, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of what `encode` writes."""
    return msgspec.json.schema(Results)
