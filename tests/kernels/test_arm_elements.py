"""Additions, tables and pooling of kernels/cortex_m, against NumPy, on this machine and on Arm's cores under QEMU."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.kernels.arm import CORES, Call, Program, expected_in
from tests.kernels.arm_layers import Shape, average_call, maximum_call, random_geometry, random_shape
from tests.kernels.harness import Bytes, embed
from tests.kernels.pulp_tiles import random_input
from tests.kernels.reference import Geometry, output_strides_of, strides_of

pytestmark = pytest.mark.cc

CASES = 60


def sized(rng: np.random.Generator) -> Geometry:
    """A layer whose output has its input's shape."""
    geometry = random_geometry(rng, channelwise=True)
    return replace(geometry, filter=(1, 1), stride=(1, 1), dilation=(1, 1), pad=(0, 0, 0, 0), spare=(0, 0))


def addition(rng: np.random.Generator, shape: Shape) -> Call:
    """With sums of 32 bits, or of more."""
    geometry = sized(rng)
    first, second = (embed(random_input(rng, geometry), margin) for margin in (shape.before, shape.behind))
    target = embed(np.zeros((*geometry.output, geometry.channels_out), np.uint8), shape.behind)
    narrow = rng.random() < 0.7
    shift = int(rng.integers(0, 20 if narrow else 31))
    multipliers = rng.integers(-(2**31), 2**31, 2) >> (30 - shift)
    bias = (int(rng.integers(28, 228)) << shift) - 128 * int(multipliers.sum())
    total = first.tile * multipliers[0] + second.tile * multipliers[1] + bias
    outputs: Bytes = np.clip(total >> shift, *shape.clip).astype(np.uint8)
    fields = geometry.fields(
        **strides_of(first), **output_strides_of(target), clip_low=shape.clip[0], clip_high=shape.clip[1]
    )
    return Call(
        "match_arm_add" if narrow else "match_arm_add_long",
        replace(fields, addend_row_stride=second.row_stride, addend_pixel_stride=second.pixel_stride),
        input=first.block,
        addend=second.block,
        parameters=struct.pack("<4i" if narrow else "<q3i4x", bias, *multipliers.tolist(), shift),
        output=target.block,
        expected=expected_in(target, outputs),
    )


def lookup(rng: np.random.Generator, shape: Shape) -> Call:
    """Any table."""
    geometry = sized(rng)
    source = embed(random_input(rng, geometry), shape.before)
    target = embed(np.zeros((*geometry.output, geometry.channels_out), np.uint8), shape.behind)
    table = rng.integers(0, 256, 256, np.uint8)
    return Call(
        "match_arm_lookup",
        geometry.fields(**strides_of(source), **output_strides_of(target), clip_low=5, clip_high=7),
        input=source.block,
        parameters=table.tobytes(),
        output=target.block,
        expected=expected_in(target, table[source.tile]),
    )


def average(rng: np.random.Generator, shape: Shape) -> Call:
    """Some windows have more pixels than 16 bits have room for."""
    geometry = random_geometry(rng, channelwise=True)
    if rng.random() < 0.1:
        geometry = Geometry(
            geometry.channels_in, geometry.channels_in, (1, 1), (19, 17), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0)
        )
    return average_call(rng, geometry, shape)


def maximum(rng: np.random.Generator, shape: Shape) -> Call:
    """Windows have a pixel inside the input."""
    return maximum_call(rng, random_geometry(rng, channelwise=True), shape)


MAKERS: tuple[Callable[[np.random.Generator, Shape], Call], ...] = (addition, lookup, average, maximum)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("make", MAKERS)
def test_elements(arm: Callable[[str], Program], core: str, make: Callable[[np.random.Generator, Shape], Call]) -> None:
    rng = np.random.default_rng(4)
    arm(core).check([make(rng, random_shape(rng)) for _ in range(CASES)])
