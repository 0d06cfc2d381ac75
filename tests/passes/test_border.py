"""Inputs and outputs of another type or layout than the model has: programs against onnxruntime and TFLite Micro."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper
from tflite_micro.python.tflite_micro import runtime

import match
from match import zoo
from match.frontend import load
from match.frontend.model import Quantization
from match.graph.moves import Move
from match.graph.value import Graph
from match.passes.border import Border
from match.passes.with_border import with_border
from match.report.schema import TensorSummary
from match.validation.exact_session import exact_session
from tests.passes.test_trained_quantized import ended
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.cc

DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"
IMAGE = Quantization(float(np.float32(1 / 255)), -128)
"""The quantization of the model's input, as its first QuantizeLinear has it."""


@pytest.fixture(scope="module")
def integers() -> npt.NDArray[Any]:
    return np.random.default_rng(0).integers(-128, 128, (4, 1, 1, 16, 16)).astype(np.int8)


@pytest.fixture(scope="module")
def scores(integers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """onnxruntime's, of the real numbers that the integers stand for."""
    session = exact_session(DIGITS)
    images = real(integers, IMAGE)
    return np.stack([session.run(None, {"image": image})[0] for image in images])


def real(q: npt.NDArray[Any], of: Quantization) -> npt.NDArray[Any]:
    return np.float32(of.scale) * (q.astype(np.int32) - of.zero_point).astype(np.float32)


@pytest.mark.parametrize("layout", [None, "nchw", "nhwc"])
def test_a_quantize_and_a_transpose_become_the_callers(
    layout: str | None, integers: npt.NDArray[Any], scores: npt.NDArray[Any]
) -> None:
    compiled = match.compile(DIGITS, "gap9", numerics="exact", input_type="int8", input_layout=layout, fuse=False)
    given = integers.transpose(0, 1, 3, 4, 2) if layout == "nhwc" else integers
    assert np.array_equal(compiled.run({"image": given})["scores"], scores)
    assert compiled.report.model.inputs == (TensorSummary("image", given.shape[1:], "int8"),)
    whole = match.compile(DIGITS, "gap9", numerics="exact", fuse=False)
    assert whole.layers[0].op == "quantize"
    assert "quantize" not in [layer.op for layer in compiled.layers]
    assert compiled.cycles < whole.cycles


@pytest.mark.sweep
def test_a_network_that_takes_real_numbers(tmp_path: Path) -> None:
    """What a converter leaves in front of a MobileNet, a quantize and a transposition, is the caller's."""
    path = tmp_path / "net.onnx"
    onnx.save(zoo.mobilenet_v1(0.25, 96, 10), path)
    whole = match.compile(path, "gap9", numerics="exact")
    output = tmp_path / "net"
    compiled = match.compile(
        path, "gap9", name="net", output=output, numerics="exact", input_type="int8", input_layout="nhwc"
    )
    (tensor,), (result,) = compiled.report.model.inputs, compiled.report.model.outputs
    macros = dict(
        re.findall(r"#define NET_INPUT_\w+_(SCALE|ZERO_POINT) (\S+)", (tmp_path / "net/include/net.h").read_text())
    )
    border = Quantization(float(np.float32(macros["SCALE"].rstrip("f"))), int(macros["ZERO_POINT"].strip("()")))
    q = np.random.default_rng(2).integers(-128, 128, tensor.shape).astype(np.int8)
    (wanted,) = exact_session(path).run([result.name], {tensor.name: real(q, border).transpose(0, 3, 1, 2)})
    assert np.array_equal(compiled.run({tensor.name: q})[result.name], wanted)
    assert compiled.cycles < whole.cycles


def test_unsigned_in_and_signed_out(integers: npt.NDArray[Any], scores: npt.NDArray[Any], tmp_path: Path) -> None:
    compiled = match.compile(
        DIGITS, "gap9", numerics="exact", input_type="uint8", output_type="int8", name="net", output=tmp_path / "net"
    )
    found = compiled.run({"image": (integers.astype(np.int32) + 128).astype(np.uint8)})["scores"]
    header = (tmp_path / "net/include/net.h").read_text()
    macros = dict(re.findall(r"#define (\w+) (\S+)", header))
    assert float(macros["NET_INPUT_IMAGE_SCALE"].rstrip("f")) == pytest.approx(1 / 255, rel=1e-6)
    assert macros["NET_INPUT_IMAGE_ZERO_POINT"] == "(0)"
    scale = float(np.float32(macros["NET_OUTPUT_SCORES_SCALE"].rstrip("f")))
    zero_point = int(macros["NET_OUTPUT_SCORES_ZERO_POINT"].strip("()"))
    assert np.array_equal(real(found, Quantization(scale, zero_point)), scores)
    assert "net_quantize_image(const float *values, uint8_t *image)" in header
    assert "net_dequantize_scores(const int8_t *scores, float *values)" in header


def test_real_numbers_in_front_of_integers(models_dir: Path) -> None:
    path = models_dir / "kws_ref_model.tflite"
    compiled = match.compile(path, "gap9", numerics="exact", input_type="float32", output_type="float32")
    model = load(path)
    given, made = model.inputs[0].quantization, model.outputs[0].quantization
    assert given is not None
    assert made is not None
    q = np.random.default_rng(1).integers(-128, 128, (1, 49, 10, 1)).astype(np.int8)
    interpreter = runtime.Interpreter.from_file(str(path))
    interpreter.set_input(q, 0)
    interpreter.invoke()
    wanted = real(interpreter.get_output(0), made)
    assert np.array_equal(compiled.run({"input_1": real(q, given)})["Identity"], wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_type": "int4"}, "input type 'int4' is unknown; choose one of: int8, uint8, float32"),
        ({"input_layout": "chwn"}, "input layout 'chwn' is unknown"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(match.OptionError, match=message):
        match.compile(DIGITS, "gap9", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_type": "int8"}, "has 16 bits, which int8 does not hold; choose float32, or leave out --input-type"),
        (
            {"output_type": "uint8"},
            "has 16 bits, which uint8 does not hold; choose float32, or leave out --output-type",
        ),
    ],
)
def test_16_bits_are_not_cut(options: dict[str, Any], message: str) -> None:
    path = Path(__file__).parents[1] / "tflite" / "networks" / "keyword_spotting_int16.tflite"
    with pytest.raises(match.OptionError, match=message):
        match.compile(path, "gap9", **options)


@pytest.mark.parametrize("operator", ["Concat", "Relu", None])
def test_an_input_that_is_also_read_unquantized(tmp_path: Path, operator: str | None) -> None:
    """By an operator of several tensors, of one, or as an output of the network."""
    model = TrainedModel((1, 2, 6, 6))
    x = model.current
    model.quantize(0.03, "uint8", 117)
    model.conv(4)
    if operator == "Concat":
        x = model.apply(operator, x, x, axis=1)
    elif operator is not None:
        x = model.apply(operator, x)
    built = ended(model, 0.2, "uint8", 120)
    built.graph.output.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, None))
    onnx.save(onnx.shape_inference.infer_shapes(built), tmp_path / "model.onnx")
    with pytest.raises(
        match.OptionError, match="is not quantized before all else in the model; leave out --input-type"
    ):
        match.compile(tmp_path / "model.onnx", "gap9", input_type="uint8")


@pytest.mark.parametrize("input_type", [None, "uint8"])
def test_what_is_given_with_channels_last_is_not_turned(tmp_path: Path, input_type: str | None) -> None:
    """The layers of a network of ONNX, whose maps have channels first, read it so."""
    model = TrainedModel((1, 3, 6, 7))
    model.quantize(0.03, "uint8", 117)
    model.conv(4)
    onnx.save(ended(model, 0.2, "uint8", 120), tmp_path / "model.onnx")
    found = with_border(load(tmp_path / "model.onnx"), Border(input_type, None, "nhwc"))
    assert isinstance(found.network, Graph)
    assert found.inputs[0].shape == (1, 6, 7, 3)
    moved = [value for value in found.network.values if isinstance(value.operator, Move) and value.operator.turns]
    assert all(value in found.network.outputs for value in moved)
