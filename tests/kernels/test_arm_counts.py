"""The cost model of Cortex-M kernels predicts the instructions that QEMU counts, and scratch that is enough."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from match.cost_models.cortex_m import CortexMCost
from match.ir.layer import Layer, Op, Padding
from match.target.cost import Tile
from tests.kernels.arm import CORES, Call, Program
from tests.kernels.arm_layers import (
    FAMILIES,
    Shape,
    average_call,
    conv2d_call,
    dense_call,
    depthwise_call,
    maximum_call,
    random_geometry,
    scratch_of_conv2d,
    scratch_of_depthwise,
)
from tests.kernels.reference import Geometry

pytestmark = pytest.mark.cc

CLOSE = 0.1
SAME = (1, 1, 1, 1)
BEHIND = (0, 0, 1, 1)


def geometry(
    inputs: int,
    outputs: int,
    side: int,
    window: int = 1,
    stride: int = 1,
    pad: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> Geometry:
    """A square layer."""
    return Geometry(inputs, outputs, (side, side), (window, window), (stride, stride), (1, 1), pad, (0, 0))


CONVOLUTIONS = (
    geometry(3, 16, 32, 3, 1, SAME),
    geometry(16, 16, 32, 3, 1, SAME),
    geometry(16, 32, 16, 3, 2, BEHIND),
    geometry(64, 64, 8, 3, 1, SAME),
    geometry(8, 16, 24),
    geometry(25, 31, 12),
    geometry(64, 64, 11),
)
DEPTHWISE = geometry(8, 8, 48, 3, 1, SAME), geometry(16, 16, 24, 3, 2, BEHIND), geometry(64, 64, 12, 3, 1, SAME)
POOLING = (
    geometry(16, 16, 16, 2, 2),
    geometry(64, 64, 8, 3, 2, BEHIND),
    geometry(25, 25, 12, 2, 2),
    geometry(64, 64, 1, 8),
)
DENSE = (640, 128), (128, 128), (128, 640)


def layer_of(geometry: Geometry, op: Op) -> tuple[Layer, Tile]:
    """The layer, and the tile that is all of it."""
    (oy, ox), (iy, ix), (fy, fx) = geometry.output, geometry.input, geometry.filter
    depth = 1 if op is Op.DEPTHWISE_CONV2D else geometry.channels_in
    padding = Padding(*geometry.pad)
    k = geometry.channels_out
    layer = Layer("", op, k, depth, oy, ox, iy, ix, fy, fx, geometry.stride, geometry.dilation, padding)
    return layer, Tile(k, depth, oy, ox, iy, ix, fy, fx)


@pytest.mark.parametrize(("core", "family"), [("m4", "arm"), ("m33", "arm"), ("m55", "mve")])
def test_instructions_are_those_that_are_counted(core: str, family: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    calls: list[Call] = []
    predicted: list[float] = []
    for form in ("high", "int64"):
        cost = CortexMCost(vectors=family == "mve", long=form == "int64")
        shape = Shape(form, whole_words=True)
        for own in CONVOLUTIONS:
            calls.append(conv2d_call(rng, family, own, shape))
            predicted.append(cost.instructions(*layer_of(own, Op.CONV2D)))
        for own in DEPTHWISE if form == "high" or family == "mve" else ():
            calls.append(depthwise_call(rng, family, own, shape))
            predicted.append(cost.instructions(*layer_of(own, Op.DEPTHWISE_CONV2D)))
        for inputs, outputs in DENSE:
            calls.append(dense_call(rng, family, inputs, outputs, (1, 1), shape))
            row = geometry(inputs, outputs, 1)
            predicted.append(cost.instructions(*layer_of(row, Op.DENSE)))
    counted = [count for count, _ in Program(CORES[core], tmp_path, "-O3").run(calls)]
    for call, count, prediction in zip(calls, counted, predicted, strict=True):
        assert prediction == pytest.approx(count, rel=CLOSE), f"{call.kernel} {call.fields}"


@pytest.mark.parametrize(("core", "family"), [("m4", "arm"), ("m55", "mve")])
def test_instructions_of_pooling(core: str, family: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    cost = CortexMCost(vectors=family == "mve")
    kinds = (average_call, Op.AVG_POOL2D), (maximum_call, Op.MAX_POOL2D)
    calls = [make(rng, own, Shape(whole_words=True)) for make, _ in kinds for own in POOLING]
    predicted = [cost.instructions(*layer_of(own, op)) for _, op in kinds for own in POOLING]
    counted = [count for count, _ in Program(CORES[core], tmp_path, "-O3").run(calls)]
    for call, count, prediction in zip(calls, counted, predicted, strict=True):
        assert prediction == pytest.approx(count, rel=CLOSE), f"{call.kernel} {call.fields}"


@pytest.mark.parametrize("family", FAMILIES)
def test_scratch_is_what_kernels_need(family: str) -> None:
    """As tests of kernels have it, which give them no byte more."""
    rng = np.random.default_rng(2)
    cost = CortexMCost(vectors=family == "mve")
    for _ in range(50):
        own = random_geometry(rng)
        length = own.filter[0] * own.filter[1] * own.channels_in
        assert cost.scratch(*layer_of(own, Op.CONV2D)) == scratch_of_conv2d(family, length, own.channels_in)
        own = random_geometry(rng, channelwise=True)
        assert cost.scratch(*layer_of(own, Op.DEPTHWISE_CONV2D)) == scratch_of_depthwise(family, own)
