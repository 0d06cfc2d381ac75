"""Convolutions and dense layers of kernels/cortex_m, against NumPy, on this machine and on Arm's cores under QEMU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.kernels.arm import CORES, Call, Program
from tests.kernels.arm_layers import (
    FAMILIES,
    conv2d_call,
    dense_call,
    depthwise_call,
    grouped_call,
    random_geometry,
    random_shape,
)

pytestmark = pytest.mark.cc

CASES = 60


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("family", FAMILIES)
def test_convolutions(arm: Callable[[str], Program], core: str, family: str) -> None:
    rng = np.random.default_rng(1)
    arm(core).check([conv2d_call(rng, family, random_geometry(rng), random_shape(rng)) for _ in range(CASES)])


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("family", FAMILIES)
def test_convolutions_in_groups(arm: Callable[[str], Program], core: str, family: str) -> None:
    rng = np.random.default_rng(5)
    calls = (
        grouped_call(rng, family, random_geometry(rng), int(rng.integers(1, 5)), random_shape(rng))
        for _ in range(CASES)
    )
    arm(core).check([call for call in calls if call.fields.channels_in < 10])


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("family", FAMILIES)
def test_dense_layers(arm: Callable[[str], Program], core: str, family: str) -> None:
    rng = np.random.default_rng(2)
    calls: list[Call] = []
    for inputs, outputs in rng.integers(1, 70, (CASES, 2)).tolist():
        rows = (1, 1) if rng.random() < 0.5 else (int(rng.integers(1, 4)), int(rng.integers(2, 6)))
        calls.append(dense_call(rng, family, inputs, outputs, rows, random_shape(rng)))
    arm(core).check(calls)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("family", FAMILIES)
def test_depthwise_convolutions(arm: Callable[[str], Program], core: str, family: str) -> None:
    rng = np.random.default_rng(3)
    geometries = (random_geometry(rng, channelwise=True) for _ in range(CASES))
    arm(core).check([depthwise_call(rng, family, geometry, random_shape(rng)) for geometry in geometries])
