"""Quantize and dequantize where floats become integers, against NumPy and against the definitions of rounding."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from match.frontend.model import Rounding
from match.passes.quantize_border import LowerBorder
from match.relay import relay, tvm
from match.relay.plain import qnn_operators
from match.rewrites.unsigned import with_unsigned_activations
from match.validation.exact_session import exact_session
from tests.passes.running import Compiled
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm

SCALE = np.float32(0.0224108)


def half_away(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x)


VALUES = np.concatenate(
    [
        np.arange(-200, 200).astype(np.float32) * np.float32(0.5) * SCALE,
        np.nextafter(np.arange(-100, 100).astype(np.float32) + np.float32(0.5), np.float32(1e9)) * SCALE,
        np.random.default_rng(0).normal(0, 2, 4000).astype(np.float32),
        np.array([0.49999997, -0.49999997, 1e30, -1e30, np.inf, -np.inf], np.float32) * SCALE,
    ]
).reshape(1, -1)


def quantizing(scale: np.float32, zero_point: int, dtype: str) -> tvm.IRModule:
    x = relay.var("x", shape=VALUES.shape, dtype="float32")
    y = relay.qnn.op.quantize(x, relay.const(scale), relay.const(zero_point, "int32"), out_dtype=dtype)
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], y)))


@pytest.mark.parametrize("optimization", [1, 3])
@pytest.mark.parametrize(("rounding", "round_"), [(Rounding.ONNXRUNTIME, np.rint), (Rounding.TFLITE, half_away)])
@pytest.mark.parametrize(("zero_point", "dtype"), [(-7, "int8"), (131, "uint8")])
def test_quantize(rounding, round_, zero_point, dtype, optimization):
    module = LowerBorder(rounding)(quantizing(SCALE, zero_point, dtype))
    assert not qnn_operators(module)
    found = Compiled(module, optimization)({"x": VALUES})[0]
    limits = np.iinfo(dtype)
    expected = np.clip(round_(VALUES / SCALE) + zero_point, limits.min, limits.max).astype(dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("zero_point", "dtype"), [(-7, "int8"), (131, "uint8")])
def test_what_is_no_number_is_onnxruntimes(zero_point: int, dtype: str) -> None:
    x = np.array([[np.nan, 1.0, -np.nan, np.inf, -np.inf, 0.0]], np.float32)
    number = np.dtype(dtype).type(zero_point)
    node = onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    graph = onnx.helper.make_graph(
        [node],
        "quantize",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
        [onnx.helper.make_tensor_value_info("y", onnx.helper.np_dtype_to_tensor_dtype(number.dtype), x.shape)],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in (("s", SCALE), ("z", number))],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (expected,) = exact_session(model.SerializeToString(), signed=True).run(None, {"x": x})
    read = relay.var("x", shape=x.shape, dtype="float32")
    y = relay.qnn.op.quantize(read, relay.const(SCALE), relay.const(zero_point, "int32"), out_dtype=dtype)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([read], y)))
    (found,) = Compiled(LowerBorder(Rounding.ONNXRUNTIME)(module))({"x": x})
    np.testing.assert_array_equal(found, expected)


def test_quantize_is_one_loop():
    """No intermediate result is as large as the input in float."""
    module = LowerBorder(Rounding.ONNXRUNTIME)(quantizing(SCALE, 3, "int8"))
    fused = relay.transform.FuseOps(3)(relay.transform.InferType()(module))
    assert fused["main"].astext(show_meta_data=False).count("Primitive=1") == 1


def test_border_of_unsigned_activations():
    """The float side sees the same values, with unsigned integers between and one conversion for an integer output."""
    x = relay.var("x", shape=(1, 50), dtype="float32")
    scale, zero = relay.const(SCALE), relay.const(-7, "int32")
    inner = relay.qnn.op.quantize(x, scale, zero, out_dtype="int8")
    moved = relay.reshape(inner, (1, 5, 10))
    last = relay.qnn.op.quantize(relay.nn.relu(x), scale, zero, out_dtype="int8")
    body = relay.Tuple([relay.qnn.op.dequantize(moved, scale, zero), relay.clip(moved, -5, 9), last])
    before = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    before = LowerBorder(Rounding.ONNXRUNTIME)(before)
    after = rewritten(before, with_unsigned_activations)
    value = {"x": VALUES[:, 400:450]}
    for expected, found in zip(*(Compiled(module)(value) for module in (before, after)), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert "uint8" in after.astext(show_meta_data=False)
