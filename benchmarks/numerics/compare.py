"""Runs a network on this machine in a chip's arithmetic, on its modules, and holds it against the network's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import match
from benchmarks.numerics.powers_of_two import Made
from match.dispatch.plan import CPU


@dataclass(frozen=True)
class Comparison:
    """Outputs of `inputs` random inputs: how many differ, and by how many steps of the output at most.

    `layers` are those with weights or additions, `on_modules` how many of them modules took, `inexact` in how many of
    these the requantization is not proven equal. `agreeing`: inputs whose largest output is the same one.
    """

    network: str
    layers: int
    on_modules: int
    inexact: int
    inputs: int
    outputs: int
    differing: int
    largest_step: int
    agreeing: int


def compare_file(path: Path, target: str, count: int) -> Comparison:
    """A network on a target with ``numerics="hardware"`` beside what the control core computes exactly."""
    exact = match.compile(path, target, modules=[], numerics="exact")

    def own(samples: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return next(iter(exact.run({exact.report.model.inputs[0].name: samples}).values()))

    return _compare(path.name, match.compile(path, target, numerics="hardware"), count, 1.0, own)


def compare_made(made: Made, target: str, count: int) -> Comparison:
    """The same for a network that is computed by its definition."""
    chip = match.compile(made.proto(), target, numerics="hardware")
    return _compare(f"{made.network.name}, powers of two", chip, count, made.step, made.outputs)


def _compare(
    name: str,
    chip: match.CompiledModel,
    count: int,
    step: float,
    own: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
) -> Comparison:
    (given,) = chip.report.model.inputs
    rng = np.random.default_rng(7)
    if given.dtype == "float32":
        samples = rng.uniform(-1, 1, (count, *given.shape)).astype(np.float32)
    else:
        limits = np.iinfo(given.dtype)
        samples = rng.integers(limits.min, limits.max, (count, *given.shape), endpoint=True).astype(given.dtype)
    (outputs,) = chip.run({given.name: samples}).values()
    wanted = own(samples)
    distance = np.abs(outputs.astype(np.float64) - wanted) / step
    ordinary = [layer for layer in chip.layers if layer.macs or layer.op == "add"]
    return Comparison(
        network=name,
        layers=len(ordinary),
        on_modules=sum(layer.module != CPU for layer in ordinary),
        inexact=chip.report.totals.inexact_layers,
        inputs=count,
        outputs=outputs.size,
        differing=int(np.count_nonzero(distance)),
        largest_step=round(float(distance.max())),
        agreeing=int(np.sum(outputs.reshape(count, -1).argmax(axis=1) == wanted.reshape(count, -1).argmax(axis=1))),
    )
