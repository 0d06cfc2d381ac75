"""Softmax over rows on the cluster: in tiles and whole, what TVM's C computes and the trace that was predicted."""

from __future__ import annotations

import numpy as np
import pytest

import match
from match.arithmetic.tflite_functions import exponentials
from match.graph.rows import ProbabilityScale
from match.relay import relay, tvm
from match.relay.softmax import read_softmax, softmax
from tests.sampled import in_turn

pytestmark = pytest.mark.cc


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
    x = relay.var("x", shape=shape, dtype=dtypes[0])
    output = softmax(x, shape[-1], exponentials(np.float32(0.07), np.float32(1)), dtypes[1], zero, scale)
    network = tvm.IRModule.from_expr(relay.Function([x], output))
    compiled = match.compile(network, "gap9", l1=l1, fuse=False)
    layers = [layer for layer in compiled.layers if layer.op == "softmax"]
    (layer,) = layers
    assert layer.module == "cluster"
    limits = np.iinfo(dtypes[0])
    values = {"x": np.random.default_rng(1).integers(limits.min, limits.max, shape, dtypes[0], endpoint=True)}
    outputs, traces = compiled.trace(values, sanitize=True)
    (given,) = outputs.values()
    alone = match.compile(network, "gap9", modules=[])
    (expected,) = alone.run(values).values()
    assert np.array_equal(given, expected)
    assert compiled.report.totals.inexact_layers == alone.report.totals.inexact_layers == (scale is not None)
    assert len(np.unique(given)) > 5
    assert layer.plan is not None
    assert compiled.simulate(layer).actions in [trace.actions for trace in traces]


def test_the_control_core_is_asked_for_each_row() -> None:
    """Beside a module's offer as where the core has the layer."""
    x = relay.var("x", shape=(1, 40, 12), dtype="uint8")
    output = softmax(x, 12, exponentials(np.float32(0.07), np.float32(1)), "uint8", 0)
    network = tvm.IRModule.from_expr(relay.Function([x], output))
    (layer,) = match.compile(network, "gap9").report.layers
    (alone,) = match.compile(network, "gap9", modules=[]).report.layers
    assert {candidate.module: candidate.cycles for candidate in layer.candidates}["cpu"] == alone.cycles
    assert alone.cycles == 40 * (25 + 205 + 65 * 12)


def test_what_is_no_softmax_stays() -> None:
    """A softmax of another scale, one whose sum leaves something out, and no softmax at all."""
    x = relay.var("x", shape=(4, 12), dtype="uint8")
    table = exponentials(np.float32(0.07), np.float32(1))
    whole = softmax(x, 12, table, "uint8", 0)
    as_if_shorter = softmax(x, 3, table, "uint8", 0)
    plain = relay.cast(relay.clip(relay.cast(x, "int32"), 0, 9), "uint8")
    for body, known in ((whole, True), (as_if_shorter, False), (plain, False)):
        typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
        assert (read_softmax(typed["main"].body) is not None) == known
