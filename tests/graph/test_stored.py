"""A graph as bytes is the graph again: fields, arrays, exactness, and operators that only TVM knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from match.devtools.check.probes import graph_of, probes
from match.graph.evaluate import evaluate
from match.graph.opaque import Opaque
from match.graph.rewrite import rewrite
from match.graph.stored import loaded, stored
from match.graph.text import text
from match.graph.value import Graph, Value
from match.relay import relay, tvm
from match.relay.graph_reader import RelayFunction, read_graph
from match.relay.objects import main_function

pytestmark = pytest.mark.tvm


def read(x: relay.Var, body: relay.Expr) -> Graph:
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    return read_graph(main_function(module)).graph


def test_operators_of_modules() -> None:
    graph = graph_of([*probes("int8")])
    data = stored(graph)
    again = loaded(data, RelayFunction.of)
    assert text(again) == text(graph)
    assert stored(again) == data


def test_operators_without_a_class_and_what_is_known_of_them() -> None:
    x = relay.var("x", shape=(2, 6), dtype="float32")
    parts = relay.topk(relay.exp(x), 3, axis=1, dtype="float32")
    graph = read(x, relay.multiply(relay.tanh(parts[1]), relay.const(np.float32(3))))

    def doubtful(value: Value, original: Value) -> Value:
        return replace(value, exact=original is not graph.outputs[0] and value.exact)

    graph = rewrite(graph, doubtful)
    again = loaded(stored(graph), RelayFunction.of)
    assert [value.exact for value in again.values] == [value.exact for value in graph.values]
    functions = [value.operator.function for value in again.values if isinstance(value.operator, Opaque)]
    assert [one.done.name for one in functions] == ["exp", "topk", "tanh", "multiply"]
    array = np.random.default_rng(1).normal(0, 1, (2, 6)).astype(np.float32)
    (expected,), (found,) = evaluate(graph, [array]), evaluate(again, [array])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found, 3 * np.tanh(np.argsort(-array, axis=1)[:, :3]), rtol=1e-5)
