"""Logarithms of probabilities, and of sums of exponentials, against onnxruntime: exponentials are a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.one_operator import distances, integers, quantized

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    ("extents", "opset", "attributes"),
    [
        ((4, 12), 17, {"axis": -1}),
        ((1, 5, 3, 4), 17, {"axis": 1}),
        ((2, 3, 4), 11, {}),
        ((2, 3, 4), 11, {"axis": 2}),
    ],
)
@pytest.mark.parametrize("scale", [0.04, 0.7])
def test_log_softmax(
    scale: float, extents: tuple[int, ...], opset: int, attributes: dict[str, Any], dtype: str
) -> None:
    """With the larger scale probabilities are smaller than the smallest number."""
    low, kind = np.iinfo(dtype).min, np.dtype(dtype).type
    steps = np.float32(0.05 if scale < 0.1 else 0.6)
    constants = {"s": np.float32(scale), "z": kind(low + 100), "so": steps, "zo": kind(low + 255)}
    levels = np.random.default_rng(3).integers(-100, 156, extents)
    model = quantized("LogSoftmax", extents, constants, opset=opset, **attributes)
    module = integers(model)
    assert "exp(" not in module.astext(show_meta_data=False)
    assert distances(model, module, (levels * scale).astype(np.float32), least=8).max() <= 1


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[2], [1, 2], None])
def test_sums_of_exponentials(axes: list[int] | None, keepdims: int) -> None:
    constants = {"s": np.float32(0.05), "z": np.uint8(100), "so": np.float32(0.04), "zo": np.uint8(10)}
    attributes: dict[str, Any] = {"keepdims": keepdims} | ({} if axes is None else {"axes": axes})
    model = quantized("ReduceLogSumExp", (4, 5, 6), constants, **attributes)
    module = integers(model)
    assert "exp(" not in module.astext(show_meta_data=False)
    x = np.random.default_rng(3).normal(0, 2, (4, 5, 6)).astype(np.float32)
    assert distances(model, module, x, least=1).max() <= 1
