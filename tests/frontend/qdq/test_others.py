"""Operators that the graph has no class for: TVM reads each alone, and the network around them stays the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.graph.evaluate import evaluate
from match.graph.moves import Concatenate
from match.graph.opaque import Opaque
from match.graph.value import Graph
from match.passes.pipeline import integer_network
from match.validation.exact_session import exact_session, with_own_weights

pytestmark = pytest.mark.tvm

SHAPE = (4, 8)
Node = onnx.NodeProto
_ = helper.make_node


def between(nodes: Sequence[Node], constants: dict[str, Any], opset: int = 17) -> onnx.ModelProto:
    """Operators from the dequantized input d to real numbers r, which are quantized."""
    constants = {"s": np.float32(0.03), "z": np.uint8(120), **constants}
    whole = [
        _("QuantizeLinear", ["x", "s", "z"], ["q"]),
        _("DequantizeLinear", ["q", "s", "z"], ["d"]),
        *nodes,
        _("QuantizeLinear", ["r", "s", "z"], ["y"]),
    ]
    graph = helper.make_graph(
        whole,
        "others",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def compared(model: onnx.ModelProto) -> Graph:
    """The graph of a model, whose integers are onnxruntime's."""
    loaded = load(model)
    assert isinstance(loaded.network, Graph)
    x = np.random.default_rng(0).normal(0, 1.5, SHAPE).astype(np.float32)
    (expected,) = exact_session(with_own_weights(model.SerializeToString())).run(None, {"x": x})
    (found,) = evaluate(integer_network(loaded), [x])
    assert len(np.unique(expected)) > 1
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)
    return loaded.network


RNG = np.random.default_rng(1)
OPAQUE: dict[str, tuple[list[Node], dict[str, Any]]] = {
    "first of two outputs": ([_("TopK", ["d", "k"], ["r", "places"])], {"k": np.array([3])}),
    "second of two outputs": (
        [_("TopK", ["d", "k"], ["most", "places"]), _("Cast", ["places"], ["r"], to=TensorProto.FLOAT)],
        {"k": np.array([3])},
    ),
    "both outputs": (
        [
            _("TopK", ["d", "k"], ["most", "places"]),
            _("Cast", ["places"], ["numbers"], to=TensorProto.FLOAT),
            _("Add", ["most", "numbers"], ["r"]),
        ],
        {"k": np.array([3])},
    ),
    "no output but the third": (
        [
            _("Unsqueeze", ["d", "axes"], ["steps"]),
            _("LSTM", ["steps", "w", "states"], ["", "", "r"], hidden_size=3),
        ],
        {
            "axes": np.array([1]),
            "w": RNG.normal(0, 1, (1, 12, 8)).astype(np.float32),
            "states": RNG.normal(0, 1, (1, 12, 3)).astype(np.float32),
        },
    ),
    "constant operands": (
        [_("ScatterElements", ["d", "places", "updates"], ["r"], axis=1, reduction="add")],
        {"places": np.array([[1], [2], [-3], [0]]), "updates": np.ones((4, 1), np.float32)},
    ),
    "points from the end": (
        [_("ScatterND", ["d", "points", "updates"], ["r"], reduction="add")],
        {"points": np.array([[1], [-1]]), "updates": np.ones((2, 8), np.float32)},
    ),
    "two activations": (
        [
            _("Transpose", ["d"], ["t"]),
            _("Einsum", ["d", "t"], ["sums"], equation="ij,ki->i"),
            _("Mul", ["sums", "less"], ["r"]),
        ],
        {"less": np.float32(0.1)},
    ),
    "integers": (
        [
            _("Cast", ["d"], ["whole"], to=TensorProto.INT32),
            _("Div", ["whole", "two"], ["halves"]),
            _("Cast", ["halves"], ["r"], to=TensorProto.FLOAT),
        ],
        {"two": np.int32(2)},
    ),
    "a computed scale": (
        [
            _("ReduceMax", ["d"], ["most"], keepdims=0),
            _("QuantizeLinear", ["d", "most", "z"], ["q1"]),
            _("DequantizeLinear", ["q1", "most", "z"], ["r"]),
        ],
        {},
    ),
    "filters that are computed": (
        [
            _("Reshape", ["d", "map"], ["x1"]),
            _("Reshape", ["d", "window"], ["w1"]),
            _("ConvTranspose", ["x1", "w1"], ["r"], output_shape=[8, 8], strides=[2, 2]),
        ],
        {"map": np.array([1, 2, 4, 4]), "window": np.array([2, 4, 2, 2])},
    ),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_one_operator_alone(name: str) -> None:
    nodes, constants = OPAQUE[name]
    graph = compared(between(nodes, constants))
    assert any(isinstance(value.operator, Opaque) for value in graph.values)


def test_what_is_around_it_stays_the_graph() -> None:
    """The layer in front of the operator has integers, and its name."""
    weights = RNG.integers(-90, 90, (8, 6)).astype(np.int8)
    nodes = [
        _("DequantizeLinear", ["w", "ws", "wz"], ["weights"]),
        _("MatMul", ["d", "weights"], ["sums"], name="layer"),
        _("QuantizeLinear", ["sums", "ss", "z"], ["q1"]),
        _("DequantizeLinear", ["q1", "ss", "z"], ["d1"]),
        _("TopK", ["d1", "k"], ["r", "places"]),
    ]
    constants = {"w": weights, "ws": np.float32(0.01), "wz": np.int8(0), "ss": np.float32(0.07), "k": np.array([3])}
    names = [value.operator.called for value in compared(between(nodes, constants)).values if value.operator]
    assert names.count("dense") == 1
    assert names.count("opaque") == 1


PLACE = {"first": np.int64(1)}
SEQUENCES: dict[str, tuple[list[Node], dict[str, Any]]] = {
    "of single rows": ([_("SplitToSequence", ["d"], ["parts"]), _("SequenceAt", ["parts", "first"], ["r"])], PLACE),
    "of rows without their axis": (
        [_("SplitToSequence", ["d"], ["parts"], keepdims=0), _("SequenceAt", ["parts", "first"], ["r"])],
        PLACE,
    ),
    "of parts of one size": (
        [_("SplitToSequence", ["d", "size"], ["parts"], axis=1), _("SequenceAt", ["parts", "last"], ["r"])],
        {"size": np.int64(3), "last": np.int64(-1)},
    ),
    "of parts of two sizes": (
        [_("SplitToSequence", ["d", "sizes"], ["parts"], axis=1), _("SequenceAt", ["parts", "first"], ["r"])],
        {"sizes": np.array([2, 6]), **PLACE},
    ),
    "changed": (
        [
            _("Neg", ["d"], ["n"]),
            _("SequenceConstruct", ["d", "d"], ["two"]),
            _("SequenceInsert", ["two", "n", "first"], ["three"]),
            _("SequenceErase", ["three", "none"], ["left"]),
            _("ConcatFromSequence", ["left"], ["r"], axis=0),
        ],
        {"none": np.int64(0), **PLACE},
    ),
    "along an axis of their own": (
        [
            _("Neg", ["d"], ["n"]),
            _("SequenceConstruct", ["d", "n"], ["two"]),
            _("ConcatFromSequence", ["two"], ["r"], axis=1, new_axis=1),
        ],
        {},
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_are_their_tensors(name: str) -> None:
    nodes, constants = SEQUENCES[name]
    graph = compared(between(nodes, constants))
    assert not any(isinstance(value.operator, Opaque) for value in graph.values)
    assert any(isinstance(value.operator, Concatenate) for value in graph.values) == (
        nodes[-1].op_type == "ConcatFromSequence"
    )
