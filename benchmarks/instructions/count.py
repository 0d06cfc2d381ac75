"""Counts what each layer of a network costs on one core: as kernels of the cluster, and as TVM's own C."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import match
from benchmarks.instructions.results import LayerCount, NetworkCount
from match.errors import ToolchainError
from match.report.schema import LayerSummary, MeasuredLayers

MODULE = "cluster"


def count(model: Path, target: str, platform: str, seed: int, flags: str) -> NetworkCount:
    """One inference of a network with the cluster and without any module, by the same compiler with the same flags.

    Raises:
        MatchError: if the network cannot be compiled, or the tools of the platform are missing.
    """
    ours, theirs = (
        match.compile(model, target, modules=modules, numerics="exact", fuse=False)
        for modules in ((MODULE,), tuple[str, ...]())
    )
    rng = np.random.default_rng(seed)
    inputs = {
        tensor.name: rng.integers(-128, 128, tensor.shape).astype(tensor.dtype) for tensor in ours.report.model.inputs
    }
    computed, measured = ours.measure(inputs, on=platform, flags=flags)
    expected, baseline = theirs.measure(inputs, on=platform, flags=flags)
    if any(not np.array_equal(computed[name], array) for name, array in expected.items()):
        raise ToolchainError(f"{model} computes something else with {target}'s {MODULE} than without.")
    return NetworkCount(
        network=model.stem,
        layers=layer_counts(ours.report.layers, measured.layers, baseline.layers),
        instructions=measured.total,
        tvm_instructions=baseline.total,
        command=measured.command,
    )


def layer_counts(
    layers: Sequence[LayerSummary], measured: Sequence[MeasuredLayers], baseline: Sequence[MeasuredLayers]
) -> tuple[LayerCount, ...]:
    """Both counts for every layer, or for several where one of the two computes them in one function."""
    rows = [LayerCount(group.layers, "", 0, 0, group.count) for group in baseline]
    for group in measured:
        joined = [row for row in rows if set(row.layers) & set(group.layers)]
        first = joined[0]
        merged = LayerCount(
            tuple(dict.fromkeys(name for row in joined for name in row.layers)),
            "",
            0,
            sum(row.instructions for row in joined) + group.count,
            sum(row.tvm_instructions for row in joined),
        )
        rows = [merged if row is first else row for row in rows if row is first or row not in joined]
    by_name = {layer.name: layer for layer in layers}
    return tuple(
        LayerCount(
            row.layers,
            "+".join(dict.fromkeys(by_name[name].module for name in row.layers)),
            sum(by_name[name].macs for name in row.layers),
            row.instructions,
            row.tvm_instructions,
        )
        for row in rows
    )
