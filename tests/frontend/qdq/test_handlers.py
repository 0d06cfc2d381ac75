"""Operators that are read as classes of the graph, in the forms that files seldom have, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from match.frontend import load
from match.graph.elements import Quantize
from match.graph.opaque import Opaque
from match.passes.pipeline import integer_network
from tests.frontend.qdq.test_others import between, compared

pytestmark = pytest.mark.tvm

Node = onnx.NodeProto
_ = helper.make_node
RNG = np.random.default_rng(2)

WHOLE = _("Cast", ["d"], ["i"], to=TensorProto.INT32)
REAL = _("Cast", ["j"], ["r"], to=TensorProto.FLOAT)
MAP = _("Reshape", ["d", "map"], ["m"])
SHAPE = {"map": np.array([1, 2, 4, 4])}

OTHERS = _("Neg", ["d"], ["n"])


def at(*indices: Any) -> Any:
    """All combinations of indices of the first axes, as points."""
    return np.stack(np.meshgrid(*indices, indexing="ij"), axis=-1)


CASES: dict[str, tuple[list[Node], dict[str, Any]]] = {
    "sums of integers": ([WHOLE, _("Add", ["i", "c"], ["j"]), REAL], {"c": np.arange(8, dtype=np.int32)}),
    "products of integers": ([WHOLE, _("Mul", ["i", "i"], ["j"]), REAL], {}),
    "differences of integers": ([WHOLE, _("Sub", ["c", "i"], ["j"]), REAL], {"c": np.int32(3)}),
    "magnitudes of integers": ([WHOLE, _("Abs", ["i"], ["j"]), REAL], {}),
    "integers between limits": (
        [WHOLE, _("Clip", ["i", "low", "high"], ["j"]), REAL],
        {"low": np.int32(-1), "high": np.int32(2)},
    ),
    "integers above a limit": ([WHOLE, _("Clip", ["i", "low"], ["j"]), REAL], {"low": np.int32(-1)}),
    "the largest of integers": ([WHOLE, _("Max", ["i", "c"], ["j"]), REAL], {"c": np.int32(1)}),
    "a choice between integers": (
        [WHOLE, _("Greater", ["i", "c"], ["b"]), _("Where", ["b", "i", "c"], ["j"]), REAL],
        {"c": np.int32(1)},
    ),
    "a triangle of integers": ([WHOLE, _("Trilu", ["i"], ["j"], upper=0), REAL], {}),
    "numbers below a computed one": (
        [
            _("ReduceMax", ["d"], ["most"], keepdims=0),
            _("Neg", ["most"], ["low"]),
            _("Clip", ["d", "low", "most"], ["r"]),
        ],
        {},
    ),
    "another tensor's type": ([_("CastLike", ["c", "d"], ["e"]), _("Add", ["d", "e"], ["r"])], {"c": np.int64(2)}),
    "rows at computed places": (
        [_("ArgMax", ["d"], ["places"], axis=1, keepdims=0), _("Gather", ["table", "places"], ["r"])],
        {"table": RNG.normal(0, 2, (8, 3)).astype(np.float32)},
    ),
    "rows at places from the end": (
        [
            _("ArgMax", ["d"], ["places"], axis=1, keepdims=0),
            _("Sub", ["places", "count"], ["back"]),
            _("Gather", ["table", "back"], ["r"]),
        ],
        {"table": RNG.normal(0, 2, (8, 3)).astype(np.float32), "count": np.int64(8)},
    ),
    "elements at computed places": (
        [_("ArgMax", ["d"], ["places"], axis=1), _("GatherElements", ["d", "places"], ["r"], axis=1)],
        {},
    ),
    "elements at known places": (
        [_("GatherElements", ["d", "places"], ["r"], axis=0)],
        {"places": np.array([[0, 1, -1, 2, 3, 0, -2, 1]])},
    ),
    "points of a batch": (
        [_("Reshape", ["d", "parts"], ["p"]), _("GatherND", ["p", "points"], ["r"])],
        {"parts": np.array([2, 4, 4]), "points": np.array([[1, 2], [0, -1]])},
    ),
    "rows that others replace": (
        [_("ScatterND", ["d", "points", "rows"], ["r"])],
        {"points": np.array([[-1], [0]]), "rows": RNG.normal(0, 2, (2, 8)).astype(np.float32)},
    ),
    "rows in another order": (
        [OTHERS, _("ScatterND", ["d", "points", "n"], ["r"])],
        {"points": at([2, 3, 0, 1])},
    ),
    "every other column": (
        [_("Split", ["d"], ["even", "odd"], axis=1, num_outputs=2), _("ScatterND", ["d", "points", "even"], ["r"])],
        {"points": at(range(4), range(1, 8, 2))},
    ),
    "a part of rows and columns": (
        [_("Slice", ["d", "begin", "end"], ["part"]), _("ScatterND", ["d", "points", "part"], ["r"])],
        {"begin": np.array([2, 0]), "end": np.array([4, 3]), "points": at([0, 1], [4, 5, 6])},
    ),
    "elements at points anywhere": (
        [_("ScatterND", ["d", "points", "c"], ["r"])],
        {"points": np.array([[3, -1], [0, 2], [0, 1]]), "c": np.array([-1, 0.5, 2], np.float32)},
    ),
    "a row that is replaced twice": (
        [_("ScatterND", ["d", "points", "c"], ["r"])],
        {"points": np.array([[1], [-3]]), "c": np.array([[-1] * 8, [0.5] * 8], np.float32)},
    ),
    "columns of a constant": (
        [_("ScatterND", ["c", "points", "d"], ["r"])],
        {"points": at(range(4), range(2, 10)), "c": RNG.normal(0, 2, (4, 11)).astype(np.float32)},
    ),
    "a quantized row": (
        [_("DequantizeLinear", ["w", "s"], ["c"]), _("ScatterND", ["d", "points", "c"], ["r"])],
        {"points": np.array([[2]]), "w": RNG.integers(0, 255, (1, 8)).astype(np.uint8)},
    ),
    "columns that others replace": (
        [OTHERS, _("ScatterElements", ["d", "places", "n"], ["r"], axis=-1)],
        {"places": np.tile([3, 2, 1, 0, 4, 5, 7, 6], (4, 1))},
    ),
    "elements that others replace": (
        [_("ScatterElements", ["d", "places", "c"], ["r"], axis=1)],
        {"places": np.array([[1, -1], [2, 0]]), "c": np.array([[-1, 0.5], [2, 1]], np.float32)},
    ),
    "padding of some axes": (
        [_("Pad", ["d", "pads", "", "axes"], ["r"])],
        {"pads": np.array([1, 2]), "axes": np.array([-1])},
    ),
    "padding that cuts": ([_("Pad", ["d", "pads"], ["r"])], {"pads": np.array([-1, 2, 0, -3])}),
    "a reflected border that cuts": (
        [_("Pad", ["d", "pads"], ["r"], mode="reflect")],
        {"pads": np.array([-1, 2, 0, -3])},
    ),
    "a constant part": (
        [_("Concat", ["d", "c"], ["r"], axis=0)],
        {"c": RNG.normal(0, 2, (2, 8)).astype(np.float32)},
    ),
    "a turned factor": (
        [_("DequantizeLinear", ["w", "s"], ["c"]), _("Gemm", ["d", "c"], ["r"], transA=1, alpha=0.5)],
        {"w": RNG.integers(-60, 60, (4, 3)).astype(np.int8)},
    ),
    "a bias of rows": (
        [_("Gemm", ["d", "c", "b"], ["r"], beta=2.0)],
        {"c": RNG.normal(0, 1, (8, 3)).astype(np.float32), "b": RNG.normal(0, 1, (4, 1)).astype(np.float32)},
    ),
    "a norm of maps": (
        [MAP, _("GlobalLpPool", ["m"], ["norms"], p=1), _("Mul", ["norms", "less"], ["r"])],
        {**SHAPE, "less": np.float32(0.1)},
    ),
    "the largest of volumes": (
        [_("Reshape", ["d", "volume"], ["v"]), _("GlobalMaxPool", ["v"], ["r"])],
        {"volume": np.array([1, 2, 2, 2, 4])},
    ),
    "a mean of tensors": ([_("Mean", ["d", "c"], ["r"])], {"c": RNG.normal(0, 2, 8).astype(np.float32)}),
    "normalized by channel": (
        [MAP, _("BatchNormalization", ["m", "gain", "bias", "mean", "variance"], ["r"])],
        {
            **SHAPE,
            **{name: RNG.uniform(0.5, 2, 2).astype(np.float32) for name in ("gain", "bias", "mean", "variance")},
        },
    ),
    "integers of 16 bits": (
        [_("QuantizeLinear", ["d", "s16", "z16"], ["q16"]), _("DequantizeLinear", ["q16", "s16", "z16"], ["r"])],
        {"s16": np.float32(0.002), "z16": np.int16(7)},
    ),
    "unsigned integers of 16 bits": (
        [_("QuantizeLinear", ["d", "s16", "z16"], ["q16"]), _("DequantizeLinear", ["q16", "s16", "z16"], ["r"])],
        {"s16": np.float32(0.002), "z16": np.uint16(30007)},
    ),
    "a scale for each column": (
        [
            _("QuantizeLinear", ["d", "scales", "zeros"], ["q1"], axis=1),
            _("DequantizeLinear", ["q1", "scales", "zeros"], ["r"], axis=1),
        ],
        {"scales": np.linspace(0.01, 0.05, 8, dtype=np.float32), "zeros": np.arange(100, 108, dtype=np.uint8)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_beside_onnxruntime(name: str) -> None:
    nodes, constants = CASES[name]
    opset = 21 if "16 bits" in name else 19
    graph = compared(between(nodes, constants, opset))
    assert not any(isinstance(value.operator, Opaque) for value in graph.values)


def test_a_constant_part_is_quantized_while_compiling() -> None:
    nodes, constants = CASES["a constant part"]
    network = integer_network(load(between(nodes, constants)))
    quantized = [value.inputs[0] for value in network.values if isinstance(value.operator, Quantize)]
    assert quantized == list(network.inputs)
