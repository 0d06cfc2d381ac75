"""Bilinear interpolation on the cluster: in tiles and whole, what TVM's C computes and the trace that was predicted."""

from __future__ import annotations

import numpy as np
import pytest

import match
from match.graph.resize import ONE, Between, Resize
from match.graph.value import computed
from tests.made import given
from tests.made_models import model
from tests.sampled import in_turn

pytestmark = pytest.mark.cc


def between(size: int, outputs: int) -> Between:
    """Outputs from the first input to behind the last one."""
    positions = np.arange(outputs) * ONE * size // outputs
    below = positions // ONE
    return Between(below, np.minimum(below + 1, size - 1), positions % ONE)


def resize_of(size: tuple[int, int], outputs: tuple[int, int], zero: int, dtype: str) -> Resize:
    rows, columns = (between(*extents) for extents in zip(size, outputs, strict=True))
    return Resize(rows=rows, columns=columns, zero=zero, dtype=dtype)


SHAPES = [((5, 7, 12), (9, 20), None), ((9, 6, 30), (30, 31), 8000), ((16, 17, 3), (5, 40), 1600)]


@pytest.mark.parametrize(("shape", "outputs", "l1", "dtype"), in_turn(SHAPES, [("uint8",), ("int8",)]))
def test_a_layer_of_the_cluster(
    shape: tuple[int, int, int], outputs: tuple[int, int], l1: int | None, dtype: str
) -> None:
    """Networks of either type are resized; the last two do not fit the scratchpad."""
    resize = resize_of(shape[:2], outputs, 0 if dtype == "int8" else 100, dtype)
    network = model(computed(resize, given("x", 1, *shape, dtype=dtype)))
    compiled = match.compile(network, "gap9", l1=l1, fuse=False)
    (layer,) = [layer for layer in compiled.layers if layer.op == "resize"]
    assert layer.module == "cluster"
    limits = np.iinfo(dtype)
    values = {"x": np.random.default_rng(1).integers(limits.min, limits.max, (1, *shape), dtype, endpoint=True)}
    made, traces = compiled.trace(values, sanitize=True)
    expected = match.compile(network, "gap9", modules=[]).run(values)
    assert np.array_equal(next(iter(made.values())), next(iter(expected.values())))
    assert layer.plan is not None
    assert l1 is None or len(layer.plan.schedule.loops) > 0
    assert compiled.simulate(layer).actions in [trace.actions for trace in traces]
