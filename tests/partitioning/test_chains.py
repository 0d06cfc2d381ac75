"""Chains in networks: every occurrence of every pattern, against what the network's graph says of its tensors."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import match
from match.ir.layer import Op
from match.partitioning.chains import find_chains
from match.partitioning.graph import listed_graph
from match.partitioning.pattern import Match, find_layers
from match.partitioning.pattern.rows import rows
from match.passes.pipeline import integer_network
from match.relay import integer_form, relay, tvm
from match.target.registry import get_target
from tests.devtools.zoo.reference import small
from tests.dispatch.test_partition import conv
from tests.layers_of import graph_of

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("network", ["ds_cnn", "resnet8", pytest.param("mobilenet_v2", marks=pytest.mark.sweep)])
def test_every_occurrence_is_found(network: str) -> None:
    """Overlapping ones too, and none whose inner tensors have other readers."""
    target = get_target("gap8")
    network_graph = integer_network(match.load(small(network, "uint8")), target.activations)
    listed = rows(network_graph, find_layers(network_graph))
    layers = {place: row for place, row in enumerate(listed) if isinstance(row, Match)}
    reading = listed_graph(network_graph, listed)
    graph = reading.graph
    readers = {
        tensor: [place for place, operator in enumerate(graph.operators) if tensor in operator.reads]
        for tensor in range(len(graph.tensors))
    }

    def follows(before: int, after: int) -> bool:
        """Whether `after` reads what `before` writes, and nothing else does."""
        return any(readers[tensor] == [after] for tensor in graph.operators[before].writes)

    assert all(len(places) == 1 for places in reading.operators)
    wanted = {pattern.ops for pattern in target.modules[0].patterns() if pattern.before}
    expected: set[tuple[int, ...]] = set()
    for ops in wanted:
        paths = [(place,) for place in layers if layers[place].layer.op is ops[0]]
        for op in ops[1:]:
            paths = [
                (*path, after)
                for path, after in product(paths, layers)
                if layers[after].layer.op is op and follows(path[-1], after)
            ]
        expected |= set(paths)
    found = find_chains(network_graph, layers, target)
    assert len(expected) >= 5
    assert sorted(chain.rows for chain in found) == sorted(expected)
    inner = [reading.operators[row][0] for chain in found for row in chain.rows[:-1]]
    assert not {tensor for place in inner for tensor in graph.operators[place].writes} & {*graph.outputs}
    for chain in found:
        assert chain.whole.layer.macs == sum(stage.layer.macs for stage in chain.stages)
        assert chain.whole.root == layers[chain.rows[-1]].root


@pytest.mark.parametrize("one_pixel", [False, True])
def test_additions_of_one_pixel_are_in_no_chain(one_pixel: bool) -> None:
    """What is added to each pixel is no map that a stripe could have a part of."""
    x = relay.var("x", shape=(1, 6, 6, 8), dtype="uint8")
    shape = (1, 1, 1, 8) if one_pixel else (1, 6, 6, 8)
    values = np.arange(math.prod(shape), dtype=np.uint8).reshape(shape)
    total = integer_form.add(conv(x, 8, 8), relay.const(values), (1, 1), 0, 1, (0, 255), "uint8")
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], total)))
    network_graph = graph_of(module)
    layers = {place: row for place, row in enumerate(find_layers(network_graph)) if isinstance(row, Match)}
    assert [match.layer.op for match in layers.values()] == [Op.CONV2D, Op.ADD]
    assert len(find_chains(network_graph, layers, get_target("gap8"))) == (0 if one_pixel else 1)
