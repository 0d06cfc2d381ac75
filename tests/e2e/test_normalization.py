"""Normalization of rows on the cluster: in tiles and whole, what TVM's C computes and the trace that was predicted."""

from __future__ import annotations

import numpy as np
import pytest

import match
from match.graph import rows
from match.graph.value import Value, computed
from match.ir.constants import Normalization
from match.ir.requantization import Requantization
from tests.made import given
from tests.made_models import model
from tests.sampled import in_turn

pytestmark = pytest.mark.cc


def normalized(x: Value, dtype: str, centre: int | None = None) -> Value:
    """Rows whose deviations, from means or from one value, are 16 to 32 steps, some of them the other way round."""
    rng, width = np.random.default_rng(0), x.shape[-1]
    low = np.iinfo(dtype).min
    gains = (rng.integers(1 << 12, 1 << 13, width) * rng.choice([-1, 1], width)).astype(np.int16)
    shift = np.full(width, 24)
    bias = rng.integers(low + 120, low + 136, width) << shift
    scaled = Requantization(np.full(width, 16), bias, shift, (low, low + 255))
    operator = rows.Normalization(normalization=Normalization(777, gains, centre), requantization=scaled, dtype=dtype)
    return computed(operator, x, exact=False)


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
    network = model(normalized(given("x", *shape, dtype=dtypes[0]), dtypes[1], centre))
    compiled = match.compile(network, "gap9", l1=l1, fuse=False)
    (layer,) = (layer for layer in compiled.layers if layer.op == "normalize")
    assert layer.module == "cluster"
    values = {"x": np.random.default_rng(1).integers(0, 256, shape, np.uint8)}
    values["x"][0, 1] = 7  # no deviation
    outputs, traces = compiled.trace(values, sanitize=True)
    (made,) = outputs.values()
    alone = match.compile(network, "gap9", modules=[])
    (expected,) = alone.run(values).values()
    assert np.array_equal(made, expected)
    assert len(np.unique(made)) > 50
    assert [layer.op for layer in alone.layers if layer.op == "normalize"]
    assert compiled.report.totals.inexact_layers == alone.report.totals.inexact_layers == 1
    assert layer.plan is not None
    assert compiled.simulate(layer).actions in [trace.actions for trace in traces]


def test_the_control_core_is_asked_for_each_row() -> None:
    network = model(normalized(given("x", 1, 40, 12), "uint8"))
    (layer,) = match.compile(network, "gap9").report.layers
    assert {candidate.module: candidate.cycles for candidate in layer.candidates}["cpu"] == 40 * (25 + 530 + 105 * 12)
