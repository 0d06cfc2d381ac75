"""Softmax over rows on the cluster: in tiles and whole, what TVM's C computes and the trace that was predicted."""

from __future__ import annotations

import numpy as np
import pytest

import match
from match.arithmetic.tflite_functions import exponentials
from match.graph.rows import ProbabilityScale, Softmax
from match.graph.value import computed
from tests.made import given
from tests.made_models import model
from tests.sampled import in_turn

pytestmark = pytest.mark.cc

EXPONENTIALS = exponentials(np.float32(0.07), np.float32(1))

SHAPES: list[tuple[tuple[int, ...], int | None]] = [((1, 9, 14, 33), None), ((1, 60, 40), 4096), ((3, 20, 7), 3000)]
TYPES: list[tuple[tuple[str, str], int, ProbabilityScale | None]] = [
    (("uint8", "uint8"), 0, None),
    (("uint8", "int8"), -128, None),
    (("uint8", "uint8"), 3, ProbabilityScale.of(700)),
]


@pytest.mark.parametrize(("shape", "l1", "dtypes", "zero", "scale"), in_turn(SHAPES, TYPES))
def test_rows_are_a_layer_of_the_cluster(
    shape: tuple[int, ...], l1: int | None, dtypes: tuple[str, str], zero: int, scale: ProbabilityScale | None
) -> None:
    """What the reference computes in floating point is said not to be its numbers, wherever it runs."""
    softmax = Softmax(exponentials=EXPONENTIALS, zero=zero, scale=scale, dtype=dtypes[1])
    network = model(computed(softmax, given("x", *shape, dtype=dtypes[0]), exact=scale is None))
    compiled = match.compile(network, "gap9", l1=l1, fuse=False)
    layers = [layer for layer in compiled.layers if layer.op == "softmax"]
    (layer,) = layers
    assert layer.module == "cluster"
    limits = np.iinfo(dtypes[0])
    values = {"x": np.random.default_rng(1).integers(limits.min, limits.max, shape, dtypes[0], endpoint=True)}
    outputs, traces = compiled.trace(values, sanitize=True)
    (made,) = outputs.values()
    alone = match.compile(network, "gap9", modules=[])
    (expected,) = alone.run(values).values()
    assert np.array_equal(made, expected)
    assert compiled.report.totals.inexact_layers == alone.report.totals.inexact_layers == (scale is not None)
    assert len(np.unique(made)) > 5
    assert layer.plan is not None
    assert compiled.simulate(layer).actions in [trace.actions for trace in traces]


def test_the_control_core_is_asked_for_each_row() -> None:
    """Beside a module's offer as where the core has the layer."""
    softmax = Softmax(exponentials=EXPONENTIALS, zero=0, scale=None, dtype="uint8")
    network = model(computed(softmax, given("x", 1, 40, 12)))
    (layer,) = match.compile(network, "gap9").report.layers
    (alone,) = match.compile(network, "gap9", modules=[]).report.layers
    assert {candidate.module: candidate.cycles for candidate in layer.candidates}["cpu"] == alone.cycles
    assert alone.cycles == 40 * (25 + 205 + 65 * 12)
