"""What was counted on a platform beside what was predicted for it."""

from __future__ import annotations

from dataclasses import dataclass

from match.report.schema import Measurement, Report


@dataclass(frozen=True)
class Beside:
    """Layers, by their places, that were counted together: their count, and cycles that were predicted for it.

    `predicted` is None where the count is not one of cycles, or nothing was predicted for the platform.
    """

    places: tuple[int, ...]
    functions: tuple[str, ...]
    predicted: int | None
    counted: int


def beside(report: Report, measurement: Measurement) -> tuple[Beside, ...]:
    """All that was counted, in the order of execution.

    A platform that is less than the chip has predictions of its own; what counts cycles and has none is the chip.
    """
    places = {layer.name: place for place, layer in enumerate(report.layers)}
    name = measurement.platform
    less = any(name in layer.platform_cycles for layer in report.layers)
    found: list[Beside] = []
    for group in measurement.layers:
        own = tuple(places[layer] for layer in group.layers if layer in places)
        layers = [report.layers[place] for place in own]
        predicted = None
        if less and all(name in layer.platform_cycles for layer in layers):
            predicted = sum(layer.platform_cycles[name] for layer in layers)
        elif not less and measurement.unit == "cycles":
            predicted = sum(layer.cycles for layer in layers)
        found.append(Beside(own, group.functions, predicted, group.count))
    return tuple(found)
