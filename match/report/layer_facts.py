"""What sentences about layers of a report say of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from match.dispatch.plan import CPU
from match.report.schema import LayerSummary, Report


def is_floating(layer: LayerSummary) -> bool:
    """Whether the control core computes it in floating point."""
    return layer.floating and layer.module == CPU


def of_control_core(report: Report) -> frozenset[str]:
    """What stands for the control core as the module of a layer: TVM's C, and its kernels beside other modules."""
    alone = not any(module.memories for module in report.target.modules)
    return frozenset({CPU, *(module.name for module in report.target.modules if not module.memories and not alone)})


def unmapped(layer: LayerSummary, module: str, core: Container[str]) -> bool:
    """Whether it is on the control core (`of_control_core`) since no mapping fits the module's memories."""
    return layer.module in core and any(offer.module == module and offer.unmapped for offer in layer.candidates)


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
