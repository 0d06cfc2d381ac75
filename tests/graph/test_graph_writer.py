"""A graph written as Relay is what was read; what a rewrite made anew computes the graph's numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from match.graph import moves
from match.graph.evaluate import evaluate
from match.graph.moves import Concatenate
from match.graph.rewrite import rewrite
from match.graph.sums import Dense
from match.graph.text import text
from match.graph.value import Graph, Value, computed
from match.relay import relay, tvm
from match.relay.graph_reader import GraphReading, read_graph
from match.relay.graph_writer import write_graph
from match.relay.objects import main_function
from match.relay.rewrite import shape, source_name
from tests import layers_in_relay
from tests.graph.test_operators import drawn, typed
from tests.passes.networks import mixed, requantization, weights
from tests.passes.running import Compiled
from tests.passes.test_passes import calls
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm


def module_of(reading: GraphReading) -> Any:
    return tvm.IRModule.from_expr(reading.main)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_network_of_layers_is_read_again(dtype: str) -> None:
    graph = read_graph(main_function(mixed(5, dtype))).graph
    assert text(read_graph(write_graph(graph).main).graph) == text(graph)


def test_operators_on_other_inputs() -> None:
    """Each reads its input upside down; what two of them share is what Relay knows alone."""
    x = relay.var("x", shape=(1, 6, 6, 8), dtype="uint8")
    padded = relay.nn.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), relay.const(9, "uint8"))
    rng = np.random.default_rng(3)
    first, second = (
        layers_in_relay.conv2d(padded, weights(rng, 3, 3, 8, 4), requantization(rng, 72, 4, (0, 255)), "uint8")
        for _ in range(2)
    )
    parts = relay.topk(relay.cast(x, "float32"), 4, 3, dtype="float32")
    module = typed(relay.Tuple([first, second, relay.add(parts[0], parts[1])]))
    upside_down = (None, np.arange(6, dtype=np.int32)[::-1], None, None)

    def turned(graph: Graph) -> Graph:
        (given,) = graph.inputs
        other = computed(moves.take(given.tensor, upside_down), given)

        def rule(value: Value, original: Value) -> Value:
            return (
                replace(value, inputs=tuple(other if x is given else x for x in original.inputs))
                if given in (original.inputs)
                else value
            )

        return rewrite(graph, rule)

    after = rewritten(module, turned)
    assert [len(calls(after, name)) for name in ("nn.pad", "topk", "reverse")] == [2, 1, 1]
    array = rng.integers(0, 256, (1, 6, 6, 8)).astype(np.uint8)
    expected = Compiled(module)({"x": np.ascontiguousarray(array[:, ::-1])})
    for one, other in zip(Compiled(after)({"x": array}), expected, strict=True):
        assert np.array_equal(one, other)


def test_operators_that_rewrites_make() -> None:
    """Each class that some rewrite makes, in a network of them, computes in TVM what it does in NumPy."""
    rng = np.random.default_rng(2)
    x = relay.var("x", shape=(4, 6), dtype="int8")
    reading = read_graph(main_function(typed(relay.reshape(x, (4, 6)))))
    (given,) = reading.graph.inputs
    dense = Dense(weights=weights(rng, 5, 6), requantization=requantization(rng, 6, 5, (-128, 127)), dtype="int8")
    turned = computed(moves.transpose(given.tensor, (1, 0)), given)
    flat = computed(moves.reshape(turned.tensor, (2, 12)), turned)
    taken = computed(moves.take(flat.tensor, (None, np.array([3, 0, 7], np.int32))), flat)
    joined = computed(Concatenate(axis=1), flat, taken)
    named = replace(computed(dense, given), source="fc", parts=2, exact=False)
    graph = Graph((given,), (joined, named))
    written = write_graph(graph)
    array = drawn(rng, written.main.params[0])
    expected = evaluate(graph, [array])
    for one, other in zip(Compiled(module_of(written))({"x": array}), expected, strict=True):
        assert np.array_equal(one, other)
    (again,) = (value for value in read_graph(written.main).graph.values if isinstance(value.operator, Dense))
    assert not again.exact
    assert [source_name(field) for field in written.main.body.fields] == ["", "fc"]
    assert shape(written.main.body.fields[0]) == (2, 15)
