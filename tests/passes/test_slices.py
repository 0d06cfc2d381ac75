"""Slices of ONNX files, whose numbers are inputs, as onnxruntime takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.one_operator import distances, integers, quantized

pytestmark = pytest.mark.tvm

FAR = np.iinfo(np.int64).max


@pytest.mark.parametrize(
    "numbers",
    [
        {"first": [1], "last": [4], "axes": [1]},
        {"first": [2], "last": [FAR], "axes": [-1]},
        {"first": [1, -3], "last": [3, -1], "axes": [-2, 1]},
        {"first": [0, 1], "last": [FAR, FAR], "axes": [3, 2], "steps": [2, 3]},
        {"first": [-1, 3], "last": [-FAR, 0], "axes": [-1, 1], "steps": [-1, -2]},
        {"first": [0, 1, 2, 1], "last": [1, 3, 4, 6]},
    ],
)
def test_a_slice(numbers: dict[str, Any]) -> None:
    x = np.random.default_rng(0).integers(0, 256, (1, 5, 4, 7))
    quantization = {"s": np.float32(0.1), "z": np.uint8(3), "so": np.float32(0.1), "zo": np.uint8(3)}
    constants = quantization | {name: np.array(values) for name, values in numbers.items()}
    model = quantized("Slice", x.shape, constants)
    assert not distances(model, integers(model), ((x - 3) * 0.1).astype(np.float32)).any()
