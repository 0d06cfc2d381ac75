"""What a report says of operators on the control core: whether their numbers are the reference's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.report import Report
from tests.tflite.case import Network

pytestmark = pytest.mark.tvm

MAP = (1, 4, 4, 4)


def report_of(network: Network, path: Path, target: str) -> Report:
    path.write_bytes(network.model.build([number for number, _ in network.inputs], list(network.outputs)))
    return match.compile(path, target, numerics="exact", jobs=1).report


@pytest.mark.parametrize("target", ["gap9", "diana"])
@pytest.mark.parametrize("shape", [MAP, (1, 4, 1, 4)])
def test_products_of_tflite_are_exact(target: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    """On modules, on the control core, and where the second tensor is no map, pixel or channel."""
    network = Network()
    factors = network.input(MAP), network.input(shape, (0.03, -5))
    network.apply("MUL", factors, network.tensor(MAP, (0.3, -128)), "MulOptions")
    report = report_of(network, tmp_path / "product.tflite", target)
    assert report.totals.inexact_layers == 0


def test_an_operator_that_changes_nothing_copies_none(tmp_path: Path) -> None:
    """A tensor and what a QUANTIZE to the same scale makes of it are both outputs."""
    network = Network()
    joined = network.tensor((1, 4, 4, 8), (0.05, 3))
    both = [network.input(MAP), network.input(MAP)]
    network.apply("CONCATENATION", both, joined, "ConcatenationOptions", axis=3)
    network.apply("QUANTIZE", [joined], network.tensor((1, 4, 4, 8), (0.05, 3)))
    network.outputs[joined] = "joined"
    report = report_of(network, tmp_path / "joined.tflite", "diana")
    assert sum(layer.op == "concatenate" for layer in report.layers) == 1


@pytest.mark.parametrize("batch", [1, 2])
def test_sums_of_a_layer_that_nothing_quantizes_are_inexact(batch: int) -> None:
    """Neither where a module makes real numbers of them, nor where TVM's C does, which adds the bias by itself."""
    rng = np.random.default_rng(1)
    steps = rng.uniform(0.001, 0.01, 8).astype(np.float32)
    constants: dict[str, Any] = {
        "s": np.float32(0.0213),
        "z": np.uint8(117),
        "w": rng.integers(-127, 128, (8, 3, 1)).astype(np.int8),
        "sw": steps,
        "b": rng.integers(-900, 900, 8).astype(np.int32),
        "sb": steps * np.float32(0.0213),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["real"]),
        helper.make_node("DequantizeLinear", ["w", "sw"], ["weights"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "sb"], ["bias"], axis=0),
        helper.make_node("Conv", ["real", "weights", "bias"], ["sums"]),
    ]
    graph = helper.make_graph(
        nodes,
        "sums",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [batch, 3, 6])],
        [helper.make_tensor_value_info("sums", TensorProto.FLOAT, [batch, 8, 6])],
        [numpy_helper.from_array(np.asarray(values), name) for name, values in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert match.compile(model, "gap8", numerics="exact", jobs=1).report.totals.inexact_layers == 1
