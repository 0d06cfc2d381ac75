"""Functions that a file writes in floating point, between a dequantize and a quantize: tables, equal to onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.validation.exact_session import exact_session

pytestmark = pytest.mark.cc

# By name: operators from x to y, or from a and b, which are halves of x in scales of their own.
UNARY: dict[str, list[tuple[str, list[str], str]]] = {
    "hard_swish": [("HardSwish", ["x"], "y")],
    "hard_sigmoid": [("HardSigmoid", ["x"], "y")],
    "elu": [("Elu", ["x"], "y")],
    "selu": [("Selu", ["x"], "y")],
    "gelu": [("Gelu", ["x"], "y")],
    "softplus": [("Softplus", ["x"], "y")],
    "silu": [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")],
    "mish": [("Softplus", ["x"], "s"), ("Tanh", ["s"], "t"), ("Mul", ["x", "t"], "y")],
    "overflow": [("Mul", ["x", "large"], "s"), ("Exp", ["s"], "y")],
    "scaled": [("Div", ["x", "three"], "s"), ("Sub", ["three", "s"], "y")],
}
BINARY: dict[str, list[tuple[str, list[str], str]]] = {
    "difference": [("Sub", ["a", "b"], "y")],
    "largest": [("Max", ["a", "b"], "y")],
    "gated": [("Sigmoid", ["a"], "s"), ("Mul", ["s", "b"], "t"), ("Add", ["t", "a"], "y")],
}


def model_of(dtype: type[np.integer[Any]]) -> onnx.ModelProto:
    """All of them side by side, each with an output of its own."""
    low = np.iinfo(dtype).min
    numbers = {
        "fine": np.float32(0.05),
        "coarse": np.float32(0.07),
        "middle": dtype(low + 100),
        "lower": dtype(low + 60),
        "large": np.float32(40),
        "three": np.float32(3),
        "halves": np.array([4, 4], np.int64),
    }
    nodes: list[onnx.NodeProto] = []

    def quantized(source: str, result: str, *scale: str) -> None:
        nodes.append(helper.make_node("QuantizeLinear", [source, *scale], [f"{result}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{result}_q", *scale], [result]))

    quantized("input", "x", "fine", "middle")
    nodes.append(helper.make_node("Split", ["x", "halves"], ["first", "second"], axis=1))
    quantized("first", "a", "fine", "middle")
    quantized("second", "b", "coarse", "lower")
    outputs: list[onnx.ValueInfoProto] = []
    for name, steps in (UNARY | BINARY).items():
        own = {result: f"{name}_{result}" for _, _, result in steps}
        for op, inputs, result in steps:
            nodes.append(helper.make_node(op, [own.get(x, x) for x in inputs], [own[result]]))
        quantized(own["y"], name, "coarse", "lower")
        shape = [1, 8, 6, 5] if name in UNARY else [1, 4, 6, 5]
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    graph = helper.make_graph(
        nodes,
        "islands",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 8, 6, 5])],
        outputs,
        [numpy_helper.from_array(np.array(value), name) for name, value in numbers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_islands_are_onnxruntimes(dtype: type[np.integer[Any]]) -> None:
    model = model_of(dtype)
    x = np.random.default_rng(3).permutation(np.linspace(-6, 8.5, 240, dtype=np.float32)).reshape(1, 8, 6, 5)
    session = exact_session(model.SerializeToString(), signed=dtype is np.int8)
    expected = dict(
        zip((output.name for output in session.get_outputs()), session.run(None, {"input": x}), strict=True)
    )
    compiled = match.compile(model, "gap9", numerics="exact", fuse=False)
    for name, values in compiled.run({"input": x}, sanitize=True).items():
        assert np.array_equal(values, expected[name]), name
    tables = [layer for layer in compiled.layers if layer.op == "lookup"]
    assert len(tables) >= len(UNARY)
    # What is left in floating point are quantize and dequantize at the border.
    generated = [layer.op for layer in compiled.layers if layer.module == "cpu"]
    assert not any(word in op for op in generated for word in ("exp", "sigmoid", "tanh", "erf", "maximum"))
