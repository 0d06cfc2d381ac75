"""Chains in networks: every occurrence of every pattern, against what the network's graph says of its tensors."""

from __future__ import annotations

from itertools import product

import pytest

import match
from match.partitioning.chains import find_chains
from match.partitioning.graph import read_graph
from match.partitioning.pattern import Match, find
from match.partitioning.pattern.rows import rows
from match.passes.pipeline import integer_relay
from match.target.registry import get_target
from tests.devtools.zoo.reference import small

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("network", ["mobilenet_v2", "resnet8"])
def test_every_occurrence_is_found(network: str) -> None:
    """Overlapping ones too, and none whose inner tensors have other readers."""
    target = get_target("gap8")
    module = integer_relay(match.load(small(network, "uint8")), target.activations)
    main = module["main"]
    listed = rows(main, find(module))
    layers = {place: row for place, row in enumerate(listed) if isinstance(row, Match)}
    reading = read_graph(main, listed)
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
    found = find_chains(main, layers, target)
    assert len(expected) >= 5
    assert sorted(chain.rows for chain in found) == sorted(expected)
    inner = [reading.operators[row][0] for chain in found for row in chain.rows[:-1]]
    assert not {tensor for place in inner for tensor in graph.operators[place].writes} & {*graph.outputs}
    for chain in found:
        assert chain.whole.layer.macs == sum(stage.layer.macs for stage in chain.stages)
        assert chain.whole.root == layers[chain.rows[-1]].root
