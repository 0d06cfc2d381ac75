"""TVM's exceptions, from wherever they come, are one sentence; this package's own are not touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import match
from match.errors import ModelError
from match.frontend.failures import tvm_failures
from match.relay import relay, tvm
from tests.frontend.refusals import refusal, refused
from tests.passes.onnx_models import OnnxModel, quantize

pytestmark = pytest.mark.cc


def behind_a_layer(folder: Path, kind: str, *more: Any, output: int = TensorProto.FLOAT) -> Path:
    """A file with a dense layer and an operator behind it whose outputs are the network's."""
    model = OnnxModel((1, 8))
    model.gemm(8, 6)
    path = quantize(model, folder, "QDQ", "QInt8", per_channel=False)
    proto = onnx.load(path)
    constants = [onnx.numpy_helper.from_array(np.array(value), f"more{n}") for n, value in enumerate(more)]
    proto.graph.initializer.extend(constants)
    inputs = [proto.graph.output[0].name, *(constant.name for constant in constants)]
    proto.graph.node.append(helper.make_node(kind, inputs, ["last", "indices"][: 1 + (kind == "TopK")]))
    del proto.graph.output[:]
    proto.graph.output.append(helper.make_tensor_value_info("last", output, [1, 2]))
    onnx.save(proto, path)
    return path


def test_code_that_tvm_cannot_generate(tmp_path: Path) -> None:
    path = behind_a_layer(tmp_path, "TopK", np.array([2]))
    with pytest.raises(ModelError, match=r"quantized cannot be compiled, because TVM fails with '.*'; rep") as caught:
        match.compile(path, cache=False)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, tvm.TVMError)


@pytest.mark.parametrize(
    ("kind", "output", "called"),
    [
        ("NonZero", TensorProto.INT64, "argwhere (at NonZero_"),
        ("Unique", TensorProto.FLOAT, "dyn.strided_slice (at Unique_"),
    ],
)
def test_a_shape_that_depends_on_the_data(tmp_path: Path, kind: str, output: int, called: str) -> None:
    sentence = refused(behind_a_layer(tmp_path, kind, output=output))
    assert f"uses {called}" in sentence
    assert "whose output has a shape that depends on the data; replace it" in sentence


def ill_typed() -> None:
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    weights = relay.const(np.zeros((3, 3, 5, 2), np.int8))
    layer = relay.nn.conv2d(x, weights, data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32")
    relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], layer)))


def without_a_type() -> None:
    relay.Call(relay.op.get("no such operator"), [])


@pytest.mark.parametrize("fails", [ill_typed, without_a_type])
def test_what_tvm_raises(fails: Callable[[], None], capfd: pytest.CaptureFixture[str]) -> None:
    def compiling() -> None:
        with tvm_failures("net.onnx"):
            fails()

    sentence = refusal(compiling)
    assert sentence.startswith("net.onnx cannot be compiled, because TVM fails with ")
    assert sentence.endswith("; replace the operator that this is about, or report the model")
    assert "please check diagnostic render" not in sentence
    assert capfd.readouterr().err == ""


def test_our_own_errors_pass() -> None:
    class Own(Exception):  # noqa: N818
        """No class of TVM's or of this package."""

    for error in (Own(), TypeError("ours"), match.CapacityError("too large")):
        with pytest.raises(type(error)), tvm_failures("net.onnx"):
            raise error
