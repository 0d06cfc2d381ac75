"""ONNX files whose nodes are in another order than that of execution, as some quantizers write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from match.frontend import load
from match.frontend.onnx_order import in_order
from match.relay import tvm
from tests.frontend.refusals import refused
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm


def network() -> onnx.ModelProto:
    model = TrainedModel((1, 3, 6, 6))
    model.quantize(0.03, "uint8", 117)
    model.conv(4)
    model.quantize(0.2, "uint8", 99)
    return model.build()


@pytest.mark.parametrize("seed", range(3))
def test_read_as_in_order(seed: int, tmp_path: Path) -> None:
    model, shuffled = network(), network()
    nodes = list(model.graph.node)
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(nodes[place] for place in np.random.default_rng(seed).permutation(len(nodes)))
    assert list(shuffled.graph.node) != nodes
    for name, each in (("model", model), ("shuffled", shuffled)):
        onnx.save(each, tmp_path / f"{name}.onnx")
    given, expected = (load(tmp_path / f"{name}.onnx").module for name in ("shuffled", "model"))
    assert tvm.ir.structural_equal(given, expected)


def test_a_branch_reads_what_is_around_it() -> None:
    value = helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, (1,))
    branch = helper.make_graph([helper.make_node("Identity", ["made"], ["out"])], "branch", [], [value])
    reads = helper.make_node("If", ["condition"], ["y"], then_branch=branch, else_branch=branch)
    makes = helper.make_node("Relu", ["x"], ["made"])
    model = helper.make_model(helper.make_graph([reads, makes], "graph", [], []))
    assert [node.op_type for node in in_order(model).graph.node] == ["Relu", "If"]


def test_a_circle_is_refused(tmp_path: Path) -> None:
    model = network()
    model.graph.node[0].input[0] = model.graph.node[-1].output[0]
    path = tmp_path / "circle.onnx"
    onnx.save(model, path)
    assert "is not a valid ONNX model" in refused(path)
