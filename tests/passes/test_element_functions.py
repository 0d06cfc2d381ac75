"""Functions of each element between a dequantize and a quantize: one table, onnxruntime's outputs for all values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.frontend.relay import from_relay
from match.graph.elements import Lookup
from match.partitioning.pattern.rows import work_of
from match.partitioning.pattern.types import Match
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from match.validation.exact_session import exact_session
from tests.integer_relay import integer_relay
from tests.layers_of import find
from tests.partitioning.listed import on_core
from tests.passes.onnx_models import OnnxModel, expose_integers, quantize
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

Steps = list[tuple[str, list[str], str, dict[str, Any]]]

NUMBERS = {
    "half": np.float32(0.5),
    "third": np.float32(1 / 3),
    "less": np.float32(-0.7),
    "more": np.float32(1.9),
    "root": np.float32(2**-0.5),
    "one": np.float32(1),
}

# By name: operators from x to y, with these numbers beside x.
ALONE = (
    *("Abs", "Neg", "Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Sin"),
    *("Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh"),
    *("Atanh", "Floor", "Ceil", "Round", "Sign", "Erf", "Reciprocal", "Softplus", "Softsign"),
    *("Elu", "Selu", "Celu", "HardSwish", "HardSigmoid", "LeakyRelu", "ThresholdedRelu", "Shrink", "Mish"),
    *("Gelu",),
)
FUNCTIONS: dict[str, Steps] = {name: [(name, ["x"], "y", {})] for name in ALONE}
FUNCTIONS |= {
    "elu of another slope": [("Elu", ["x"], "y", {"alpha": 2.0})],
    "a low threshold": [("ThresholdedRelu", ["x"], "y", {"alpha": 0.25})],
    "shrunk and moved": [("Shrink", ["x"], "y", {"lambd": 0.6, "bias": 0.2})],
    "gelu with tanh": [("Gelu", ["x"], "y", {"approximate": "tanh"})],
    "gelu written out": [
        ("Mul", ["x", "root"], "a", {}),
        ("Erf", ["a"], "b", {}),
        ("Add", ["b", "one"], "c", {}),
        ("Mul", ["x", "c"], "d", {}),
        ("Mul", ["d", "half"], "y", {}),
    ],
    "swish": [("Sigmoid", ["x"], "a", {}), ("Mul", ["x", "a"], "y", {})],
    "rest": [("Mod", ["x", "half"], "y", {"fmod": 1})],
    "rest of a negative divisor": [("Mod", ["x", "less"], "y", {"fmod": 1})],
    "root by a power": [("Pow", ["x", "half"], "y", {})],
    "power": [("Pow", ["more", "x"], "y", {})],
    "at least": [("Clip", ["x", "less"], "y", {})],
    "at most": [("Clip", ["x", "", "more"], "y", {})],
    "between": [("Clip", ["x", "less", "more"], "y", {})],
    "largest of three": [("Max", ["x", "less", "third"], "y", {})],
    "mean of three": [("Mean", ["x", "less", "third"], "y", {})],
    "sum of three": [("Sum", ["less", "x", "x"], "y", {})],
    "divided": [("Div", ["x", "third"], "y", {})],
    "divisor": [("Div", ["third", "x"], "y", {})],
    "difference": [("Sub", ["third", "x"], "y", {})],
    "chosen": [("Greater", ["x", "half"], "a", {}), ("Where", ["a", "x", "less"], "y", {})],
    "chosen by two": [
        ("GreaterOrEqual", ["x", "less"], "a", {}),
        ("Less", ["x", "more"], "b", {}),
        ("And", ["a", "b"], "c", {}),
        ("Not", ["c"], "d", {}),
        ("Where", ["d", "third", "x"], "y", {}),
    ],
    "truth as a number": [
        ("LessOrEqual", ["x", "half"], "a", {}),
        ("Cast", ["a"], "b", {"to": TensorProto.FLOAT}),
        ("Mul", ["b", "x"], "y", {}),
    ],
    "whole": [("Cast", ["x"], "a", {"to": TensorProto.INT32}), ("Cast", ["a"], "y", {"to": TensorProto.FLOAT})],
    "no number, then none below 0": [("Sqrt", ["x"], "a", {}), ("Relu", ["a"], "y", {})],
}
IDLE = {name: [(name, ["x"], "y", {})] for name in ("Identity", "Dropout")}
"""Operators that do nothing."""


def network(functions: dict[str, Steps], scales: dict[str, Any], extents: list[int]) -> onnx.ModelProto:
    """Each function of one input on its own, with its output quantized: parameters are s, z and so, zo."""
    nodes = [
        helper.make_node("QuantizeLinear", ["input", "s", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s", "z"], ["real"]),
    ]
    outputs = []
    for number, steps in enumerate(functions.values()):
        own = {"x": "real"} | {result: f"{result}{number}" for _, _, result, _ in steps}
        for kind, inputs, result, attributes in steps:
            nodes.append(helper.make_node(kind, [own.get(x, x) for x in inputs], [own[result]], **attributes))
        nodes.append(helper.make_node("QuantizeLinear", [own["y"], "so", "zo"], [f"out{number}"]))
        dtype = helper.np_dtype_to_tensor_dtype(scales["z"].dtype)
        outputs.append(helper.make_tensor_value_info(f"out{number}", dtype, extents))
    constants = [numpy_helper.from_array(np.asarray(value), name) for name, value in (NUMBERS | scales).items()]
    source = [helper.make_tensor_value_info("input", TensorProto.FLOAT, extents)]
    graph = helper.make_graph(nodes, "functions", source, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def scales_of(dtype: str, x: tuple[float, int], y: tuple[float, int]) -> dict[str, Any]:
    kind, low = np.dtype(dtype).type, np.iinfo(dtype).min
    return {"s": np.float32(x[0]), "z": kind(low + x[1]), "so": np.float32(y[0]), "zo": kind(low + y[1])}


def every_level(scales: dict[str, Any], extents: list[int]) -> np.ndarray:
    levels = np.resize(np.arange(256) + np.iinfo(scales["z"].dtype).min, extents)
    return ((levels - scales["z"].astype(np.int64)) * scales["s"]).astype(np.float32)


quantizations = st.tuples(st.floats(0.005, 0.06), st.integers(0, 255))


@given(st.sampled_from(["uint8", "int8"]), quantizations, quantizations)
@settings(max_examples=3, deadline=None)
def test_tables_are_onnxruntimes(dtype: str, x: tuple[float, int], y: tuple[float, int]) -> None:
    """A table that says it is onnxruntime's has all its outputs; others are a step off at most."""
    scales, extents = scales_of(dtype, x, y), [1, 2, 8, 16]
    model = network(FUNCTIONS, scales, extents)
    module, values = integer_network(load(model)), every_level(scales, extents)
    given = executable(module)({"input": values})
    expected = exact_session(model.SerializeToString(), signed=True).run(None, {"input": values})
    for name, value, one, other in zip(FUNCTIONS, module.outputs, given, expected, strict=True):
        if not isinstance(value.operator, Lookup):  # what changes nothing, or has one output
            assert np.array_equal(one, other), name
        else:
            assert np.abs(one.astype(np.int64) - other).max() <= int(not value.exact), name


def test_what_does_nothing_is_gone() -> None:
    scales = scales_of("uint8", (0.02, 100), (0.02, 100))
    module = integer_relay(load(network(IDLE, scales, [1, 2, 8, 16])))
    first, second = module["main"].body.fields
    assert first == second
    assert "take" not in module.astext(show_meta_data=False)


@pytest.mark.parametrize(("kind", "near", "step"), [("Sigmoid", np.log(3), 0.5), ("Exp", np.log(1.5), 1.0)])
def test_tables_near_a_half_say_so(kind: str, near: float, step: float) -> None:
    """The logistic function of ln 3 is 3/4, or nearly, and the exponential of ln 1.5 is 1.5: both between two steps."""
    for scale, real in ((near, True), (1.0, False)):
        scales = scales_of("uint8", (scale, 255 - 1), (step, 0))
        model = network({kind: FUNCTIONS[kind]}, scales, [1, 2, 8, 16])
        module = integer_network(load(model), "uint8")
        layers = [one for one in find(module) if isinstance(one, Match)]
        assert [one.reference for one in layers if one.layer.op == "lookup"] == [not real]


@pytest.mark.parametrize(
    ("steps", "scale"),
    [
        ([("Sigmoid", ["x"], "a", {}), ("Mul", ["a", "other"], "y", {})], 0.5),
        ([("Sigmoid", ["x"], "a", {}), ("Sigmoid", ["other"], "b", {}), ("Mul", ["a", "b"], "y", {})], 0.03),
    ],
)
def test_pairs_near_a_half_say_so(steps: Steps, scale: float) -> None:
    """A function of two tensors is a line for each value of one, or a table of pairs on the control core."""
    scales = scales_of("uint8", (float(np.log(3)), 254), (scale, 0)) | {"t": np.float32(1)}
    model = network({"gated": steps}, scales, [1, 2, 8, 16])
    model.graph.node.insert(2, helper.make_node("DequantizeLinear", ["levels2", "t", "z"], ["other"]))
    model.graph.node.insert(2, helper.make_node("QuantizeLinear", ["input2", "t", "z"], ["levels2"]))
    model.graph.input.append(helper.make_tensor_value_info("input2", TensorProto.FLOAT, [1, 2, 8, 16]))
    module = integer_network(load(model), "uint8")
    found = find(module)
    tables = [value for row in on_core(module) for value in row.covered if work_of(value).name == "entries"]
    lines = [one.reference for one in found if isinstance(one, Match) and one.layer.op == "lookup_line"]
    assert [*lines, *(table.exact for table in tables)] == [False]
    assert len(tables) == len(steps) - 2


@pytest.mark.parametrize("axis", [1, 3])
@pytest.mark.parametrize("kind", ["Sub", "Max", "Min", "Div", "Add", "Mul"])
def test_a_number_for_each_channel_is_a_table_for_each(kind: str, axis: int) -> None:
    """On either side, and as a number that is quantized; tables are a layer, whatever axis they are of."""
    scales = scales_of("int8", (0.03, 90), (0.05, 140))
    extents = [3 if at == axis else 16 for at in range(4)]
    each = np.array([-1.3, 0.4, 2.5], np.float32).reshape(3, *[1] * (3 - axis))
    functions: dict[str, Steps] = {
        "behind": [(kind, ["x", "each"], "y", {})],
        "in front": [(kind, ["each", "x"], "y", {})],
        "quantized": [("DequantizeLinear", ["levels_of_each", "so"], "e", {}), (kind, ["x", "e"], "y", {})],
    }
    levels = np.array([-26, 8, 50], np.int8).reshape(each.shape)
    model = network(functions, scales | {"each": each, "levels_of_each": levels}, extents)
    module, values = integer_network(load(model)), every_level(scales, extents)
    expected = exact_session(model.SerializeToString(), signed=True).run(None, {"input": values})
    for one, other in zip(executable(module)({"input": values}), expected, strict=True):
        assert np.array_equal(one, other)
        assert len(np.unique(other)) > 20
    layers = [one.layer.op for one in find(module) if isinstance(one, Match)]
    by_channel = [op for op in layers if op == "channel_lookup"]
    assert len(by_channel) == (2 if kind in ("Add", "Mul") else 3)


def test_batch_normalization_is_a_table_for_each_channel(tmp_path: Path) -> None:
    """Behind a convolution, with which onnxruntime's quantizer leaves it in floating point, it is a layer."""
    network = OnnxModel((1, 3, 7, 6))
    network.conv(5)
    parameters = [network.rng.normal(1, 0.5, 5), network.rng.normal(0, 1, 5), network.rng.normal(0, 1, 5)]
    variance = network.constant(network.rng.uniform(0.2, 3, 5))
    network.add("BatchNormalization", *map(network.constant, parameters), variance, epsilon=1e-3)
    network.conv(4)
    path = expose_integers(quantize(network, tmp_path, "QDQ", "QUInt8", per_channel=True))
    module = integer_network(load(path), "uint8")
    layers = [one for one in find(module) if isinstance(one, Match)]
    assert [one.reference for one in layers if one.layer.op == "channel_lookup"] == [True]
    x = np.random.default_rng(2).normal(0, 1, (1, 3, 7, 6)).astype(np.float32)
    expected = exact_session(onnx.load(path).SerializeToString()).run(None, {"x": x})
    for one, other in zip(executable(module)({"x": x}), expected, strict=True):
        assert np.array_equal(one, other)


def test_prelu_of_relay_is_a_table_for_each_channel() -> None:
    """As NumPy defines it; ONNX's is written as a choice."""
    x = relay.var("x", shape=(1, 3, 4, 16), dtype="float32")
    scale, zero = relay.const(np.float32(0.05)), relay.const(np.int32(120))
    levels = relay.qnn.op.quantize(x, scale, zero, out_dtype="uint8")
    slopes = np.array([-0.4, 0.3, 1.7], np.float32)
    bent = relay.nn.prelu(relay.qnn.op.dequantize(levels, scale, zero), relay.const(slopes), axis=1)
    result = relay.qnn.op.quantize(bent, relay.const(np.float32(0.1)), relay.const(np.int32(70)), out_dtype="uint8")
    module = integer_relay(from_relay(tvm.IRModule.from_expr(relay.Function([x], result)), None), "uint8")
    assert "prelu" not in module.astext(show_meta_data=False)
    steps = np.resize(np.arange(256), (1, 3, 4, 16)) - 120
    real = (steps * np.float32(0.05)).astype(np.float32)
    (given,) = executable(module)({"x": real})
    expected = np.where(real > 0, real, real * slopes.reshape(3, 1, 1)) / np.float32(0.1)
    assert np.array_equal(given, (np.rint(expected) + 70).clip(0, 255))
