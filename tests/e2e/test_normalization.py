"""Normalization of rows on the cluster: in tiles and whole, what TVM's C computes and the trace that was predicted."""

from __future__ import annotations

import numpy as np
import pytest

import match
from match.ir.constants import Normalization
from match.ir.requantization import Requantization
from match.relay import relay, tvm
from match.relay.normalization import normalization, read_normalization
from tests.sampled import in_turn

pytestmark = pytest.mark.cc


def normalized(
    x: relay.Expr, width: int, dtype: str, computed_for: int | None = None, centre: int | None = None
) -> relay.Expr:
    """Rows whose deviations, from means or from one value, are 16 to 32 steps, some of them the other way round."""
    rng = np.random.default_rng(0)
    low = np.iinfo(dtype).min
    gains = (rng.integers(1 << 12, 1 << 13, width) * rng.choice([-1, 1], width)).astype(np.int16)
    shift = np.full(width, 24)
    bias = rng.integers(low + 120, low + 136, width) << shift
    scaled = Requantization(np.full(width, 16), bias, shift, (low, low + 255))
    return normalization(x, computed_for or width, Normalization(777, gains, centre), scaled, dtype)


SHAPES: list[tuple[tuple[int, ...], int | None, int | None]] = [
    ((1, 9, 14, 33), None, None),
    ((1, 60, 40), 2048, None),
    ((3, 20, 8), 1500, None),
    ((2, 30, 40), 2048, 90),
]
TYPES = [(("uint8", "uint8"),), (("uint8", "int8"),)]


@pytest.mark.parametrize(("shape", "l1", "centre", "dtypes"), in_turn(SHAPES, TYPES))
def test_rows_are_a_layer_of_the_cluster(
    shape: tuple[int, ...], l1: int | None, centre: int | None, dtypes: tuple[str, str]
) -> None:
    """The reference computes in floating point: that these are not its numbers is said, wherever it runs."""
    x = relay.var("x", shape=shape, dtype=dtypes[0])
    network = tvm.IRModule.from_expr(relay.Function([x], normalized(x, shape[-1], dtypes[1], centre=centre)))
    compiled = match.compile(network, "gap9", l1=l1, fuse=False)
    (layer,) = (layer for layer in compiled.layers if layer.op == "normalize")
    assert layer.module == "cluster"
    values = {"x": np.random.default_rng(1).integers(0, 256, shape, np.uint8)}
    values["x"][0, 1] = 7  # no deviation
    outputs, traces = compiled.trace(values, sanitize=True)
    (given,) = outputs.values()
    alone = match.compile(network, "gap9", modules=[])
    (expected,) = alone.run(values).values()
    assert np.array_equal(given, expected)
    assert len(np.unique(given)) > 50
    assert [layer.op for layer in alone.layers if layer.op == "normalize"]
    assert compiled.report.totals.inexact_layers == alone.report.totals.inexact_layers == 1
    assert layer.plan is not None
    assert compiled.simulate(layer).actions in [trace.actions for trace in traces]


def test_the_control_core_is_asked_for_each_row() -> None:
    x = relay.var("x", shape=(1, 40, 12), dtype="uint8")
    network = tvm.IRModule.from_expr(relay.Function([x], normalized(x, 12, "uint8")))
    (layer,) = match.compile(network, "gap9").report.layers
    assert {candidate.module: candidate.cycles for candidate in layer.candidates}["cpu"] == 40 * (25 + 530 + 105 * 12)


def test_what_is_no_normalization_stays() -> None:
    """One that takes rows for shorter ones."""
    x = relay.var("x", shape=(4, 12), dtype="uint8")
    for body, known in ((normalized(x, 12, "uint8"), True), (normalized(x, 12, "uint8", 8), False)):
        typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
        assert (read_normalization(typed["main"].body) is not None) == known
