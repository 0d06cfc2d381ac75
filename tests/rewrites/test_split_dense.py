"""Dense layers in parts: the same values, and no part with more weights than a part may have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from match.graph.evaluate import evaluate
from match.graph.sums import Dense
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.ir.requantization import Requantization
from match.partitioning.pattern import Match
from match.relay import integer_form, relay, tvm
from match.relay.graph import post_order
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.relay.places import parts_of, placed
from match.relay.rewrite import source_name
from match.rewrites.concatenations import in_pairs
from match.rewrites.split_dense import split_dense
from match.target.registry import get_target
from tests import layers_in_relay
from tests.layers_of import find
from tests.passes.running import executable
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm

MOST = 65536


def dense(rows: int, outputs: int, inputs: int, *, requantized: bool = True) -> tvm.IRModule:
    """A dense layer whose channels differ in all parameters."""
    rng = np.random.default_rng(outputs)
    x = relay.var("x", shape=(rows, inputs), dtype="uint8")
    weights = rng.integers(-127, 128, (outputs, inputs)).astype(np.int8)
    multiplier, shift = rng.integers(1 << 16, 1 << 18, outputs), rng.integers(28, 31, outputs)
    bias = rng.integers(1 << 34, 1 << 36, outputs)
    line = Requantization(multiplier, bias, shift, (0, 255))
    body = layers_in_relay.dense(x, weights, line, "uint8") if requantized else integer_form.product(x, weights)
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


def layers(module: tvm.IRModule) -> list[Match]:
    return [row for row in find(module) if isinstance(row, Match) and row.layer.op is Op.DENSE]


@pytest.mark.parametrize("requantized", [True, False])
def test_parts_compute_what_the_layer_does(*, requantized: bool) -> None:
    module = dense(1, 401, 500, requantized=requantized)
    parts = rewritten(module, split_dense)
    values = {"x": np.random.default_rng(1).integers(0, 256, (1, 500)).astype(np.uint8)}
    expected = executable(module)(values)[0]
    assert len(np.unique(expected)) > 50
    assert np.array_equal(executable(parts)(values)[0], expected)
    found = layers(parts)
    assert sum(row.layer.k for row in found) == 401
    assert max(row.layer.k * 500 for row in found) <= MOST
    assert len(found) == -(-401 * 500 // MOST), "no more parts than that takes"


def test_parts_have_their_exceptions() -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(-127, 128, (401, 500)).astype(np.int8)
    x = rng.integers(0, 256, (1, 500)).astype(np.uint8)
    sums = x.astype(np.int64) @ weights.T
    line = Requantization(np.ones(401, np.int64), np.full(401, 1 << 21), np.full(401, 14), (0, 255), exceptions=sums.T)
    value = Value(Tensor(x.shape, "uint8"), source="x")
    before = Graph((value,), (computed(Dense(weights=weights, requantization=line, dtype="uint8"), value),))
    (expected,), (found,) = evaluate(before, [x]), evaluate(split_dense(before), [x])
    assert np.array_equal(found, expected)
    assert np.any(expected != replace(line, exceptions=None)(sums))


def test_parts_and_what_joins_them_know_how_many_there_are() -> None:
    module = dense(1, 401, 500)
    main = main_function(module)
    body = placed(main.body, relay.Span(relay.SourceName("scores"), 0, 0, 0, 0))
    named = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))
    for rewrite in (split_dense, lambda graph: in_pairs(split_dense(graph), get_target("gap9"))):
        made = rewritten(named, rewrite)
        calls = [call for call in post_order(main_function(made)) if isinstance(call, relay.Call)]
        assert {(source_name(call), parts_of(call)) for call in calls} == {("scores", 4)}
    assert parts_of(main_function(named).body) == 1


@pytest.mark.parametrize(("rows", "outputs", "inputs"), [(1, 128, 512), (2, 400, 500)])
def test_layers_with_few_weights_and_those_on_several_rows_stay(rows: int, outputs: int, inputs: int) -> None:
    module = dense(rows, outputs, inputs)
    graph = read_graph(main_function(module)).graph
    assert split_dense(graph) is graph
