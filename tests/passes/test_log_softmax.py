"""Logarithms of probabilities, and of sums of exponentials, against onnxruntime: of integers, or from a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from match.ir.layer import Op
from match.validation.exact_session import exact_session
from tests.passes.one_operator import distances, integers, quantized, references
from tests.passes.running import executable, written

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
    assert references(module, Op.LOG_SOFTMAX) == [False]
    assert distances(model, module, (levels * scale).astype(np.float32), least=8).max() <= 1


@pytest.mark.parametrize("scale", [0.0007, 0.11, 3.1])
@pytest.mark.parametrize(("extents", "axis"), [((1, 1, 10), -1), ((3, 700), 1), ((1, 9, 2, 3), 1), ((2, 3), 0)])
def test_numbers_that_nothing_quantizes(extents: tuple[int, ...], axis: int, scale: float) -> None:
    """They are nearer to the logarithms than those of onnxruntime, which rounds the numbers first."""
    constants = {"s": np.float32(scale), "z": np.uint8(77), "so": np.float32(1), "zo": np.uint8(0)}
    model = quantized("LogSoftmax", extents, constants, axis=axis)
    del model.graph.node[3:], model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("result", TensorProto.FLOAT, extents))
    module = integers(model)
    assert references(module, Op.LOG_SOFTMAX) == [False]
    levels = np.random.default_rng(5).integers(0, 256, extents)
    x = ((levels - 77) * scale).astype(np.float32)
    (found,) = executable(module)({"x": x})
    (expected,) = exact_session(model.SerializeToString(), signed=True).run(None, {"x": x})
    real = (levels - levels.max(axis=axis, keepdims=True)) * float(np.float32(scale))
    real -= np.log(np.exp(real).sum(axis=axis, keepdims=True))
    assert found.dtype == np.float32
    within = np.abs(real) * 2**-23 + np.exp2(np.ceil(np.log2(255 * scale + 9)) - 30)
    assert np.all(np.abs(found - real) <= within)
    assert np.all(np.abs(expected - real) <= 8 * within + 255 * scale * 2**-22)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[2], [1, 2], None])
def test_sums_of_exponentials(axes: list[int] | None, keepdims: int) -> None:
    constants = {"s": np.float32(0.05), "z": np.uint8(100), "so": np.float32(0.04), "zo": np.uint8(10)}
    attributes: dict[str, Any] = {"keepdims": keepdims} | ({} if axes is None else {"axes": axes})
    model = quantized("ReduceLogSumExp", (4, 5, 6), constants, **attributes)
    module = integers(model)
    assert "exp(" not in written(module).astext(show_meta_data=False)
    x = np.random.default_rng(3).normal(0, 2, (4, 5, 6)).astype(np.float32)
    assert distances(model, module, x, least=1).max() <= 1
