"""Predicted cycles over the size of L1, one panel for each network, one line for each engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.engines.results import Measurement
from benchmarks.engines.table import size_label
from match.errors import OutputError


def plot(measurements: Sequence[Measurement], path: Path) -> None:
    """Write an SVG, PNG or PDF, as the suffix says; a cross marks a point where some layers have no mapping.

    Raises:
        OutputError: if the file cannot be written.
    """
    from matplotlib.figure import Figure

    networks = list(dict.fromkeys(one.network for one in measurements))
    engines = list(dict.fromkeys(one.engine for one in measurements))
    sizes = sorted({one.l1 for one in measurements}, key=lambda size: (size is None, size))
    figure: Any = Figure(figsize=(4 * len(networks), 3.2), layout="constrained")
    for panel, network in zip(figure.subplots(1, len(networks), squeeze=False)[0], networks, strict=True):
        for engine in engines:
            points = {one.l1: one for one in measurements if (one.network, one.engine) == (network, engine)}
            places = [place for place, size in enumerate(sizes) if size in points]
            cycles = [points[sizes[place]].cycles for place in places]
            (line,) = panel.plot(places, cycles, marker=".", label=engine)
            refused = [place for place in places if points[sizes[place]].unmapped]
            panel.plot(
                refused, [points[sizes[place]].cycles for place in refused], "x", markersize=9, color=line.get_color()
            )
        panel.set_xticks(range(len(sizes)), [size_label(size) for size in sizes])
        panel.set_yscale("log")
        panel.set_title(network)
        panel.set_xlabel("L1")
    figure.axes[0].set_ylabel("predicted cycles")
    figure.axes[0].legend()
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write the plot {path}: {error}; check the folder and the suffix.") from error
