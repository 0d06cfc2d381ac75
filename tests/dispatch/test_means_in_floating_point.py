"""Means that float32 decides: exact on modules, whose kernels divide, and said to be so of no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import match
from tests.passes.one_operator import quantized

pytestmark = pytest.mark.tvm

KIND: dict[str, Any] = {"s": np.float32(0.00391), "z": np.uint8(3), "so": np.float32(0.00391), "zo": np.uint8(3)}


@pytest.mark.parametrize(
    ("window", "pads", "on_core"),
    [
        ([3, 4], [0, 0, 0, 0], False),  # the reciprocal of 12 is rounded
        ([4, 2], [0, 0, 0, 0], True),
        ([4, 2], [1, 0, 0, 0], False),  # windows of 3x2 elements
        ([2, 2], [0, 0, 1, 1], True),
    ],
)
def test_only_kernels_divide_by_any_number(window: list[int], pads: list[int], on_core: bool) -> None:
    model = quantized("AveragePool", (1, 8, 8, 9), KIND, kernel_shape=window, pads=pads)
    for target, exact in (("gap9", True), ("diana", on_core)):
        report = match.compile(model, target, numerics="exact", jobs=1, fuse=False).report
        (means,) = [layer for layer in report.layers if layer.op == "float_avg_pool2d"]
        assert (means.module == "cluster", means.exact) == (target == "gap9", exact)
