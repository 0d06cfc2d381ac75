"""Networks that take less main memory: by another order of execution, and by objective "ram"."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match
from match.partitioning import partitioner
from tests.e2e.graphs import Graph

pytestmark = pytest.mark.cc

GHOSTNET = Path(__file__).parents[1] / "tflite" / "networks" / "ghostnet.tflite"


def network_of(compiled: Any) -> Any:
    return compiled._network


def branches() -> tuple[Graph, int]:
    """A branch that ends in many channels and, behind it, one that has many channels and ends in few."""
    graph = Graph(6, 5, 8, 0)
    many = graph.largest(0)
    for _ in range(2):
        many = graph.largest(graph.joined(many, many))
    wide = graph.largest(graph.largest(0))
    for _ in range(3):
        wide = graph.largest(graph.joined(wide, wide))
    few = graph.sliced(graph.largest(wide), 0, 4)
    return graph, graph.joined(many, graph.largest(few))


@pytest.mark.parametrize("target", ["gap9", "cortex_m4"])
def test_the_branch_with_the_larger_tensors_is_first(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, output = branches()
    compiled = match.compile(graph.module(output), target, fuse=False)
    monkeypatch.setattr(partitioner, "with_least_peak", lambda steps: steps)
    written = match.compile(graph.module(output), target, fuse=False)
    assert sorted(layer.name for layer in compiled.layers) == sorted(layer.name for layer in written.layers)
    assert network_of(compiled).workspace_bytes < network_of(written).workspace_bytes
    assert compiled.report.totals.cycles == written.report.totals.cycles
    for one in (compiled, written):
        (computed,) = one.run({"x": graph.values[0]}, sanitize=True).values()
        np.testing.assert_array_equal(computed, graph.values[output])


def test_constants_in_flash_are_no_main_memory() -> None:
    """No cycles are given for fewer constants."""
    fastest = match.compile(GHOSTNET, "cortex_m4")
    least = match.compile(GHOSTNET, "cortex_m4", objective="ram")
    assert least.report.totals.l2_peak_bytes == fastest.report.totals.l2_peak_bytes
    assert least.report.totals.cycles == fastest.report.totals.cycles


def test_less_main_memory_for_some_cycles() -> None:
    """A prediction takes a way within its bound, too."""
    fastest = match.compile(GHOSTNET, "gap9", fuse=False)
    least = match.compile(GHOSTNET, "gap9", fuse=False, objective="ram", at_most="latency=2x")
    assert network_of(least).main_bytes < network_of(fastest).main_bytes
    assert fastest.cycles < least.cycles < 2 * fastest.cycles
    assert least.report.options.at_most == "latency=2x"
    bound = match.predict(GHOSTNET, "gap9", fuse=False, objective="ram", at_most="latency=1x")
    assert bound.totals.cycles == fastest.report.totals.cycles
    assert least.report.totals.l2_peak_bytes < bound.totals.l2_peak_bytes <= fastest.report.totals.l2_peak_bytes
    for (name, tensor), other in zip(
        fastest.run(seed=1).items(), least.run(seed=1, sanitize=True).values(), strict=True
    ):
        np.testing.assert_array_equal(other, tensor, name)
