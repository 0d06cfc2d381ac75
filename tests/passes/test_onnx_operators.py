"""Networks quantized by onnxruntime against onnxruntime, every integer of every layer."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.passes.pipeline import integer_network
from match.relay.plain import qnn_operators
from match.validation.exact_session import exact_session
from tests.integer_relay import integer_relay
from tests.passes.onnx_models import OnnxModel, executed_operators, expose_integers, quantize
from tests.passes.running import executable, written

pytestmark = pytest.mark.tvm

SHAPE = (1, 3, 12, 10)
FORMS = [("QDQ", "QUInt8", True), ("QOperator", "QInt8", False)]
SMALL_NETWORKS = {}


def network(build):
    SMALL_NETWORKS[build.__name__] = build
    return build


@network
def convolutions(model):
    model.conv(8, pads=[1, 0, 1, 2], strides=[2, 1])
    model.add("Relu")
    model.conv(8, group=8, pads=[1, 1, 1, 1])
    model.add("Clip", model.constant(np.array(0.0)), model.constant(np.array(6.0)))
    model.conv(6, (1, 1), bias=False)
    model.conv(5, (3, 2), dilations=[1, 2])


@network
def residual(model):
    model.conv(6, pads=[1, 1, 1, 1])
    shortcut = model.add("Relu")
    model.conv(6, pads=[1, 1, 1, 1])
    model.add("Add", shortcut)
    model.add("Relu")
    model.conv(4)


@network
def pooling(model):
    model.conv(4)
    model.add("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    model.add("AveragePool", kernel_shape=[2, 2], strides=[1, 1])
    model.conv(6, (1, 1))
    model.add("GlobalAveragePool")


@network
def classifier(model):
    model.conv(5, strides=[2, 2], auto_pad="SAME_UPPER")
    model.add("Relu")
    model.add("Flatten")
    model.gemm(150, 7, transposed=False)
    model.add("Relu")
    model.gemm(7, 3, bias=False)


@network
def groups(model):
    model.conv(6, group=3, pads=[1, 1, 1, 1])
    model.conv(8, group=2)


@network
def as_many_groups_as_channels_in_each(model):
    model.conv(4)
    model.conv(9, group=1)
    model.conv(12, group=3, pads=[1, 1, 1, 1])
    model.conv(4, (1, 1))
    model.conv(6, group=2)


@network
def several_outputs_for_each_channel(model):
    model.conv(6, group=3)
    model.conv(4, (1, 1))
    model.conv(12, group=4, pads=[1, 1, 1, 1])


@network
def joined(model):
    model.conv(4)
    first = model.add("LeakyRelu", alpha=0.1)
    model.current, model.channels = "x", 3
    model.conv(5)
    model.add("Sigmoid")
    model.add("Concat", first, axis=1)
    model.channels = 9
    model.conv(4, (1, 1))


@network
def padded_alone(model):
    model.conv(4)
    for mode in ("reflect", "edge"):
        model.add("Pad", model.constant(np.array([0, 0, 1, 2, 0, 0, 2, 0])), mode=mode)
    model.add("Pad", model.constant(np.array([0, 1, 0, 0, 0, 1, 1, 1])), model.constant(np.array(0.4)))
    model.channels = 6
    model.conv(4, (1, 1))


@network
def enlarged_and_folded(model):
    model.conv(4)
    model.add("Resize", "", "", model.constant(np.array([1, 4, 14, 12])), mode="nearest")
    model.add("SpaceToDepth", blocksize=2)
    model.channels = 16
    model.conv(4, (1, 1))
    model.add("Tile", model.constant(np.array([1, 2, 1, 1])))
    model.channels = 8
    model.conv(4, (1, 1))


@network
def sloped(model):
    """Slopes without a batch's axis, as PyTorch's exporter writes them, which its quantizer leaves as they are."""
    model.conv(4)
    model.add("PRelu", model.constant(np.array([-0.2, 0.1, 0.3, 0.7]).reshape(4, 1, 1)))
    model.conv(4, (1, 1))
    model.add("PRelu", model.constant(np.array([0.3])))
    model.conv(4, (1, 1))


@network
def functions(model):
    model.conv(4)
    for kind in ("Sin", "Floor", "Atan", "Sinh", "Sign", "Cos", "Ceil"):
        model.add(kind)
        model.conv(4, (1, 1))
    model.add("Pow", model.constant(np.array(3.0)))
    model.conv(4, (1, 1))


@network
def extrema(model):
    first = model.conv(4)
    model.conv(4, (1, 1))
    second = model.add("Max", first)
    third = model.conv(4, (1, 1))
    model.conv(4, (1, 1))
    model.add("Min", second)
    model.conv(4, (1, 1))
    model.add("Max", second, third)


@network
def products(model):
    first = model.conv(4)
    model.conv(4, (1, 1))
    model.current, second = first, model.current
    model.add("Mul", second)


@network
def constants_beside(model):
    """Constants of each channel, of each pixel and of all elements, in either order."""
    model.conv(4)
    model.add("Add", model.constant(model.rng.normal(0, 1, (1, 4, 1, 1))))
    model.add("Mul", model.constant(model.rng.normal(0, 1, (1, 4, 1, 1))))
    model.add("Add", model.constant(model.rng.normal(0, 1, (1, 4, 10, 8))))
    model.add("Mul", model.constant(np.array(0.37)))
    model.add("Add", model.constant(np.array([-0.61])))
    model.current, number = model.constant(np.array(1.7)), model.current
    model.add("Mul", number)
    model.current, number = model.constant(np.array(0.3)), model.current
    model.add("Add", number)
    model.current, each = model.constant(model.rng.normal(0, 1, (1, 4, 1, 1))), model.current
    model.add("Add", each)
    model.conv(3)


@network
def slopes_of_each_channel(model):
    """PReLU with slopes above and below 0 and 1."""
    model.conv(4)
    model.add("PRelu", model.constant(np.array([0.3, -0.2, 1.7, 0]).reshape(4, 1, 1)))
    model.conv(3)


@network
def slopes_that_are_computed(model):
    """PReLU of two tensors: a table of pairs."""
    first = model.conv(4)
    model.conv(4, (1, 1))
    model.add("PRelu", first)
    model.conv(3)


@network
def one_matrix_for_all(model):
    first = model.conv(1)
    model.current, model.channels = "x", 3
    model.conv(4)
    all_of_them = model.current
    model.current = first
    one = model.add("Transpose", perm=[0, 1, 3, 2])
    model.current = all_of_them
    model.add("MatMul", one)


@network
def each_matrix_with_each(model):
    model.conv(3)
    second = model.add("Transpose", perm=[0, 1, 3, 2])
    model.current, model.channels = "x", 3
    model.conv(4)
    model.add("Reshape", model.constant(np.array([4, 1, 10, 8])))
    model.add("MatMul", second)


@network
def padded(model):
    model.conv(4)
    model.add("Pad", model.constant(np.array([0, 0, 1, 2, 0, 0, 0, 1])))
    model.conv(3)


@network
def squares_of_pixels_out_of_channels(model):
    """Those of a square side by side in the input's channels, or those of a channel."""
    for mode in ("DCR", "CRD"):
        model.conv(8, pads=[1, 1, 1, 1])
        model.add("DepthToSpace", blocksize=2, mode=mode)
        model.channels = 2
    model.conv(3)


def compare(path, samples=3, scale=1.0):
    model = load(path)
    module = integer_network(model, "uint8")
    assert not qnn_operators(written(module))
    run, reference = executable(module), exact_session(path)
    rng = np.random.default_rng(5)
    distinct = set()
    for _ in range(samples):
        x = {"x": rng.normal(0, scale, model.inputs[0].shape).astype(np.float32)}
        expected = reference.run(None, x)
        for one, other in zip(expected, run(x), strict=True):
            np.testing.assert_array_equal(other, one)
        distinct |= set(np.unique(expected[-1]).tolist())
    assert len(distinct) > 4, "the outputs hardly vary"
    return module


@pytest.mark.parametrize("form", FORMS, ids=["-".join(map(str, form)) for form in FORMS])
@pytest.mark.parametrize("name", SMALL_NETWORKS)
def test_every_integer(tmp_path, name, form):
    model = OnnxModel(SHAPE)
    SMALL_NETWORKS[name](model)
    path = expose_integers(quantize(model, tmp_path, *form))
    operators = executed_operators(path)
    assert not operators & {"Conv", "Gemm", "MatMul", "Add", "Mul"}, "onnxruntime left layers in floating point"
    compare(path)


def test_wide_accumulators_have_exceptions(tmp_path):
    """With thousands of products float32 rounding shows: no line has these steps, so exceptions are written out."""
    model = OnnxModel(SHAPE)
    model.conv(48, pads=[1, 1, 1, 1])
    model.add("Relu")
    model.conv(64)
    model.add("Relu")
    path = expose_integers(quantize(model, tmp_path, "QDQ", "QUInt8", True))
    module = compare(path, samples=8)
    text = written(module).astext(show_meta_data=False)
    assert "logical_or" in text


def test_accumulators_beyond_float32_are_scaled_in_float32(tmp_path):
    """Sums above 2**24 lose their last bits in onnxruntime, at more steps than are worth listing."""
    rng = np.random.default_rng(0)
    names = {"scale": np.float32(1), "zero": np.uint8(0), "large": np.float32(2.0**18.3), "middle": np.uint8(128)}
    weights = rng.integers(-60, 61, (6000, 4)).astype(np.int8)
    weights[:, :2] = np.abs(weights[:, :2])
    constants = [numpy_helper.from_array(np.array(value), name) for name, value in names.items()]
    constants += [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.int8(0), "wzero")]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["xq"]),
        helper.make_node("QLinearMatMul", ["xq", "scale", "zero", "w", "scale", "wzero", "large", "middle"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6000])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 4])],
        constants,
    )
    path = tmp_path / "wide.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    module = integer_relay(load(path), "uint8")
    assert 'dtype="float32"' in written(module).astext(show_meta_data=False)
    run, reference = executable(module), exact_session(path)
    for level in range(1, 256, 2):
        x = {"x": np.clip(rng.normal(level, 3, (1, 6000)), 0, 255).astype(np.float32)}
        np.testing.assert_array_equal(run(x)[0], reference.run(None, x)[0])


def test_signed_activations_in_qdq_form(tmp_path):
    """Onnxruntime runs some of these convolutions in float32, which is exact enough to give the same integers here."""
    model = OnnxModel(SHAPE)
    pooling(model)
    compare(expose_integers(quantize(model, tmp_path, "QDQ", "QInt8", True)))


def test_float_inputs_and_outputs(tmp_path):
    model = OnnxModel(SHAPE)
    classifier(model)
    path = quantize(model, tmp_path, "QDQ", "QUInt8", True)
    loaded = load(path)
    run, reference = executable(integer_network(loaded, "uint8")), exact_session(path)
    rng = np.random.default_rng(6)
    for _ in range(20):
        x = {"x": rng.normal(0, 1, SHAPE).astype(np.float32)}
        np.testing.assert_array_equal(run(x)[0], reference.run(None, x)[0])


def test_a_reduction_of_the_map_is_pooling(tmp_path):
    model = OnnxModel(SHAPE)
    model.conv(4)
    model.add("ReduceMean", axes=[2, 3], keepdims=0)
    model.gemm(4, 3)
    module = compare(expose_integers(quantize(model, tmp_path, "QDQ", "QUInt8", True)), samples=8)
    assert "sum(" in written(module).astext(show_meta_data=False)


def test_flattening_costs_no_transposition(tmp_path):
    model = OnnxModel(SHAPE)
    classifier(model)
    path = quantize(model, tmp_path, "QDQ", "QUInt8", True)
    assert integer_relay(load(path), "uint8").astext(show_meta_data=False).count("transpose(") == 1
