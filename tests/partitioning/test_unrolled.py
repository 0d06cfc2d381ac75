"""Recurrent layers as one operator, or as those of their steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import match
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.devtools.check.builds import Build, Builds
from match.graph.recurrent import Recurrent
from match.graph.value import Value, ordered
from match.partitioning.unrolled import refused_recurrent
from match.relay.unrolled import steps_of
from tests.made import given, graph
from tests.passes.running import Compiled

pytestmark = pytest.mark.tvm


KINDS = "lstm", "gru", "gru_reset_first"


def build(kind: str, features: int, units: int, dtype: str = "uint8") -> Build:
    """A layer."""
    builds = Builds(dtype)
    return builds.lstm(features, units) if kind == "lstm" else builds.gru(features, units, kind == "gru_reset_first")


def layer_of(kind: str, exponent: int | None = None) -> Value:
    """A layer; the first gate's sums are scaled by more than that power of two."""
    layer = build(kind, 7, 10)(given("x", 3, 1, 7))
    if exponent is None:
        return layer
    assert isinstance(layer.operator, Recurrent)
    scales = layer.operator.scales.copy()
    scales[0, 1] = exponent
    return replace(layer, operator=replace(layer.operator, scales=scales))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("exponent", "modules", "whole"),
    [(None, None, True), (None, ["ne16"], False), (3, None, True), (15, None, False)],
)
def test_what_no_module_takes(kind: str, exponent: int | None, modules: list[str] | None, whole: bool) -> None:
    """No pattern, or sums that kernels have no room for once they are scaled."""
    target = match.get_target("gap9", modules=modules)
    network = graph(layer_of(kind, exponent))
    refused = refused_recurrent(network, target, Options(), Stopwatch())
    assert list(refused) == ([] if whole else list(network.outputs))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("modules", "whole"), [(None, True), (["digital"], False)])
def test_what_modules_of_a_mixed_chip_take_as_uint8(kind: str, modules: list[str] | None, whole: bool) -> None:
    """The core of DIANA reads uint8, and the network is of int8 for its array."""
    network = graph(build(kind, 7, 10, "int8")(given("x", 3, 1, 7, dtype="int8")))
    refused = refused_recurrent(network, match.get_target("diana", modules=modules), Options(), Stopwatch())
    assert list(refused) == ([] if whole else list(network.outputs))


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_as_exact_as_the_layer(kind: str) -> None:
    layer = replace(layer_of(kind), exact=False, source="cells", parts=3)
    made = [value for value in ordered([steps_of(layer)]) if value.inputs]
    assert {(value.exact, value.source, value.parts) for value in made} == {(False, "cells", 3)}


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_several_sequences(kind: str) -> None:
    """Side by side they are what they are alone."""
    layer = build(kind, 4, 6)
    alone, together = (Compiled(graph(layer(given("x", 4, batch, 4)))) for batch in (1, 2))
    x = np.random.default_rng(1).integers(0, 256, (4, 2, 4), np.uint8)
    (both,) = together({"x": x})
    for sequence in range(2):
        (one,) = alone({"x": x[:, sequence : sequence + 1]})
        assert np.array_equal(one[:, 0], both[:, sequence])
    assert len(np.unique(both)) > 5


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_has_the_integers_of_the_steps(kind: str) -> None:
    """By which the compiler measures how far a layer that it quantized is off."""
    layer = build(kind, 5, 9, "int8")(given("x", 6, 3, 5, dtype="int8"))
    assert isinstance(layer.operator, Recurrent)
    levels = np.random.default_rng(2).integers(-128, 128, (6, 3, 5))
    (states,) = Compiled(graph(layer))({"x": levels.astype(np.int8)})
    assert np.array_equal(states, layer.operator.states(levels))
    assert len(np.unique(states)) > 20
