"""Recurrent layers as one operator, or as those of their steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import match
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.devtools.check.builds import Build, Builds
from match.graph.value import ordered
from match.partitioning.unrolled import refused_recurrent
from match.relay import GRU, GRU_RESET_FIRST, LSTM, relay, tvm
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.relay.recurrent import read_recurrent, recurrent
from match.relay.unrolled import steps_of
from tests.passes.running import Compiled

pytestmark = pytest.mark.tvm


KINDS = {"lstm": LSTM, "gru": GRU, "gru_reset_first": GRU_RESET_FIRST}


def build(kind: str, features: int, units: int, dtype: str = "uint8") -> Build:
    """A layer."""
    builds = Builds(dtype)
    return builds.lstm(features, units) if kind == "lstm" else builds.gru(features, units, kind == "gru_reset_first")


def network(kind: str, exponent: int | None = None) -> tvm.IRModule:
    """Of one layer; the first gate's sums are scaled by more than that power of two."""
    x = relay.var("x", shape=(3, 1, 7), dtype="uint8")
    layer = typed(x, build(kind, 7, 10)(x))
    if exponent is None:
        return layer
    found = read_recurrent(layer["main"].body)
    assert found is not None
    scales = found.operator.scales.copy()
    scales[0, 1] = exponent
    return typed(x, recurrent(replace(found.operator, scales=scales), x))


def typed(x: relay.Var, body: relay.Expr) -> tvm.IRModule:
    """A network of one input."""
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("exponent", "modules", "whole"),
    [(None, None, True), (None, ["ne16"], False), (3, None, True), (15, None, False)],
)
def test_what_no_module_takes(kind: str, exponent: int | None, modules: list[str] | None, whole: bool) -> None:
    """No pattern, or sums that kernels have no room for once they are scaled."""
    target = match.get_target("gap9", modules=modules)
    graph = read_graph(main_function(network(kind, exponent))).graph
    refused = refused_recurrent(graph, target, Options(), Stopwatch())
    assert list(refused) == ([] if whole else list(graph.outputs))


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_is_kept_with_it(kind: str) -> None:
    """As TVM's text, which knows the operator again."""
    module = network(kind)
    again = tvm.ir.load_json(tvm.ir.save_json(module))
    assert tvm.ir.structural_equal(module, again)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_as_exact_as_the_layer(kind: str) -> None:
    (layer,) = read_graph(main_function(network(kind))).graph.outputs
    layer = replace(layer, exact=False, source="cells", parts=3)
    made = [value for value in ordered([steps_of(layer)]) if value.inputs]
    assert {(value.exact, value.source, value.parts) for value in made} == {(False, "cells", 3)}


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_several_sequences(kind: str) -> None:
    """Side by side they are what they are alone."""
    layer = build(kind, 4, 6)
    inputs = [relay.var("x", shape=(4, batch, 4), dtype="uint8") for batch in (1, 2)]
    alone, together = (Compiled(typed(x, layer(x))) for x in inputs)
    x = np.random.default_rng(1).integers(0, 256, (4, 2, 4), np.uint8)
    (both,) = together({"x": x})
    for sequence in range(2):
        (one,) = alone({"x": x[:, sequence : sequence + 1]})
        assert np.array_equal(one[:, 0], both[:, sequence])
    assert len(np.unique(both)) > 5


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_has_the_integers_of_the_steps(kind: str) -> None:
    """By which the compiler measures how far a layer that it quantized is off."""
    x = relay.var("x", shape=(6, 3, 5), dtype="int8")
    layer = typed(x, build(kind, 5, 9, "int8")(x))
    found = read_recurrent(layer["main"].body)
    assert found is not None
    levels = np.random.default_rng(2).integers(-128, 128, (6, 3, 5))
    (given,) = Compiled(layer)({"x": levels.astype(np.int8)})
    assert np.array_equal(given, found.operator.states(levels))
    assert len(np.unique(given)) > 20
