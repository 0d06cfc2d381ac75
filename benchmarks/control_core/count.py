"""Counts operators on the control core both ways, and predicts networks both ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import match
from benchmarks.control_core.results import Network, Operator
from benchmarks.instructions.count import layer_counts
from benchmarks.models import MLPERF_TINY
from match.errors import ToolchainError

CORE = "core"
TARGET = "gap9"
FILES = Path(__file__).resolve().parents[2] / "tests" / "tflite" / "networks"
COUNTED = (
    "keyword_spotting",
    "mobilenet_v2",
    "mobilenet_v3",
    "resnet",
    "shufflenet",
    "squeezenet",
    "super_resolution",
    "vit",
)
"""Small networks in `FILES`, which have all operators among them that the core and TVM's C compute one for one."""


class Layers(NamedTuple):
    """A layer, or layers that are one function: their operator, and both counts."""

    op: str
    kernels: int
    generated: int


def counted(network: str, on: str) -> tuple[Layers, ...]:
    """The layers of a network of `COUNTED` on a platform; what both ways compute as TVM's C is left out.

    Raises:
        ToolchainError: outputs differ, or what runs them is not installed.
    """
    kernels, generated = (
        match.compile(FILES / f"{network}.tflite", TARGET, modules=modules, numerics="exact")
        for modules in ((CORE,), tuple[str, ...]())
    )
    computed, own = kernels.measure(seed=0, on=on)
    expected, other = generated.measure(seed=0, on=on)
    if any(not np.array_equal(computed[name], array) for name, array in expected.items()):
        raise ToolchainError(f"{network} computes something else with {TARGET}'s {CORE} than without.")
    ops = {layer.name: layer.op for layer in kernels.report.layers}
    return tuple(
        Layers("+".join(dict.fromkeys(ops[name] for name in row.layers)), row.instructions, row.tvm_instructions)
        for row in layer_counts(kernels.report.layers, own.layers, other.layers)
        if CORE in row.module.split("+")
    )


def by_operator(cycles: list[Layers], instructions: list[Layers]) -> Iterator[Operator]:
    """The same layers with both counts, summed up by operator; of functions of several operators there are no rows."""
    for op in sorted({layer.op for layer in cycles if "+" not in layer.op}):
        on_rtl, under_qemu = ([layer for layer in layers if layer.op == op] for layers in (cycles, instructions))
        yield Operator(
            op=op,
            layers=len(on_rtl),
            kernels=sum(layer.kernels for layer in on_rtl),
            generated=sum(layer.generated for layer in on_rtl),
            kernel_instructions=sum(layer.kernels for layer in under_qemu),
            generated_instructions=sum(layer.generated for layer in under_qemu),
        )


def predicted(folder: Path) -> Iterator[Network]:
    """MLPerf Tiny's networks: all on the core of GAP9, and on DIANA beside its array."""
    for name, file in MLPERF_TINY.items():
        path = folder / f"{file}.tflite"
        yield _predicted(name, path, "gap9", (), rescale=False)
        for rescale in (False, True):
            yield _predicted(name, path, "diana", ("digital",), rescale=rescale)


def _predicted(name: str, path: Path, target: str, others: tuple[str, ...], *, rescale: bool) -> Network:
    numerics = "hardware" if rescale else "exact"
    kernels, generated = (
        match.predict(path, target, modules=modules, numerics=numerics, rescale=rescale).totals.cycles
        for modules in ((*others, CORE), others)
    )
    return Network(network=name, target=target, rescaled=rescale, kernels=kernels, generated=generated)
