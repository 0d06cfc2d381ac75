"""What the stock importers read past in silence is an error that names it: operators, attributes, options, inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from match.frontend import load
from tests.frontend.refusals import refused
from tests.frontend.test_integer_onnx import Network
from tests.passes.one_operator import quantized
from tests.passes.onnx_models import OnnxModel, quantize
from tests.passes.tflite_models import TfliteModel

pytestmark = pytest.mark.cc

# ---- QDQ and QOperator ONNX ----


def residual(folder: Path, form: str = "QDQ") -> Any:
    network = OnnxModel((1, 3, 6, 6))
    first = network.conv(3, (1, 1))
    network.add("Add", first)
    network.add("MaxPool", kernel_shape=[2, 2])
    return onnx.load(quantize(network, folder, form, "QUInt8", True))


def node_of(model: Any, op: str) -> Any:
    return next(node for node in model.graph.node if node.op_type == op)


def attribute(op: str, name: str, value: Any) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        node = node_of(model, op)
        kept = [item for item in node.attribute if item.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return change


def domain(op: str, name: str) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        node_of(model, op).domain = name
        model.opset_import.append(helper.make_opsetid(name, 1))

    return change


def draws(model: Any) -> None:
    """The addition becomes random."""
    node = node_of(model, "Add")
    node.op_type = "Bernoulli"
    del node.input[1:]


@pytest.mark.parametrize(
    ("form", "change", "named"),
    [
        ("QDQ", attribute("Add", "in1_mul", 77), "in1_mul"),
        ("QDQ", attribute("Conv", "weight_bits", 4), "weight_bits"),
        ("QDQ", attribute("QuantizeLinear", "rounding", 1), "rounding"),
        ("QDQ", draws, "Bernoulli (Add_t1), which draws random numbers"),
        ("QDQ", attribute("Conv", "group", 0), "with 0 groups, where there must be one at least"),
        ("QDQ", domain("Add", "com.example"), "Add of the domain com.example"),
        ("QDQ", domain("Add", "com.microsoft"), "Add"),
        ("QDQ", domain("Relu", "com.example"), "Relu"),
        ("QDQ", attribute("MaxPool", "storage_order", 1), "'storage_order' of 1"),
        ("QOperator", attribute("QLinearAdd", "in1_mul", 77), "'in1_mul'"),
        ("QOperator", attribute("QLinearConv", "weight_bits", 4), "weight_bits"),
    ],
)
def test_onnx(form: str, change: Callable[[Any], None], named: str, tmp_path: Path) -> None:
    model = residual(tmp_path, form)
    path = tmp_path / "changed.onnx"
    if not any(node.op_type == "Relu" for node in model.graph.node):
        model.graph.node.append(helper.make_node("Relu", [model.graph.output[0].name], ["last"], name="Relu_last"))
        model.graph.output[0].name = "last"
    onnx.save(model, path)
    load(path)
    change(model)
    onnx.save(model, path)
    assert named in refused(path)


@pytest.mark.parametrize("axis", [-5, 4, 9])
@pytest.mark.parametrize("kind", ["LpNormalization", "CumSum", "GatherElements", "ScatterElements"])
def test_axes_that_a_tensor_lacks(kind: str, axis: int, tmp_path: Path) -> None:
    quantization = {"s": np.float32(0.1), "z": np.uint8(3), "so": np.float32(0.1), "zo": np.uint8(3)}
    indices = {"GatherElements": ["places"], "ScatterElements": ["places", "updates"]}
    arrays = {"places": np.zeros((1, 2, 1, 3), np.int64), "updates": np.ones((1, 2, 1, 3), np.float32)}
    operands = quantization | {name: arrays[name] for name in indices.get(kind, [])}
    path = tmp_path / "along.onnx"
    for place in (-4, 3, axis):
        if kind == "CumSum":
            model = quantized(kind, (1, 3, 4, 5), {**quantization, "axis": np.int64(place)})
        else:
            model = quantized(kind, (1, 3, 4, 5), operands, axis=place)
        onnx.save(model, path)
        if place != axis:
            load(path)
    assert f"{kind} (number 2) along axis {axis} of a tensor with 4 axes" in refused(path)


@pytest.mark.parametrize(("kind", "inner"), [("Conv", 1), ("ConvTranspose", 0)])
def test_filters_of_other_channels(kind: str, inner: int, tmp_path: Path) -> None:
    """Which is said of the filters, not of what TVM makes of them."""
    quantization = {"s": np.float32(0.1), "z": np.uint8(3), "so": np.float32(0.1), "zo": np.uint8(3)}
    path = tmp_path / "filters.onnx"
    extents = [3, 3, 2, 2]
    for channels in (3, 5):
        extents[inner] = channels
        filters = np.ones(extents, np.float32)
        onnx.save(quantized(kind, (1, 3, 6, 6), {**quantization, "filters": filters}, kernel_shape=[2, 2]), path)
        if channels == 3:
            load(path)
    shape = str(tuple(extents))
    assert f"{kind} (number 2) with filters of shape {shape} for 3 channels, which do not fit" in refused(path)


def test_attributes_that_refer_to_a_function(tmp_path: Path) -> None:
    """Outside one."""
    model = residual(tmp_path)
    node_of(model, "MaxPool").attribute[0].ref_attr_name = "window"
    onnx.save(model, tmp_path / "refers.onnx")
    assert "'kernel_shape', which refers to one of a function" in refused(tmp_path / "refers.onnx")


def test_types_that_a_quantization_names_itself(tmp_path: Path) -> None:
    """Beside a zero point of another type."""
    model = residual(tmp_path)
    node = node_of(model, "QuantizeLinear")
    node.attribute.append(helper.make_attribute("output_dtype", int(TensorProto.INT16)))
    model.opset_import[0].version, model.ir_version = 21, 10
    path = tmp_path / "typed.onnx"
    onnx.save(model, path)
    assert "'output_dtype'" in refused(path)


# ---- integer ONNX ----


def integer(build: Callable[[Network], Any], folder: Path) -> str:
    """The sentence for a network that ends in what `build` adds, after a layer that makes it an integer network."""
    net = Network((1, 4, 8, 8))
    net.add("Conv", net.weights(8, 4, 3, 3, dtype=np.int8), kernel_shape=[3, 3])
    net.add("Mul", np.float32(3))
    net.add("Div", np.float32(64))
    net.add("Floor")
    net.add("Clip", min=0.0, max=255.0)
    path = folder / "network.onnx"
    onnx.save(net.model(), path)
    load(path)
    build(net)
    onnx.save(net.model(), path)
    return refused(path)


SIDES: dict[str, Any] = {
    f"{side}_{part}": 1 for side in ("in1", "in2") for part in ("mul", "add", "shift", "n_levels", "rq")
}


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda net: net.add("Add", inputs=[net.x, net.x], **SIDES), "no attribute 'out_add'"),
        (lambda net: net.add("Add", inputs=[net.x, net.x], out_signed=1), "no attribute 'in1_add'"),
        (lambda net: net.add("Add", inputs=[net.x, net.x], in3_mul=1), "'in3_mul'"),
        (lambda net: net.add("Relu", alpha=0.1), "'alpha'"),
        (lambda net: net.add("HardSigmoid"), "HardSigmoid"),
        (lambda net: net.add("Pad", np.array([0, 1], np.int64), np.float32(0), np.array([2], np.int64)), "3 have"),
        (lambda net: net.add("Pad", np.array([0, 0, -1, 0, 0, 0, 0, 0], np.int64)), "cuts off"),
        (lambda net: net.add("Reshape", np.array([0, -1], np.int64), allowzero=1), "empty tensor"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_integer_onnx(build: Callable[[Network], Any], named: str, tmp_path: Path) -> None:
    assert named in integer(build, tmp_path)


# ---- TFLite ----


def softmax(model: TfliteModel, x: int, beta: float) -> int:
    return model.operator("SOFTMAX", [x], model.tensor((1, 8), "int8", 1 / 256, -128), "SoftmaxOptions", beta=beta)


def dense(model: TfliteModel, x: int, layout: int, bias: str = "int32", zero_point: int = 0) -> int:
    rng = np.random.default_rng(0)
    weights = model.tensor((4, 8), "int8", [0.1] * 4, zero_point, rng.integers(-127, 128, (4, 8)))
    biases = model.tensor((4,), bias, 0.01, data=np.zeros(4))
    output = model.tensor((1, 4), "int8", 0.2)
    return model.operator(
        "FULLY_CONNECTED", [x, weights, biases], output, "FullyConnectedOptions", weightsFormat=layout
    )


def biased(model: TfliteModel, x: int, bias: str) -> int:
    return dense(model, x, 0, bias)


def joined(model: TfliteModel, x: int, activation: int) -> int:
    output = model.tensor((1, 16), "int8", 0.1)
    return model.operator(
        "CONCATENATION", [x, x], output, "ConcatenationOptions", axis=1, fusedActivationFunction=activation
    )


def asymmetric(model: TfliteModel, x: int, zero_point: int) -> int:
    return dense(model, x, 0, zero_point=zero_point)


def rescaled(model: TfliteModel, x: int, zero_point: int) -> int:
    return model.operator("QUANTIZE", [x], model.tensor((1, 8), "int8", 0.2, zero_point))


def joined_with(model: TfliteModel, x: int, zero_point: int) -> int:
    other = model.tensor((1, 4), "int8", 0.1, zero_point, data=np.arange(4).reshape(1, 4))
    return model.operator(
        "CONCATENATION", [x, other], model.tensor((1, 12), "int8", 0.1), "ConcatenationOptions", axis=1
    )


def padded(model: TfliteModel, x: int, scale: float) -> int:
    widths = model.tensor((2, 2), "int32", data=np.array([[0, 0], [1, 2]]))
    value = model.tensor((1,), "int8", scale, data=np.array([5]))
    return model.operator("PADV2", [x, widths, value], model.tensor((1, 11), "int8", 0.1), "PadV2Options")


def leaky(model: TfliteModel, x: int, alpha: float) -> int:
    return model.operator("LEAKY_RELU", [x], model.tensor((1, 8), "int8", 0.1), "LeakyReluOptions", alpha=alpha)


def largest(model: TfliteModel, x: int, scale: float) -> int:
    axis = model.tensor((1,), "int32", data=np.array([1]))
    return model.operator("REDUCE_MAX", [x, axis], model.tensor((1,), "int8", scale), "ReducerOptions")


def pooled(model: TfliteModel, x: int, scale: float) -> int:
    maps = model.operator("RESHAPE", [x], model.tensor((1, 2, 2, 2), "int8", 0.1), "ReshapeOptions")
    output = model.tensor((1, 1, 1, 2), "int8", scale)
    return model.operator(
        "MAX_POOL_2D", [maps], output, "Pool2DOptions", padding=1, filterHeight=2, filterWidth=2, strideH=2, strideW=2
    )


def backwards(model: TfliteModel, x: int, step: int) -> int:
    numbers = [model.tensor((2,), "int32", data=np.array(values)) for values in ([0, 2], [1, 3], [1, step])]
    output = model.tensor((1,), "int8", 0.1)
    return model.operator("STRIDED_SLICE", [x, *numbers], output, "StridedSliceOptions", shrinkAxisMask=2)


def real_numbers_sliced(model: TfliteModel, x: int, step: int) -> int:
    real = model.operator("DEQUANTIZE", [x], model.tensor((1, 8), "float32"))
    numbers = [model.tensor((2,), "int32", data=np.array(values)) for values in ([0, 2], [1, 6], [1, step])]
    part = model.operator("STRIDED_SLICE", [real, *numbers], model.tensor((1, 4), "float32"), "StridedSliceOptions")
    return model.operator("QUANTIZE", [part], model.tensor((1, 4), "int8", 0.2))


def sliced(model: TfliteModel, x: int, mask: int) -> int:
    numbers = [model.tensor((2,), "int32", data=np.array(values)) for values in ([0, 2], [1, 6], [1, 1])]
    output = model.tensor((1, 4), "int8", 0.1)
    return model.operator("STRIDED_SLICE", [x, *numbers], output, "StridedSliceOptions", newAxisMask=mask)


def product(model: TfliteModel, x: int, scales: list[float]) -> int:
    matrix = model.tensor((8, 4), "int8", scales, data=np.arange(32).reshape(8, 4), axis=1)
    return model.operator("BATCH_MATMUL", [x, matrix], model.tensor((1, 4), "int8", 0.2), "BatchMatMulOptions")


def mirrored(model: TfliteModel, x: int, width: int) -> int:
    widths = model.tensor((2, 2), "int32", data=np.array([[0, 0], [width, 0]]))
    output = model.tensor((1, 8 + width), "int8", 0.1)
    return model.operator("MIRROR_PAD", [x, widths], output, "MirrorPadOptions", mode=0)


@pytest.mark.parametrize(
    ("operator", "kept", "dropped", "named"),
    [
        (mirrored, 7, 8, "MIRROR_PAD (operator 0 at 't2'), which mirrors 8 elements of an axis that has 8"),
        (product, [0.1], [0.1, 0.2, 0.1, 0.1], "BATCH_MATMUL (operator 0 at 't2'), which has the constant 't1' with a"),
        (softmax, 2.0, 0.0, "SOFTMAX (operator 0 at 't1'), which has a Beta of 0.0"),
        (leaky, 0.1, math.inf, "LEAKY_RELU (operator 0 at 't1'), which has an Alpha of inf; it must be a finite"),
        (leaky, 0.1, math.nan, "LEAKY_RELU (operator 0 at 't1'), which has an Alpha of nan; it must be a finite"),
        (dense, 0, 1, "FULLY_CONNECTED (operator 0 at 't3'), which has the option WeightsFormat of 1"),
        (biased, "int32", "int64", "FULLY_CONNECTED (operator 0 at 't3'), which has a bias of type int64"),
        (joined, 0, 1, "CONCATENATION (operator 0 at 't1'), which has a fused activation"),
        (asymmetric, 0, 3, "FULLY_CONNECTED (operator 0 at 't3'), which has 't1' with a zero point"),
        (rescaled, 127, 128, "QUANTIZE (operator 0 at 't1'), which has 't1' with the zero point 128, which int8 lacks"),
        (joined_with, 0, 3, "CONCATENATION (operator 0 at 't2'), which has 't1' in another quantization"),
        (padded, 0.1, 0.2, "PADV2 (operator 0 at 't3'), which has 't2' in another quantization"),
        (largest, 0.1, 0.2, "REDUCE_MAX (operator 0 at 't2'), which has 't0' in another quantization"),
        (pooled, 0.1, 0.2, "MAX_POOL_2D (operator 1 at 't2'), which has 't1' in another quantization"),
        (backwards, 1, -1, "STRIDED_SLICE (operator 0 at 't4'), which takes nothing of its input"),
        (real_numbers_sliced, 1, 0, "STRIDED_SLICE (operator 1 at 't5'), which does not fit its tensors"),
        (sliced, 0, 1, "STRIDED_SLICE (operator 0 at 't4'), which has an ellipsis, a new axis"),
    ],
)
def test_tflite(operator: Any, kept: Any, dropped: Any, named: str, tmp_path: Path) -> None:
    path = tmp_path / "network.tflite"
    for value in (kept, dropped):
        model = TfliteModel()
        x = model.tensor((1, 8), "int8", 0.1)
        path.write_bytes(model.build([x], [operator(model, x, value)]))
        if value == kept:
            load(path)
    assert named in refused(path)
