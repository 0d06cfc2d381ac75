"""QuantizeLinear and DequantizeLinear that a quantizer wrote once for each reader of a tensor."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.frontend.onnx_repeated_pairs import without_repeated_pairs
from match.relay.objects import expressions, main_function
from match.relay.rewrite import is_call
from match.validation.exact_session import exact_session
from tests.integer_relay import integer_relay
from tests.passes.running import Compiled
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm


def residual(tmp_path: Path) -> Path:
    """Two convolutions behind one, and the sum of all three: each reads the first by a pair of its own."""
    model = TrainedModel((1, 3, 6, 6))
    model.quantize(0.03, "uint8", 117)
    sums = model.conv(4)
    branches = []
    for _ in range(2):
        model.current = sums
        model.quantize(0.2, "uint8", 99)
        model.conv(4, (1, 1))
        branches.append(model.quantize(0.1, "uint8", 120))
    model.current = sums
    model.quantize(0.2, "uint8", 99)
    for branch in branches:
        model.add("Add", branch)
        model.quantize(0.3, "uint8", 110)
    path = tmp_path / "residual.onnx"
    onnx.save(model.build(), path)
    return path


def test_a_layer_is_computed_once_for_all_its_readers(tmp_path: Path) -> None:
    path = residual(tmp_path)
    model = load(path)
    integer = integer_relay(model)
    assert sum(is_call(node, "nn.conv2d") for node in expressions(main_function(integer))) == 3
    inputs = np.random.default_rng(1).uniform(-4, 4, (5, 1, 3, 6, 6)).astype(np.float32)
    session, compiled = exact_session(path), Compiled(integer)
    for x in inputs:
        assert np.array_equal(compiled({"x": x})[0], session.run(None, {"x": x})[0])


def pairs(*quantizes: dict[str, Any], outputs: tuple[str, ...] = ("y",), more: tuple[Any, ...] = ()) -> Any:
    """A tensor that several pairs read, with a concatenation of what they make; each may have its own parameters."""
    nodes, constants = [], []
    for number, given in enumerate(quantizes):
        parts = {"scale": np.float32(0.1), "zero": np.uint8(3)} | given
        names = [f"{name}{number}" for name in ("scale", "zero")]
        constants += [numpy_helper.from_array(np.asarray(parts[name[:-1]]), name) for name in names]
        axis = {"axis": parts["axis"]} if "axis" in parts else {}
        nodes.append(helper.make_node("QuantizeLinear", ["x", *names], [f"q{number}"], **axis))
        nodes.append(helper.make_node("DequantizeLinear", [f"q{number}", *names], [f"d{number}"], **axis))
    made = [f"d{number}" for number in range(len(quantizes))]
    nodes += [helper.make_node("Concat", made, ["y"], axis=0), *more]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    known = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 2)) for name in made]
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 2))
    graph = helper.make_graph(nodes, "pairs", [value], values, constants, value_info=known)
    return without_repeated_pairs(helper.make_model(graph)).graph


def operators(graph: Any) -> dict[str, int]:
    return Counter(node.op_type for node in graph.node)


def test_equal_parameters_make_one_pair() -> None:
    graph = pairs({}, {}, {})
    assert operators(graph) == {"QuantizeLinear": 1, "DequantizeLinear": 1, "Concat": 1}
    assert list(graph.node[-1].input) == ["d0", "d0", "d0"]
    assert [value.name for value in graph.value_info] == ["d0"]


@pytest.mark.parametrize(
    "other",
    [
        {"scale": np.float32(0.2)},
        {"zero": np.uint8(4)},
        {"zero": np.int8(3)},
        {"scale": np.array([0.1], np.float32), "zero": np.array([3], np.uint8)},
        {"axis": 0},
    ],
    ids=["scale", "zero_point", "type", "shape", "axis"],
)
def test_other_parameters_make_another_pair(other: dict[str, Any]) -> None:
    assert operators(pairs({}, other, {}, other)) == {"QuantizeLinear": 2, "DequantizeLinear": 2, "Concat": 1}


def test_outputs_of_the_network_stay() -> None:
    graph = pairs({}, {}, {}, outputs=("y", "d1", "q2"))
    assert [name for node in graph.node for name in node.output] == ["q0", "d0", "d1", "q2", "y"]
    assert [node.input[0] for node in graph.node[:-1]] == ["x", "q0", "q0", "x"]
    assert list(graph.node[-1].input) == ["d0", "d0", "d0"]


def test_what_a_branch_reads_stays() -> None:
    value = helper.make_tensor_value_info("out", TensorProto.FLOAT, (2, 2))
    branch = helper.make_graph([helper.make_node("Relu", ["d1"], ["out"])], "branch", [], [value])
    reads = helper.make_node("If", ["condition"], ["z"], then_branch=branch, else_branch=branch)
    graph = pairs({}, {}, outputs=("y", "z"), more=(reads,))
    assert [name for node in graph.node for name in node.output] == ["q0", "d0", "d1", "y", "z"]


def test_pairs_of_constants_stay() -> None:
    """Each layer has its own weights, also where those of two are equal."""
    nodes = [
        node
        for number in range(2)
        for node in (
            helper.make_node("DequantizeLinear", ["w", "scale", "zero"], [f"d{number}"]),
            helper.make_node("MatMul", ["x", f"d{number}"], [f"y{number}"]),
        )
    ]
    constants = [
        numpy_helper.from_array(np.eye(2, dtype=np.uint8), "w"),
        numpy_helper.from_array(np.asarray(np.float32(0.1)), "scale"),
        numpy_helper.from_array(np.asarray(np.uint8(3)), "zero"),
    ]
    graph = helper.make_graph(nodes, "constants", [], [], constants)
    kept = without_repeated_pairs(helper.make_model(graph)).graph
    assert operators(kept) == {"DequantizeLinear": 2, "MatMul": 2}
