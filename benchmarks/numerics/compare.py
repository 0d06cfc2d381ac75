"""Runs a network twice on this machine: in its own arithmetic on the control core, and in a chip's on its modules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

import match
from match.plan import CPU


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


def compare(name: str, model: Path | onnx.ModelProto, target: str, count: int, step: float) -> Comparison:
    """A network on a target with ``numerics="hardware"``; `step` is what one step of its output is worth."""
    chip = match.compile(model, target, numerics="hardware")
    exact = match.compile(model, target, modules=[], numerics="exact")
    (given,) = chip.report.model.inputs
    rng = np.random.default_rng(7)
    if given.dtype == "float32":
        samples = rng.uniform(-1, 1, (count, *given.shape)).astype(np.float32)
    else:
        limits = np.iinfo(given.dtype)
        samples = rng.integers(limits.min, limits.max, (count, *given.shape), endpoint=True).astype(given.dtype)
    (outputs,), (wanted,) = (list(compiled.run({given.name: samples}).values()) for compiled in (chip, exact))
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
