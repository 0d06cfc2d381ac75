"""What sentences about layers of a report say of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from match.dispatch.plan import CPU
from match.report.schema import LayerSummary


def is_floating(layer: LayerSummary) -> bool:
    """Whether the control core computes it in floating point."""
    return layer.floating and layer.module == CPU


def unmapped(layer: LayerSummary, module: str) -> bool:
    """Whether it is on the control core since no mapping fits the module's memories."""
    return layer.module == CPU and any(offer.module == module and offer.unmapped for offer in layer.candidates)


def cycles_of(layers: Iterable[LayerSummary]) -> int:
    """Their predicted cycles together."""
    return sum(layer.cycles for layer in layers)


def names_of(layers: Iterable[LayerSummary]) -> tuple[str, ...]:
    """Their names."""
    return tuple(layer.name for layer in layers)


def listed(layers: Sequence[LayerSummary]) -> str:
    """The first names, and how many more."""
    first = ", ".join(names_of(layers)[:3])
    return first if len(layers) <= 3 else f"{first} and {len(layers) - 3} more"
