"""Tensors that lie inside others: the generated C computes what NumPy does, with sanitizers, and no tensors overlap."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match
from match.codegen.network import Network
from match.codegen.steps import lives
from tests.e2e.graphs import Graph, random_graph
from tests.seeds import seeded

pytestmark = pytest.mark.cc

GHOSTNET = Path(__file__).parents[1] / "tflite" / "networks" / "ghostnet.tflite"


def in_place(compiled: match.CompiledModel) -> list[str]:
    """Layers that copy nothing."""
    return [layer.name for layer in compiled.layers if layer.in_place]


def compare(compiled: match.CompiledModel, graph: Graph, outputs: tuple[int, ...]) -> None:
    computed = compiled.run({"x": graph.values[0]}, sanitize=True)
    for tensor, number in zip(compiled.outputs, outputs, strict=True):
        np.testing.assert_array_equal(computed[tensor.name], graph.values[number])


def as_simulated(compiled: match.CompiledModel) -> bool:
    """Whether the C moves what the schedules say, from where and to where they say."""
    layers = [layer for layer in compiled.layers if layer.plan]
    _, traces = compiled.trace()
    return [trace.actions for trace in traces] == [compiled.simulate(layer).actions for layer in layers]


def network_of(compiled: Any) -> Network:
    return compiled._network


def apart(network: Network) -> bool:
    """Whether what is alive at the same time lies apart."""
    for one, two in combinations(lives(network.steps, network.copies), 2):
        first, second = (network.places[life.buffer.name].offset for life in (one, two))
        together = one.stages.first <= two.stages.last and two.stages.first <= one.stages.last
        if together and first < second + two.buffer.bytes and second < first + one.buffer.bytes:
            return False
    return True


def dense_block(layers: int, height: int = 6) -> tuple[Graph, tuple[int, ...]]:
    """Each layer reads all that was computed before it, as in a DenseNet."""
    graph = Graph(height, 5, 8, 0)
    x = graph.largest(0)
    for _ in range(layers):
        x = graph.joined(x, graph.largest(x))
    return graph, (graph.largest(x),)


@seeded(3, 60)
def test_random_graphs(seed: int) -> None:
    graph, outputs = random_graph(seed)
    compiled = match.compile(graph.module(*outputs), "gap9", fuse=False)
    assert apart(network_of(compiled))
    compare(compiled, graph, outputs)


def test_dense_block() -> None:
    """All concatenations of a block are one tensor, in which every layer has its place."""
    graph, outputs = dense_block(3)
    compiled = match.compile(graph.module(*outputs), "gap9", modules=["cluster"], fuse=False)
    assert len(in_place(compiled)) == 3
    largest = max(buffer.bytes for step in network_of(compiled).steps for buffer in step.touched)
    assert largest == graph.values[outputs[0] - 1].nbytes
    assert network_of(compiled).workspace_bytes == largest
    assert as_simulated(compiled)
    compare(compiled, graph, outputs)


def test_slices() -> None:
    """Both halves of a tensor are read where they are."""
    graph = Graph(4, 4, 12, 1)
    x = graph.largest(0)
    first, second = graph.sliced(x, 0, 5), graph.sliced(x, 5, 12)
    outputs = graph.largest(first), graph.largest(second)
    compiled = match.compile(graph.module(*outputs), "gap9", fuse=False)
    assert len(in_place(compiled)) == 2
    compare(compiled, graph, outputs)


def test_copies_where_the_control_core_reads() -> None:
    """A tensor of the network is no part of another, nor is one that is joined with itself."""
    graph = Graph(4, 4, 12, 2)
    x, y = graph.largest(0), graph.largest(graph.largest(0))
    outputs = (graph.joined(x, y), x)
    compiled = match.compile(graph.module(*outputs), "gap9", fuse=False)
    assert not in_place(compiled)
    compare(compiled, graph, outputs)
    graph = Graph(4, 4, 12, 3)
    x = graph.largest(0)
    outputs = (graph.largest(graph.joined(x, x)),)
    compiled = match.compile(graph.module(*outputs), "gap9", fuse=False)
    assert not in_place(compiled)
    compare(compiled, graph, outputs)


def test_external_memory() -> None:
    """Parts and wholes leave main memory together."""
    graph, outputs = dense_block(2, height=40)
    module = graph.module(*outputs)
    whole = network_of(match.compile(module, "gap9", modules=["cluster"], l1=1024)).main_bytes
    compiled = match.compile(module, "gap9", modules=["cluster"], l1=1024, l2=whole - 2000)
    plan = compiled.report.memory
    assert plan
    assert any(tensor.external for tensor in plan.tensors)
    assert in_place(compiled)
    assert as_simulated(compiled)
    compare(compiled, graph, outputs)


def test_main_memory() -> None:
    """Where copies are cheaper and do not fit, tensors lie inside others."""
    whole = match.compile(GHOSTNET, "gap9", fuse=False)
    compiled = match.compile(GHOSTNET, "gap9", l2=network_of(whole).main_bytes - 1, fuse=False)
    assert len(in_place(whole)) < len(in_place(compiled))
    assert network_of(compiled).memory is None
    assert network_of(compiled).workspace_bytes < network_of(whole).workspace_bytes
    assert compiled.cycles > whole.cycles
    expected, computed = whole.run(seed=1), compiled.run(seed=1, sanitize=True)
    for name, tensor in expected.items():
        np.testing.assert_array_equal(computed[name], tensor)


def test_layers_alone() -> None:
    """What a layer writes between the pixels of others is told apart."""
    graph, outputs = dense_block(2)
    compiled = match.compile(graph.module(*outputs), "gap9", fuse=False)
    validation = compiled.validate(samples=1, layers=True)
    assert in_place(compiled)
    assert validation.layers
    assert all(layer.differing == 0 for layer in validation.layers)
