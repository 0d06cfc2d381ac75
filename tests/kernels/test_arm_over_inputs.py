"""Kernels of kernels/cortex_m that write over their input, as near as their module lets them, on all cores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from match.ir.layer import Layer, Op, Padding
from match.targets.cortex_m.operators import Kernels
from tests.kernels.arm import CORES, Call, Program
from tests.kernels.arm_layers import Shape, conv2d_call, dense_call, depthwise_call, random_geometry, random_shape
from tests.kernels.test_arm_elements import addition, average, lookup, maximum

pytestmark = pytest.mark.cc

CASES = 60


def dense_rows(rng: np.random.Generator, family: str, shape: Shape) -> Call:
    inputs, outputs = rng.integers(1, 30, 2).tolist()
    return dense_call(rng, family, inputs, outputs, (int(rng.integers(1, 4)), int(rng.integers(2, 6))), shape)


MAKERS: dict[tuple[str, Op], Callable[[np.random.Generator, Shape], Call]] = {
    ("arm", Op.CONV2D): lambda rng, shape: conv2d_call(rng, "arm", random_geometry(rng), shape),
    ("mve", Op.CONV2D): lambda rng, shape: conv2d_call(rng, "mve", random_geometry(rng), shape),
    ("arm", Op.DENSE): lambda rng, shape: dense_rows(rng, "arm", shape),
    ("mve", Op.DENSE): lambda rng, shape: dense_rows(rng, "mve", shape),
    ("mve", Op.DEPTHWISE_CONV2D): lambda rng, shape: depthwise_call(
        rng, "mve", random_geometry(rng, channelwise=True), shape
    ),
    ("arm", Op.AVG_POOL2D): average,
    ("arm", Op.MAX_POOL2D): maximum,
    ("arm", Op.ADD): addition,
    ("arm", Op.LOOKUP): lookup,
}


def over_input(call: Call, family: str, op: Op, further: int = 0) -> Call:
    """The same call with its output over its input, so many bytes further than the module allows."""
    of = call.fields
    layer = Layer(
        "",
        op,
        k=of.channels_out,
        c=of.channels_in if op in (Op.CONV2D, Op.DENSE) else 1,
        oy=of.output_height,
        ox=of.output_width,
        iy=of.input_height,
        ix=of.input_width,
        fy=max(1, of.filter_height),
        fx=max(1, of.filter_width),
        stride=(max(1, of.stride_y), max(1, of.stride_x)),
        padding=Padding(of.pad_top, of.pad_left, of.pad_bottom, of.pad_right),
    )
    lag = Kernels(vectors=family == "mve").lag(layer)
    assert lag is not None
    return replace(call, lag=max(0, lag - further))


def close(rng: np.random.Generator) -> Shape:
    """Any form and clip, of tensors without gaps."""
    shape = random_shape(rng)
    return Shape(shape.form, shape.clip, whole_words=shape.whole_words)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(("family", "op"), MAKERS)
def test_outputs_over_inputs(arm: Callable[[str], Program], core: str, family: str, op: Op) -> None:
    rng = np.random.default_rng(6)
    make = MAKERS[family, op]
    arm(core).check([over_input(make(rng, close(rng)), family, op) for _ in range(CASES)])


@pytest.mark.parametrize(("family", "op"), [key for key in MAKERS if key[1] not in (Op.ADD, Op.LOOKUP)])
def test_no_byte_further(arm: Callable[[str], Program], family: str, op: Op) -> None:
    """A byte less, and the kernel reads what it has written, in some of the layers."""
    rng = np.random.default_rng(6)
    calls = [MAKERS[family, op](rng, close(rng)) for _ in range(CASES)]
    near = [over_input(call, family, op, further=1) for call in calls]
    results = arm("host").run(near)
    assert any((output != call.expected).any() for call, (_, output) in zip(near, results, strict=True))
