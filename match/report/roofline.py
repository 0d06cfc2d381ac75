"""What layers reach of what their modules and the DMA can do at most."""

from __future__ import annotations

from dataclasses import dataclass

from match.dispatch.plan import CPU
from match.report.layer_rows import bytes_moved
from match.report.schema import LayerSummary, Report
from match.report.shares import shares


@dataclass(frozen=True)
class Reached:
    """A layer by its place: MACs for each byte that it moves, and MACs in a cycle of all that it takes.

    `operator` is the place of one of its operators, whose own kernel call the cycles are; None for all of the layer.
    """

    place: int
    intensity: float
    macs_per_cycle: float
    operator: int | None = None


@dataclass(frozen=True)
class Roofline:
    """A module, the MACs that it can do in a cycle at most, the fastest transfers in bytes a cycle, and its layers.

    `peak` is None where the target does not say, `rate` where nothing moves. `operators` are those of groups, at the
    intensity of their group, as its transfers are theirs together.
    """

    module: str
    peak: int | None
    rate: float | None
    layers: tuple[Reached, ...]
    operators: tuple[Reached, ...] = ()


def rooflines(report: Report) -> tuple[Roofline, ...]:
    """One for each module that has layers with multiply-accumulates, in the order of the target's modules."""
    found: list[Roofline] = []
    for module in (one for one in report.target.modules if one.name != CPU):
        own = [(place, one) for place, one in enumerate(report.layers) if module.name in _modules(one)]
        rates = [bytes_moved(one) / one.dma_cycles for _, one in own if one.dma_cycles]
        reached = [
            Reached(place, one.macs / moved, one.macs / one.cycles)
            for place, one in own
            if one.macs and one.cycles and (moved := bytes_moved(one))
        ]
        layers = tuple(one for one in reached if len(_modules(report.layers[one.place])) == 1)
        operators = tuple(
            Reached(one.place, one.intensity, operator.macs / operator.cycles, number)
            for one in reached
            for number, operator in enumerate(report.layers[one.place].operators)
            if operator.macs and operator.cycles and operator.module in ("", module.name)
        )
        if layers or operators:
            found.append(Roofline(module.name, module.peak_macs, max(rates, default=None), layers, operators))
    return tuple(found)


def _modules(layer: LayerSummary) -> tuple[str, ...]:
    """The modules that execute a layer."""
    return tuple(share.module for share in shares(layer))
