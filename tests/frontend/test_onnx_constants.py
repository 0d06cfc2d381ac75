"""Constants that an ONNX graph computes, and those of 4 bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.errors import ModelError
from match.frontend import load
from match.frontend.onnx_constants import with_constants
from match.passes.pipeline import integer_network
from match.relay.objects import expressions, main_function
from match.relay.rewrite import is_call
from match.validation.exact_session import exact_session, with_own_weights
from tests.passes.running import Compiled

pytestmark = pytest.mark.tvm

RNG = np.random.default_rng(6)


def tensor(name: str, values: Any, dtype: str = "float32") -> Any:
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def four_bits(name: str, values: Any, kind: int = TensorProto.INT4) -> Any:
    values = np.asarray(values)
    return helper.make_tensor(name, kind, values.shape, values.reshape(-1))


def model(nodes: list[Any], constants: list[Any], *, opset: int = 21, ir_version: int = 10) -> Any:
    graph = helper.make_graph(
        nodes,
        "constants",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])],
        [tensor("scale", 0.05), tensor("zero", 3, "uint8"), *constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def layer(weights: str, **axis: int) -> list[Any]:
    """A dense layer between a quantize and a dequantize, on weights with scales and zero points."""
    return [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], name="quantize"),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        helper.make_node("DequantizeLinear", [weights, "scales", "zeros"], ["w"], **axis),
        helper.make_node("Gemm", ["d", "w"], ["sums"], transB=1),
        helper.make_node("QuantizeLinear", ["sums", "scale", "zero"], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "scale", "zero"], ["y"]),
    ]


FLOATS = RNG.normal(0, 1, (3, 4)).astype(np.float32)
SCALES = (np.abs(FLOATS).max(axis=1) / 7).astype(np.float32)


def test_quantized_weights_are_computed() -> None:
    """As exporters write them: transposed, quantized, limited to fewer bits, through Constant operators."""
    constant = helper.make_node("Constant", [], ["most"], value=tensor("", 7, "int8"))
    least = helper.make_node("Constant", [], ["least"], value=tensor("", -7, "int8"))
    computed = [
        helper.make_node("Transpose", ["floats"], ["rows"], perm=[1, 0]),
        helper.make_node("QuantizeLinear", ["rows", "scales", "zeros"], ["bytes"], axis=0),
        helper.make_node("Clip", ["bytes", "least", "most"], ["limited"]),
    ]
    constants = [tensor("floats", FLOATS.T), tensor("scales", SCALES / 2), tensor("zeros", [0, 0, 0], "int8")]
    folded = with_constants(model([constant, least, *computed, *layer("limited", axis=0)], constants), "x.onnx").graph
    kinds = ["QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Gemm", "QuantizeLinear", "DequantizeLinear"]
    assert [node.op_type for node in folded.node] == kinds
    initializers = {each.name: numpy_helper.to_array(each) for each in folded.initializer}
    assert initializers.keys() == {"scale", "zero", "scales", "zeros", "limited"}
    assert initializers["limited"].dtype == np.int8
    assert np.array_equal(initializers["limited"], np.rint(FLOATS / (SCALES / 2)[:, None]).clip(-7, 7))


def test_scales_that_follow_from_weights_are_computed() -> None:
    """As PyTorch exports a fake quantization whose scales are the largest weights."""
    computed = [
        helper.make_node("Abs", ["floats"], ["sizes"]),
        helper.make_node("ReduceMax", ["sizes", "axes"], ["largest"], keepdims=0),
        helper.make_node("Div", ["largest", "most"], ["scales"]),
        helper.make_node("QuantizeLinear", ["floats", "scales", "zeros"], ["bytes"], axis=0),
    ]
    constants = [
        tensor("floats", FLOATS),
        tensor("most", 7),
        tensor("zeros", [0, 0, 0], "int8"),
        tensor("axes", [1], "int64"),
    ]
    folded = with_constants(model([*computed, *layer("bytes", axis=0)], constants), "x.onnx").graph
    initializers = {each.name: numpy_helper.to_array(each) for each in folded.initializer}
    assert np.array_equal(initializers["scales"], SCALES)
    assert np.array_equal(initializers["bytes"], np.rint(FLOATS / SCALES[:, None]))


def test_constants_that_are_quantized_again_are_computed() -> None:
    """As onnxruntime's quantizer writes what several operators read: dequantized, handed on, quantized anew."""
    again = [
        helper.make_node("DequantizeLinear", ["coarse", "coarse_scale"], ["reals"], axis=0),
        helper.make_node("Identity", ["reals"], ["same"]),
        helper.make_node("QuantizeLinear", ["same", "scales", "zeros"], ["levels"], axis=0),
    ]
    coarse, coarse_scale = RNG.integers(-128, 128, (3, 4)), np.array([0.5, 0.25, 0.125])
    constants = [tensor("coarse", coarse, "int8"), tensor("coarse_scale", coarse_scale)]
    constants += [tensor("scales", [0.7, 0.7, 0.7]), tensor("zeros", [1, 2, 3], "int8")]
    folded = with_constants(model([*again, *layer("levels", axis=0)], constants), "x.onnx").graph
    (levels,) = [numpy_helper.to_array(each) for each in folded.initializer if each.name == "levels"]
    steps = (coarse * coarse_scale[:, None] / np.float32(0.7)).astype(np.float32)
    assert np.array_equal(levels, np.add(np.rint(steps), [[1], [2], [3]]).clip(-128, 127))


def test_parts_of_constants_that_are_quantized_again_are_computed() -> None:
    """As the weights of an attention's projections, which are one tensor: split, quantized, turned, quantized."""
    again = [
        helper.make_node("DequantizeLinear", ["all", "scale_of_all"], ["reals"], axis=0),
        helper.make_node("Split", ["reals"], ["queries", "keys"], axis=0, num_outputs=2),
        helper.make_node("QuantizeLinear", ["keys", "scale_of_all"], ["integers"], axis=0),
        helper.make_node("DequantizeLinear", ["integers", "scale_of_all"], ["keys_again"], axis=0),
        helper.make_node("Transpose", ["keys_again"], ["turned"], perm=[1, 0]),
        helper.make_node("QuantizeLinear", ["turned", "scales", "zeros"], ["levels"], axis=0),
    ]
    every = RNG.integers(0, 256, (8, 3))
    constants = [tensor("all", every, "uint8"), tensor("scale_of_all", np.float32(0.5))]
    constants += [tensor("scales", [0.7, 0.7, 0.7]), tensor("zeros", [1, 2, 3], "int8")]
    folded = with_constants(model([*again, *layer("levels", axis=0)], constants), "x.onnx").graph
    (levels,) = [numpy_helper.to_array(each) for each in folded.initializer if each.name == "levels"]
    steps = (every[4:].T * np.float32(0.5) / np.float32(0.7)).astype(np.float32)
    assert np.array_equal(levels, np.add(np.rint(steps), [[1], [2], [3]]).clip(-128, 127))


@pytest.mark.parametrize(("kind", "dtype", "zero"), [(TensorProto.INT4, "int8", 0), (TensorProto.UINT4, "uint8", 8)])
def test_weights_of_4_bits_become_bytes(kind: int, dtype: str, zero: int, tmp_path: Path) -> None:
    levels = np.rint(FLOATS / SCALES[:, None]).astype(int) + zero
    narrow = [four_bits("levels", levels, kind), four_bits("zeros", [zero] * 3, kind), tensor("scales", SCALES)]
    wide = [tensor("levels", levels, dtype), tensor("zeros", [zero] * 3, dtype), tensor("scales", SCALES)]
    onnx.save(model(layer("levels", axis=0), narrow), tmp_path / "narrow.onnx")
    data = load(tmp_path / "narrow.onnx").data
    assert data is not None
    x = RNG.normal(0, 4, (1, 4)).astype(np.float32)
    expected = exact_session(model(layer("levels", axis=0), wide).SerializeToString()).run(None, {"x": x})[0]
    assert np.array_equal(exact_session(data).run(None, {"x": x})[0], expected)
    assert np.any(expected)


def test_what_is_handed_on_is_read_where_it_comes_from() -> None:
    """Identity operators in a row disappear, but for one that makes an output of the network."""
    nodes = [
        helper.make_node("Identity", ["x"], ["a"]),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Identity", ["c"], ["y"]),
    ]
    folded = with_constants(model(nodes, []), "x.onnx").graph
    assert [(node.op_type, *node.input) for node in folded.node] == [("Relu", "x"), ("Identity", "c")]


def test_weights_that_operators_make_4_bits_become_bytes(tmp_path: Path) -> None:
    """Also where the file says of the tensor that it has 4 bits."""
    quantize = helper.make_node("QuantizeLinear", ["floats", "scales", "zeros"], ["levels"], axis=0)
    constants = [tensor("floats", 1.5 * FLOATS), tensor("scales", SCALES), four_bits("zeros", [0] * 3)]
    proto = onnx.shape_inference.infer_shapes(model([quantize, *layer("levels", axis=0)], constants))
    assert any(value.name == "levels" for value in proto.graph.value_info)
    onnx.save(proto, tmp_path / "model.onnx")
    data = load(tmp_path / "model.onnx").data
    assert data is not None
    (levels,) = [each for each in onnx.load_from_string(data).graph.initializer if each.name == "levels"]
    expected = np.rint(1.5 * FLOATS / SCALES[:, None]).clip(-8, 7)
    assert np.array_equal(numpy_helper.to_array(levels), expected)
    assert expected.min() == -8


def test_what_follows_from_shapes_is_computed() -> None:
    """Half of the channels, whose number exporters take from the tensor."""
    constants = [tensor("one", 1, "int64"), tensor("two", 2, "int64"), tensor("none", [0], "int64")]
    nodes = [
        helper.make_node("Shape", ["x"], ["extents"]),
        helper.make_node("Gather", ["extents", "one"], ["channels"], axis=0),
        helper.make_node("Div", ["channels", "two"], ["half"]),
        helper.make_node("Unsqueeze", ["half", "none"], ["end"]),
        helper.make_node("Shape", ["x"], ["rows"], end=1),
        helper.make_node("Concat", ["rows", "end"], ["wanted"], axis=0),
        helper.make_node("Slice", ["x", "none", "end", "axis"], ["part"]),
        helper.make_node("Reshape", ["part", "wanted"], ["y"]),
    ]
    proto = model(nodes, [*constants, tensor("axis", [1], "int64")])
    proto.graph.value_info.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 40]))
    folded = with_constants(proto, "x.onnx").graph
    assert [node.op_type for node in folded.node] == ["Slice", "Reshape"]
    initializers = {each.name: numpy_helper.to_array(each).tolist() for each in folded.initializer}
    assert initializers == {"none": [0], "axis": [1], "end": [2], "wanted": [1, 2]}


def test_activations_of_4_bits_are_refused(tmp_path: Path) -> None:
    nodes = layer("levels", axis=0)
    for node in (nodes[0], nodes[1]):
        node.input[2] = "narrow"
    constants = [tensor("levels", FLOATS, "int8"), tensor("scales", SCALES), tensor("zeros", [0] * 3, "int8")]
    onnx.save(model(nodes, [*constants, four_bits("narrow", 0)]), tmp_path / "model.onnx")
    with pytest.raises(
        ModelError, match=r"model.onnx has QuantizeLinear \(quantize\) to 4 bits; activations of 8 bits"
    ):
        load(tmp_path / "model.onnx")


def test_operators_of_other_domains_are_left_alone() -> None:
    """The QuantizeLinear of onnxruntime itself, for types that that of ONNX had not at the time."""
    quantize = helper.make_node(
        "QuantizeLinear", ["floats", "scales", "zeros"], ["levels"], domain="com.microsoft", axis=0
    )
    constants = [tensor("floats", FLOATS), tensor("scales", SCALES), tensor("zeros", [0] * 3, "int8")]
    proto = model([quantize, *layer("levels", axis=0)], constants)
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert with_constants(proto, "x.onnx").graph.node[0].output[0] == "levels"


def test_constants_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Three scales along an axis of four."""
    quantize = helper.make_node("QuantizeLinear", ["levels", "scales", "zeros"], ["again"], name="weights", axis=1)
    scales = [tensor("scales", SCALES), tensor("zeros", [0] * 3, "int8")]
    onnx.save(model([quantize, *layer("again", axis=0)], [*scales, tensor("levels", FLOATS)]), tmp_path / "floats.onnx")
    onnx.save(model(layer("levels", axis=1), [*scales, tensor("levels", FLOATS, "int8")]), tmp_path / "bytes.onnx")
    for name, what in ("floats", r"QuantizeLinear \(weights\)"), ("bytes", r"DequantizeLinear \(w\)"):
        with pytest.raises(ModelError, match=rf"{name}.onnx has {what} on constants that it does not fit"):
            load(tmp_path / f"{name}.onnx")


def test_constants_that_were_inputs_are_none() -> None:
    """Files of old exporters list every initializer among the inputs."""
    proto = model(
        [
            helper.make_node("Clip", ["floats"], ["clipped"], min=-1.0, max=1.0),
            helper.make_node("Add", ["x", "clipped"], ["y"]),
        ],
        [tensor("floats", [0.5, 2, -3, 0])],
        opset=6,
        ir_version=3,
    )
    proto.graph.input.append(helper.make_tensor_value_info("floats", TensorProto.FLOAT, [4]))
    folded = with_constants(proto, "x.onnx").graph
    assert [value.name for value in folded.input] == ["x"]
    assert [node.op_type for node in folded.node] == ["Add"]
    (clipped,) = [numpy_helper.to_array(each) for each in folded.initializer if each.name == "clipped"]
    assert clipped.tolist() == [0.5, 1, -1, 0]


def test_what_a_branch_reads_and_what_the_network_hands_out_is_kept() -> None:
    branches = {
        name: helper.make_graph(
            [helper.make_node("Add", ["x", read], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])],
        )
        for name, read in (("then", "doubled"), ("else", "bias"))
    }
    nodes = [
        helper.make_node("Add", ["bias", "bias"], ["doubled"]),
        helper.make_node("If", ["flag"], ["z"], then_branch=branches["then"], else_branch=branches["else"]),
        helper.make_node("Add", ["bias", "bias"], ["y"]),
    ]
    proto = model(nodes, [tensor("bias", np.arange(3)), tensor("flag", True, "bool")])
    folded = with_constants(proto, "x.onnx").graph
    assert [node.op_type for node in folded.node] == ["If", "Add"]
    assert {each.name for each in folded.initializer} >= {"bias", "doubled", "flag"}


def test_each_zero_point_of_weights_is_a_tensor_of_its_own() -> None:
    """Or onnxruntime could not turn int8 weights to uint8: here one tensor is the zero point of all."""
    levels = np.rint(FLOATS / SCALES[:, None])
    nodes = layer("levels")
    nodes[2].input[2] = nodes[0].input[2] = nodes[1].input[2] = "zeros"
    constants = [tensor("levels", levels, "int8"), tensor("scales", 0.1), tensor("zeros", 0, "int8")]
    proto = model(nodes, constants)
    own = onnx.load_from_string(with_own_weights(proto.SerializeToString()))
    weights = own.graph.node[2].input[2]
    assert [list(node.input).count(weights) for node in own.graph.node] == [0, 0, 1, 0, 0, 0]
    x = RNG.normal(0, 4, (1, 4)).astype(np.float32)
    inputs = np.rint(x / np.float32(0.05)).clip(-128, 127)
    steps = np.rint(inputs @ levels.T * 0.1 * 0.05 / 0.05).clip(-3, 252)
    (outputs,) = exact_session(own.SerializeToString()).run(None, {"x": x})
    assert np.abs(outputs / 0.05 - steps).max() < 1e-3


def test_each_reader_of_weights_has_its_own() -> None:
    nodes = layer("levels")
    nodes.insert(4, helper.make_node("Gemm", ["d", "w", "sums"], ["both"], transB=1))
    nodes[5].input[0] = "both"
    levels = np.rint(FLOATS / SCALES[:, None])
    constants = [tensor("levels", levels, "int8"), tensor("scales", 0.1), tensor("zeros", 0, "int8")]
    proto = model(nodes, constants)
    own = onnx.load_from_string(with_own_weights(proto.SerializeToString())).graph
    read = [
        node.input[0] for node in own.node if node.op_type == "DequantizeLinear" and node.input[0].startswith("levels")
    ]
    assert len(read) == len(set(read)) == 2
    x = RNG.normal(0, 4, (1, 4)).astype(np.float32)
    inputs = np.rint(x / np.float32(0.05)).clip(-3, 252) * 0.05
    steps = np.rint(2 * inputs @ levels.T * 0.1 / 0.05).clip(-3, 252)
    (outputs,) = exact_session(with_own_weights(proto.SerializeToString())).run(None, {"x": x})
    assert np.abs(outputs / 0.05 - steps).max() <= 1.001
    assert np.mean(np.abs(outputs / 0.05 - steps) > 0.001) < 0.5


@pytest.mark.parametrize(("shape", "refused"), [([1, -1], False), ([0, 4], True)])
def test_a_reshape_that_keeps_no_extent(shape: list[int], refused: bool, tmp_path: Path) -> None:
    """PyTorch's exporter says so of each; only a 0 in the shape has another meaning then."""
    nodes = layer("levels", axis=0)
    nodes.insert(0, helper.make_node("Reshape", ["x", "shape"], ["flat"], name="view", allowzero=1))
    nodes[1].input[0] = "flat"
    constants = [tensor("levels", FLOATS, "int8"), tensor("scales", SCALES), tensor("zeros", [0] * 3, "int8")]
    proto = model(nodes, [*constants, tensor("shape", shape, "int64")])
    onnx.save(proto, tmp_path / "model.onnx")
    if refused:
        with pytest.raises(ModelError, match=r"Reshape \(view\) with the attribute 'allowzero' of 1 and a shape"):
            load(tmp_path / "model.onnx")
    else:
        assert load(tmp_path / "model.onnx").inputs[0].shape == (1, 4)


def test_weights_that_operators_multiply_are_their_own() -> None:
    """Operators on integers read weights without a dequantize between."""
    levels = RNG.integers(-127, 128, (4, 4))
    nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q0"])]
    for step in range(2):
        tensors = [f"q{step}", "scale", "zero", "levels", "weight_scale", "weight_zero", "scale", "zero"]
        nodes.append(helper.make_node("QLinearMatMul", tensors, [f"q{step + 1}"]))
    nodes.append(helper.make_node("DequantizeLinear", ["q2", "scale", "zero"], ["y"]))
    constants = [tensor("levels", levels, "int8"), tensor("weight_scale", 0.01), tensor("weight_zero", 0, "int8")]
    proto = model(nodes, constants)
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 4
    separate = with_own_weights(proto.SerializeToString())
    products = [node for node in onnx.load_from_string(separate).graph.node if node.op_type == "QLinearMatMul"]
    weights = [name for node in products for name in (node.input[3], node.input[5])]
    assert len(set(weights)) == len(weights)
    x = RNG.normal(0, 2, (1, 4)).astype(np.float32)
    (ours,) = exact_session(separate).run(None, {"x": x})
    (expected,) = exact_session(proto.SerializeToString(), fused=False, signed=True).run(None, {"x": x})
    assert np.array_equal(ours, expected)
    assert np.any(expected)


def test_a_scale_between_two_quantizations_is_kept_by_the_reference() -> None:
    """Where a tensor is quantized twice in a row onnxruntime would do so once."""
    kinds = "QuantizeLinear", "DequantizeLinear", "QuantizeLinear", "DequantizeLinear"
    names = ["x", "a", "b", "c", "y"]
    nodes = [
        helper.make_node(kind, [names[at], "coarse" if at < 2 else "scale", "zero"], [names[at + 1]])
        for at, kind in enumerate(kinds)
    ]
    proto = model(nodes, [tensor("coarse", 0.7)])
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 4
    x = np.array([[0.1, 0.3, 0.5, 1.2]], np.float32)
    coarse = np.rint(x / np.float32(0.7)) * np.float32(0.7)
    expected = np.rint(coarse / np.float32(0.05)) * np.float32(0.05)
    assert np.array_equal(exact_session(proto.SerializeToString()).run(None, {"x": x})[0], expected)


def test_a_mask_that_operators_write_is_computed() -> None:
    """As exporters write those of windows in attention: numbers of regions, compared with each other."""
    shape = helper.make_node("ConstantOfShape", ["extents"], ["nothing"], value=tensor("", [0]))
    nodes = [
        shape,
        helper.make_node("ScatterND", ["nothing", "where", "numbers"], ["regions"], reduction="none"),
        helper.make_node("Unsqueeze", ["regions", "last"], ["column"]),
        helper.make_node("Sub", ["regions", "column"], ["apart"]),
        helper.make_node("Equal", ["apart", "zero"], ["together"]),
        helper.make_node("Where", ["together", "zero", "far"], ["mask"]),
        helper.make_node("MatMul", ["x", "mask"], ["y"]),
    ]
    constants = [
        tensor("extents", [4], "int64"),
        tensor("where", [[1], [3]], "int64"),
        tensor("numbers", [2, 2]),
        tensor("last", [1], "int64"),
        tensor("far", -100),
    ]
    proto = model(nodes, constants)
    del proto.graph.initializer[:2]
    proto.graph.initializer.append(tensor("zero", 0))
    folded = with_constants(proto, "x.onnx").graph
    assert [(node.op_type, *node.input) for node in folded.node] == [("MatMul", "x", "mask")]
    (mask,) = folded.initializer
    regions = np.array([0, 2, 0, 2])
    assert np.array_equal(numpy_helper.to_array(mask), np.where(regions == regions[:, None], 0, -100))


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_elements_are_replaced(reduction: str, tmp_path: Path) -> None:
    """`reduction` is "none" in files of current exporters, which is what it is without one."""
    nodes = [
        *layer("levels", axis=0)[:-1],
        helper.make_node("DequantizeLinear", ["r", "scale", "zero"], ["d3"]),
        helper.make_node("ScatterND", ["d3", "where", "numbers"], ["y"], reduction=reduction),
    ]
    constants = [
        tensor("levels", FLOATS / SCALES[:, None], "int8"),
        tensor("scales", SCALES),
        tensor("zeros", [0] * 3, "int8"),
        tensor("where", [[0, 2], [0, 0]], "int64"),
        tensor("numbers", [5, 6]),
    ]
    onnx.save(model(nodes, constants), tmp_path / "model.onnx")
    module = integer_network(load(tmp_path / "model.onnx"))
    x = RNG.normal(0, 4, (1, 4)).astype(np.float32)
    (ours,) = Compiled(module)({"x": x})
    (expected,) = exact_session((tmp_path / "model.onnx").read_bytes()).run(None, {"x": x})
    assert np.array_equal(ours, expected)


@pytest.mark.parametrize(("places", "takes"), [([0, 1, 2], False), ([2, 1, 0], True), ([0, 1, 1], True)])
def test_all_places_in_order_are_a_view(places: list[int], takes: bool, tmp_path: Path) -> None:
    """As exporters write a mean that keeps its axes."""
    nodes = [
        *layer("levels", axis=0)[:-1],
        helper.make_node("DequantizeLinear", ["r", "scale", "zero"], ["d3"]),
        helper.make_node("Reshape", ["d3", "vector"], ["flat"]),
        helper.make_node("Gather", ["flat", "places"], ["viewed"]),
        helper.make_node("Reshape", ["viewed", "row"], ["y"]),
    ]
    constants = [
        tensor("levels", FLOATS / SCALES[:, None], "int8"),
        tensor("scales", SCALES),
        tensor("zeros", [0] * 3, "int8"),
        tensor("vector", [-1], "int64"),
        tensor("places", [[[place]] for place in places], "int64"),
        tensor("row", [1, 3], "int64"),
    ]
    onnx.save(model(nodes, constants), tmp_path / "model.onnx")
    loaded = load(tmp_path / "model.onnx")
    assert any(is_call(expr, "take", "reverse") for expr in expressions(main_function(loaded.module))) == takes
    x = RNG.normal(0, 4, (1, 4)).astype(np.float32)
    (ours,) = Compiled(integer_network(loaded))({"x": x})
    (expected,) = exact_session((tmp_path / "model.onnx").read_bytes()).run(None, {"x": x})
    assert np.array_equal(ours, expected)


def test_bounds_of_a_clip_that_are_quantized() -> None:
    """As quantizers write them that quantize every constant: the clip has numbers."""
    bounds = [
        helper.make_node("DequantizeLinear", [f"{end}_q", "eighth", "none"], [end], name=f"real {end}")
        for end in ("least", "most")
    ]
    nodes = layer("bytes", axis=0)
    clip = helper.make_node("Clip", ["sums", "least", "most"], ["clipped"], name="clip")
    nodes[4] = helper.make_node("QuantizeLinear", ["clipped", "scale", "zero"], ["r"])
    constants = [
        tensor("bytes", np.clip(np.rint(FLOATS / SCALES[:, None]), -7, 7), "int8"),
        tensor("scales", SCALES),
        tensor("zeros", [0, 0, 0], "int8"),
        tensor("eighth", 0.125),
        tensor("none", 0, "int8"),
        tensor("least_q", 0, "int8"),
        tensor("most_q", 9, "int8"),
    ]
    quantized = model([*nodes[:4], *bounds, clip, *nodes[4:]], constants)
    plain = model([*nodes[:4], clip, *nodes[4:]], [*constants[:3], tensor("least", 0.0), tensor("most", 1.125)])
    given = with_constants(quantized, "model.onnx")
    (found,) = [node for node in given.graph.node if node.op_type == "Clip"]
    values = {one.name: numpy_helper.to_array(one) for one in given.graph.initializer}
    assert [float(values[name]) for name in found.input[1:]] == [0.0, 1.125]
    x = np.linspace(-4, 4, 400, dtype=np.float32).reshape(100, 1, 4)
    outputs = [
        [exact_session(proto.SerializeToString()).run(None, {"x": row})[0] for row in x] for proto in (given, plain)
    ]
    assert len(np.unique(outputs[1])) > 4
    np.testing.assert_array_equal(outputs[0], outputs[1])


@pytest.mark.parametrize("quantized", [False, True])
def test_bounds_of_a_clip_the_wrong_way_round(*, quantized: bool, tmp_path: Path) -> None:
    """ONNX clips at the lower one first, so that the upper one is left of everything."""
    nodes = layer("bytes", axis=0)
    nodes[4] = helper.make_node("QuantizeLinear", ["clipped", "scale", "zero"], ["r"])
    ends = [
        helper.make_node("DequantizeLinear", [f"{end}_q", "eighth", "none"], [end], name=f"real {end}")
        for end in ("least", "most")
    ]
    clip = helper.make_node("Clip", ["sums", "least", "most"], ["clipped"], name="clip")
    constants = [
        tensor("bytes", np.clip(np.rint(FLOATS / SCALES[:, None]), -7, 7), "int8"),
        tensor("scales", SCALES),
        tensor("zeros", [0, 0, 0], "int8"),
        tensor("eighth", 0.125),
        tensor("none", 0, "int8"),
    ]
    if quantized:
        constants += [tensor("least_q", 9, "int8"), tensor("most_q", 3, "int8")]
    else:
        constants += [tensor("least", 1.125), tensor("most", 0.375)]
    proto = model([*nodes[:4], *(ends if quantized else ()), clip, *nodes[4:]], constants)
    onnx.save(proto, tmp_path / "model.onnx")
    module = integer_network(load(tmp_path / "model.onnx"))
    x = np.array([[-1, 0, 2, 3]], np.float32)
    (expected,) = exact_session(proto.SerializeToString()).run(None, {"x": x})
    (found,) = Compiled(module)({"x": x})
    np.testing.assert_allclose(expected, 0.4, atol=1e-6)
    np.testing.assert_array_equal(found, expected)
