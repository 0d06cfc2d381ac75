"""ONNX files that say the same in another way are read, and what they say that cannot be compiled is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.passes.pipeline import integer_network
from match.validation.exact_session import exact_session
from tests.frontend.refusals import refusal
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

_rng = np.random.default_rng(3)
CONSTANTS: dict[str, Any] = {
    "s": np.float32(0.03),
    "z": np.int8(5),
    "w": _rng.integers(-127, 128, (6, 4)).astype(np.int8),
    "ws": np.float32(0.0103),  # of which no multiple is a tie
    "wz": np.int8(0),
}


def node(kind: str, inputs: str, output: str, domain: str = "", **attributes: Any) -> Any:
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(
        kind, names, output.split(), f"{kind.lower()}_{output.split(maxsplit=1)[0]}", domain=domain, **attributes
    )


def network() -> onnx.ModelProto:
    """A dense layer from the float input x to the int8 output y."""
    nodes = [
        node("QuantizeLinear", "x s z", "levels"),
        node("DequantizeLinear", "levels s z", "numbers"),
        node("DequantizeLinear", "w ws wz", "weights"),
        node("MatMul", "numbers weights", "products"),
        node("QuantizeLinear", "products s z", "y"),
    ]
    graph = helper.make_graph(
        nodes,
        "plain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 6))],
        [helper.make_tensor_value_info("y", TensorProto.INT8, (3, 4))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in CONSTANTS.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def with_a_function(model: onnx.ModelProto) -> None:
    body = [node("QuantizeLinear", "a b c", "q"), node("DequantizeLinear", "q b c", "d")]
    opsets = [helper.make_opsetid("", 23)]
    model.functions.append(helper.make_function("own", "Fake", ["a", "b", "c"], ["d"], body, opsets))
    model.opset_import.append(helper.make_opsetid("own", 1))
    del model.graph.node[0]
    model.graph.node[0].CopyFrom(node("Fake", "x s z", "numbers", "own"))


def with_numbers(model: onnx.ModelProto) -> None:
    """Constant operators that hold a number, in the place of scales."""
    for name in ("s", "ws"):
        (found,) = (tensor for tensor in model.graph.initializer if tensor.name == name)
        model.graph.initializer.remove(found)
        model.graph.node.insert(0, node("Constant", "", name, value_float=float(CONSTANTS[name])))


def without_an_output_shape(model: onnx.ModelProto) -> None:
    model.graph.output[0].type.tensor_type.ClearField("shape")


def with_types(model: onnx.ModelProto) -> None:
    """Said by attributes, as opset 21 and 23 may, beside a zero point and in its place."""
    first, dequantize, *_, last = model.graph.node
    first.attribute.append(helper.make_attribute("output_dtype", int(TensorProto.INT8)))
    first.attribute.append(helper.make_attribute("precision", int(TensorProto.FLOAT)))
    dequantize.attribute.append(helper.make_attribute("output_dtype", int(TensorProto.FLOAT)))
    del last.input[2]
    last.attribute.append(helper.make_attribute("output_dtype", int(TensorProto.INT8)))


def with_a_product_of_integers(model: onnx.ModelProto) -> None:
    """MatMulInteger, of uint8 and int8, whose zero points are there and are not."""
    numbers = [("u", np.uint8(90)), ("step", np.float32(CONSTANTS["s"] * CONSTANTS["ws"]))]
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in numbers)
    del model.graph.node[:4]
    before = [
        node("QuantizeLinear", "x s u", "levels"),
        node("MatMulInteger", "levels w u", "sums"),
        node("Cast", "sums", "cast", to=TensorProto.FLOAT),
        node("Mul", "cast step", "products"),
    ]
    for position, one in enumerate(before):
        model.graph.node.insert(position, one)


def with_operators_of_newer_opsets(model: onnx.ModelProto) -> None:
    """Attention of two heads, Swish, and a Cast that speaks of float8."""
    model.opset_import[0].version = 24
    model.graph.initializer.append(numpy_helper.from_array(np.array([0]), "axes"))
    model.graph.node[4].input[0] = "cast"
    before = [
        node("Unsqueeze", "products axes", "batch"),
        node("Attention", "batch batch batch", "attended", q_num_heads=2, kv_num_heads=2),
        node("Squeeze", "attended axes", "rows"),
        node("Swish", "rows", "gated"),
        node("Cast", "gated", "cast", to=TensorProto.FLOAT, saturate=1),
    ]
    for position, one in enumerate(before):
        model.graph.node.insert(4 + position, one)


def with_equal_blocks(model: onnx.ModelProto) -> None:
    """All blocks of each column have one scale."""
    in_blocks(model, np.tile(np.array([0.01, 0.02, 0.015, 0.03], np.float32), (2, 1)))


def with_one_scale_in_blocks(model: onnx.ModelProto) -> None:
    in_blocks(model, np.full((2, 4), 2**-6, np.float32))


def in_blocks(model: onnx.ModelProto, own: npt.NDArray[np.float32] | None = None) -> None:
    own = np.linspace(0.01, 0.02, 8, dtype=np.float32).reshape(2, 4) if own is None else own
    scales = own, np.zeros((2, 4), np.int8)
    for name, values in zip(("ws", "wz"), scales, strict=True):
        (found,) = (tensor for tensor in model.graph.initializer if tensor.name == name)
        found.CopyFrom(numpy_helper.from_array(values, name))
    model.graph.node[2].attribute.extend([helper.make_attribute("block_size", 3), helper.make_attribute("axis", 0)])


@pytest.mark.parametrize(
    "change",
    [
        *(with_a_function, with_numbers, without_an_output_shape, with_types, with_a_product_of_integers),
        *(with_operators_of_newer_opsets, with_equal_blocks, with_one_scale_in_blocks),
    ],
    ids=lambda change: change.__name__,
)
def test_what_is_said_in_another_way(change: Callable[[onnx.ModelProto], None]) -> None:
    model = network()
    change(model)
    x = np.random.default_rng(8).normal(0, 1, (3, 6)).astype(np.float32)
    (found,) = executable(integer_network(load(model)))({"x": x})
    (expected,) = exact_session(model.SerializeToString(), fused=False).run(None, {"x": x})
    assert len(np.unique(expected)) > 8
    np.testing.assert_array_equal(found, expected)


def of_few_bits(model: onnx.ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    model.graph.node[3].CopyFrom(
        node("MatMulNBits", "numbers w ws", "products", "com.microsoft", K=6, N=4, bits=4, block_size=16)
    )


def in_float16(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.float16(0.03), "half"))
    model.graph.node[2].input[1] = "half"


def of_another_axis(model: onnx.ModelProto) -> None:
    """Four scales, and four zero points, for the six places of an axis."""
    for name, values in (("s4", np.full(4, 0.03, np.float32)), ("z4", np.zeros(4, np.int8))):
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    for one in model.graph.node[:2]:
        one.input[1:] = ["s4", "z4"]


def beyond_all_axes(model: onnx.ModelProto) -> None:
    """As many scales as places of an axis, but along none of the tensor's."""
    for name, values in (("s6", np.full(6, 0.03, np.float32)), ("z6", np.zeros(6, np.int8))):
        model.graph.initializer.append(numpy_helper.from_array(values, name))
    for one in model.graph.node[:2]:
        one.input[1:] = ["s6", "z6"]
        one.attribute.append(helper.make_attribute("axis", 3))


def in_float8(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(helper.make_tensor("z8", TensorProto.FLOAT8E4M3FN, [], [0.0]))
    for one in model.graph.node[:2]:
        one.input[2] = "z8"


def with_a_loop(model: onnx.ModelProto) -> None:
    truth = helper.make_tensor_value_info("c", TensorProto.BOOL, ())
    body = helper.make_graph(
        [node("Identity", "c", "d"), node("Abs", "v", "a")],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, ()), truth, helper.make_empty_tensor_value_info("v")],
        [helper.make_tensor_value_info("d", TensorProto.BOOL, ()), helper.make_empty_tensor_value_info("a")],
    )
    model.graph.initializer.append(numpy_helper.from_array(np.array(3), "steps"))
    model.graph.node[4].input[0] = "repeated"
    model.graph.node.insert(4, node("Loop", "steps - products", "repeated", body=body))


def with_a_branch(model: onnx.ModelProto) -> None:
    branches = {
        f"{name}_branch": helper.make_graph(
            [node(kind, "products", name)], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, (3, 4))]
        )
        for name, kind in (("then", "Abs"), ("else", "Neg"))
    }
    model.graph.node[4].input[0] = "either"
    for one in (
        node("If", "positive", "either", **branches),
        node("Greater", "largest s", "positive"),
        node("ReduceMax", "products", "largest", keepdims=0),
    ):
        model.graph.node.insert(4, one)


def with_places_of_maxima(model: onnx.ModelProto) -> None:
    """Which are an output of the network."""
    model.graph.output.append(helper.make_tensor_value_info("places", TensorProto.INT64, None))
    model.graph.node[4].input[0] = "flat"
    model.graph.initializer.append(numpy_helper.from_array(np.array([1]), "axes"))
    pooled = node("MaxPool", "rows", "most places", kernel_shape=[1])
    for one in (node("Squeeze", "most axes", "flat"), pooled, node("Unsqueeze", "products axes", "rows")):
        model.graph.node.insert(4, one)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            in_blocks,
            "has DequantizeLinear (dequantizelinear_weights) with a scale for each block of 3; quantize it",
        ),
        (of_few_bits, "has quantized weights alone: MatMulNBits computes with activations in floating point"),
        (
            in_float16,
            "has DequantizeLinear (dequantizelinear_weights) with a scale of type float16; export the",
        ),
        (
            in_float8,
            "has QuantizeLinear (quantizelinear_levels) of type float8e4m3fn; quantize the model to int8 or uint8",
        ),
        (
            of_another_axis,
            "uses QuantizeLinear (quantizelinear_levels) with scales or zero points [4] along axis 1 of (3, 6)",
        ),
        (beyond_all_axes, "with scales or zero points [6] along axis 3 of (3, 6), which cannot be compiled"),
        (with_a_loop, "has Loop (loop_repeated), which repeats operators; export it with these written out"),
        (with_a_branch, "whose branch the data choose; export the model with the branch that is taken"),
        (with_places_of_maxima, "has MaxPool (maxpool_most) that also says where maxima are, which cannot be compiled"),
    ],
    ids=lambda given: given.__name__ if callable(given) else "",
)
def test_what_cannot_be_compiled(change: Callable[[onnx.ModelProto], None], said: str) -> None:
    model = network()
    change(model)
    assert said in refusal(load, model)


def ends_in_nothing(model: onnx.ModelProto) -> None:
    """Inputs that are left out, behind those that there are."""
    model.graph.node[4].input[0] = "clipped"
    model.graph.node.insert(4, node("Clip", "products - -", "clipped"))


def names_what_nothing_reads(model: onnx.ModelProto) -> None:
    model.graph.node[4].input[0] = "kept"
    model.graph.node.insert(4, node("Dropout", "flat", "kept mask"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([1]), "axes"))
    pooled = node("MaxPool", "rows", "most places", kernel_shape=[1])
    for one in (node("Squeeze", "most axes", "flat"), pooled, node("Unsqueeze", "products axes", "rows")):
        model.graph.node.insert(4, one)


@pytest.mark.parametrize("change", [ends_in_nothing, names_what_nothing_reads], ids=lambda change: change.__name__)
def test_optional_inputs_and_outputs_that_nothing_needs(change: Callable[[onnx.ModelProto], None]) -> None:
    model, changed = network(), network()
    change(changed)
    x = {"x": np.random.default_rng(2).normal(0, 1, (3, 6)).astype(np.float32)}
    plain, other = (executable(load(one).module)(x)[0] for one in (model, changed))
    assert np.array_equal(plain, other)
