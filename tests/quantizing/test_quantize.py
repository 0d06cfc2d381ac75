"""Float models of Keras and PyTorch, one command each: quantized, compiled, as accurate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import match
from match.cli import main
from match.quantizing.prepared import prepare
from match.quantizing.schema import Quantization, schema
from match.validation.exact_session import exact_session
from tests.package.test_architecture import PROJECT
from tests.quantizing.conftest import model_of, noise, tiny

pytestmark = pytest.mark.cc
pytest.importorskip("onnxruntime")

Data = Callable[[str], tuple[Path, Path]]


def command(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ending:
        main(["quantize", *map(str, arguments)])
    assert not ending.value.code


def documented(name: str, target: str) -> list[str]:
    """What docs/quantize.md has of a network on a target: how many are right in float and otherwise, and cycles."""
    called = {"digits_float": "tutorial's", "keras_cnn": "Keras CNN", "mobilenet": "MobileNetV2"}[name]
    lines = (PROJECT / "docs" / "quantize.md").read_text(encoding="utf-8").split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith(f"| {called} |"))
    (row,) = (line for line in lines[first : first + 3] if f"| {target} |" in line)
    return [cell.split(" (")[0].strip() for cell in row.strip("|").split("|")[2:]]


def accuracies(result: Quantization) -> dict[str, float]:
    return {run.run: run.right / result.samples for run in result.runs if run.right is not None}


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("digits_float", "gap9"),
        pytest.param("keras_cnn", "gap9", marks=pytest.mark.sweep),
        ("mobilenet", "gap9"),
        ("digits_float", "diana"),
        pytest.param("keras_cnn", "diana", marks=pytest.mark.sweep),
        pytest.param("mobilenet", "diana", marks=pytest.mark.sweep),
        pytest.param("digits_float", "gap8", marks=pytest.mark.sweep),
        pytest.param("keras_cnn", "gap8", marks=pytest.mark.sweep),
        pytest.param("mobilenet", "gap8", marks=pytest.mark.sweep),
    ],
)
def test_as_accurate_as_in_float(
    name: str, target: str, data: Data, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calibration, test = data(name)
    out, samples = tmp_path / "q.onnx", tmp_path / "samples.npz"
    options = ("--target", target, "--test", test, "--save-samples", samples, "--json")
    command(model_of(name), "--data", calibration, "-o", out, *options)
    printed = capsys.readouterr()
    result = msgspec.json.decode(printed.out, type=Quantization)
    jsonschema.validate(json.loads(printed.out), schema())
    found = accuracies(result)
    assert found.keys() == {"float", "quantized", "hardware", "exact"}
    assert found["float"] > 0.9
    assert all(abs(each - found["float"]) <= 0.01 for each in found.values())
    right = {run.run: str(run.right) for run in result.runs}
    float_right, *others = documented(name, target)
    assert (float_right or right["float"]) == right["float"]
    assert others == [right["quantized"], right["hardware"], right["exact"], f"{result.cycles:,}"]
    assert out.exists()
    assert set(np.load(samples)) == {"image", "labels"}
    assert result.form.activations == ("int8" if target == "diana" else "uint8")


def test_validate_takes_what_is_saved(
    data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default names, and the C that validate runs has the accuracy that quantize says."""
    monkeypatch.chdir(tmp_path)
    calibration, test = data("mobilenet")
    command(model_of("mobilenet"), "--data", calibration, "--test", test, "--samples", 20, "--save-samples", "s.npz")
    said = capsys.readouterr().out
    compiled = match.compile("mobilenet_int8.onnx", "gap9")
    with np.load("s.npz") as saved:
        arrays = dict(saved)
    labels = arrays.pop("labels")
    seen = compiled.validate(arrays, labels=labels).accuracy
    assert seen is not None
    assert seen.samples == 20
    line = next(line for line in said.splitlines() if line.startswith("C, hardware numerics "))
    assert f" {seen.right} " in line


def constants(proto: Any) -> dict[str, Any]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}


def test_diana_gets_powers_of_two_and_zero_points_of_0() -> None:
    made = match.quantize(model_of("mobilenet"), noise(20, 1, 16, 16), "diana").model
    values = constants(made)
    scales = [value for name, value in values.items() if name.endswith("_scale")]
    zeros = [value for name, value in values.items() if name.endswith("_zero_point")]
    assert scales
    assert all(value.size == 1 and np.frexp(value)[0] == 0.5 for value in scales)
    assert all(not value.any() for value in zeros)
    report = match.predict(made, "diana")
    assert {layer.op for layer in report.layers if layer.module == "digital"} >= {"conv2d", "depthwise_conv2d", "add"}
    on_core = {layer.op for layer in report.layers if layer.module == "cpu"}
    assert not on_core & {"conv2d", "depthwise_conv2d", "dense", "lookup", "nn.relu"}


@pytest.mark.parametrize("target", ["gap9", "diana"])
def test_addends_have_one_scale_on_diana(target: str) -> None:
    """Numbers a hundred times as large are added to others."""
    weights = numpy_helper.from_array(100 * np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1), "weights")
    nodes = [
        onnx.helper.make_node("Conv", ["x", "weights"], ["large"]),
        onnx.helper.make_node("Add", ["x", "large"], ["y"]),
    ]
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3, 8, 8]) for name in "xy"]
    graph = onnx.helper.make_graph(nodes, "sum", values[:1], values[1:], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    made = match.quantize(model, noise(20, 3, 8, 8), target).model
    makers = {name: node for node in made.graph.node for name in node.output}
    (addition,) = (node for node in made.graph.node if node.op_type == "Add")
    one, other = (float(constants(made)[makers[name].input[1]]) for name in addition.input)
    assert (one == other) == (target == "diana")


def test_sums_smaller_than_their_addends_stay_on_diana() -> None:
    """A module that shifts to the right alone cannot make a scale finer."""
    ones = np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1)
    weights = [numpy_helper.from_array(ones * factor, name) for name, factor in (("one", -0.9), ("other", 0.8))]
    nodes = [
        onnx.helper.make_node("Conv", ["x", "one"], ["back"]),
        onnx.helper.make_node("Conv", ["x", "other"], ["forth"]),
        onnx.helper.make_node("Add", ["back", "forth"], ["sum"]),
        onnx.helper.make_node("Relu", ["sum"], ["y"]),
    ]
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3, 8, 8]) for name in "xy"]
    graph = onnx.helper.make_graph(nodes, "sum", values[:1], values[1:], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    result = match.quantize(model, noise(20, 3, 8, 8), "diana").result
    assert "add" not in {layer.op for layer in result.control_core}


@pytest.mark.parametrize("opset", [9, 12, 17, 21])
def test_normalization_is_folded_and_the_opset_raised(opset: int) -> None:
    """The prepared model computes what the float model computes, with the convolution alone."""
    model = tiny(opset=opset, batch="batch")
    prepared = prepare(model)
    assert [node.op_type for node in prepared.proto.graph.node] == ["Conv", "Relu"]
    assert prepared.inputs[0].shape == (1, 3, 8, 8)
    assert any("leaves the batch open" in note for note in prepared.notes)
    assert any("uses version" in note for note in prepared.notes) == (opset < 13)
    given = noise(1, 3, 8, 8)
    before, after = (
        exact_session(proto.SerializeToString(), fused=False).run(None, {"x": given})[0]
        for proto in (model, prepared.proto)
    )
    assert np.allclose(before, after, atol=1e-5)
    made = match.quantize(model, noise(8, 3, 8, 8), "gap9")
    assert made.result.runs[1].sqnr_db is not None
    assert made.result.runs[1].sqnr_db > 30
    assert match.predict(made.model, "gap9").layers


def test_normalization_that_nothing_can_fold() -> None:
    """In front of a ReLU and a convolution, as in DenseNet: a depthwise convolution, on a module."""
    model = tiny()
    nodes = list(model.graph.node)
    nodes[1].input[0], nodes[1].output[0] = "x", "normal"
    nodes[2].output[0], nodes[0].input[0], nodes[0].output[0] = "active", "active", "y"
    del model.graph.node[:]
    model.graph.node.extend([nodes[1], nodes[2], nodes[0]])
    for tensor in model.graph.initializer:
        if tensor.name != "weights":
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor)[:3], tensor.name))
    prepared = prepare(model)
    assert [node.op_type for node in prepared.proto.graph.node] == ["Conv", "Relu", "Conv"]
    given = noise(1, 3, 8, 8)
    before, after = (
        exact_session(proto.SerializeToString(), fused=False).run(None, {"x": given})[0]
        for proto in (model, prepared.proto)
    )
    assert np.allclose(before, after, atol=1e-5)
    result = match.quantize(model, noise(8, 3, 8, 8), "gap9").result
    assert not result.control_core


@pytest.mark.parametrize("slopes", [1, 4])
def test_prelu_with_one_slope_is_a_leaky_relu(slopes: int) -> None:
    model = tiny("PRelu")
    slope = np.linspace(0.1, 0.4, slopes, dtype=np.float32).reshape(-1, 1, 1)
    model.graph.initializer.append(numpy_helper.from_array(slope, "slope"))
    model.graph.node[2].input.append("slope")
    prepared = prepare(model)
    assert prepared.proto.graph.node[-1].op_type == ("LeakyRelu" if slopes == 1 else "PRelu")
    given = noise(1, 3, 8, 8)
    before, after = (
        exact_session(proto.SerializeToString(), fused=False).run(None, {"x": given})[0]
        for proto in (model, prepared.proto)
    )
    assert np.allclose(before, after, atol=1e-5)
    assert not match.quantize(model, noise(8, 3, 8, 8), "gap9").result.control_core


def test_weights_have_a_scale_for_each_channel_where_modules_multiply() -> None:
    proto = match.quantize(tiny(), noise(8, 3, 8, 8), "gap9").model
    values = constants(proto)
    (scales,) = (
        values[node.input[1]]
        for node in proto.graph.node
        if node.input[0] in values and values[node.input[0]].dtype == np.int8
    )
    assert scales.shape == (4,)


@pytest.mark.parametrize("op", ["Tanh", "HardSwish", "Sigmoid", "Softplus", "Erf", "Elu", "LeakyRelu", "Exp", "Abs"])
def test_functions_are_quantized(op: str) -> None:
    """Also those that onnxruntime's quantizer leaves alone by default."""
    result = match.quantize(tiny(op), noise(8, 3, 8, 8), "gap9").result
    assert not result.floating
    assert not result.control_core


def test_cells_stay_in_floating_point_and_it_is_said() -> None:
    result = match.quantize(match.zoo.build("gru_keywords-0.5-32", quantized=False), noise(4, 10, 32), "gap9").result
    (kind,) = result.floating
    assert kind.op == "GRU"
    assert "--quantize-recurrent" in kind.why
    assert any("sigmoid" in layer.op for layer in result.control_core)


def test_layers_and_leaving_one_out() -> None:
    """A layer whose weights are coarse costs most, and leaving it out gains what the others do not."""
    model = tiny()
    (weights,) = (tensor for tensor in model.graph.initializer if tensor.name == "weights")
    values = numpy_helper.to_array(weights).copy()
    values[:, 0] *= 300
    weights.CopyFrom(numpy_helper.from_array(values, "weights"))
    given = noise(16, 3, 8, 8) * np.array([0, 1, 1], np.float32)[:, None, None]
    result = match.quantize(model, given, "gap9", leave_one_out=True).result
    by_name = {layer.op: layer for layer in result.layers}
    assert [layer.op for layer in result.layers] == ["input", "Conv"]
    assert by_name["input"].sqnr_db is not None
    assert by_name["Conv"].sqnr_db is not None
    assert by_name["Conv"].loss_db == pytest.approx(by_name["input"].sqnr_db - by_name["Conv"].sqnr_db)
    assert by_name["Conv"].alone_db is not None
    assert by_name["input"].alone_db is not None
    assert by_name["Conv"].weight_bits == 8
    assert by_name["Conv"].alone_db > 10


def test_sqnr_and_cosine_are_those_of_the_definition() -> None:
    given = noise(10, 3, 8, 8)
    made = match.quantize(tiny(), given, "gap9")
    real, other = (
        np.stack([session.run(None, {"x": sample[None]})[0] for sample in given]).astype(np.float64)
        for session in (exact_session(proto.SerializeToString(), fused=False) for proto in (tiny(), made.model))
    )
    expected = 10 * np.log10((real**2).sum() / ((real - other) ** 2).sum())
    cosine = (real * other).sum() / np.sqrt((real**2).sum() * (other**2).sum())
    assert made.result.layers[-1].sqnr_db == pytest.approx(expected, abs=1e-3)
    assert made.result.layers[-1].cosine == pytest.approx(cosine, abs=1e-6)


def test_the_confusion_matrix_counts_each_sample(data: Data) -> None:
    calibration, test = data("digits_float")
    result = match.quantize(model_of("digits_float"), calibration, test=test, samples=120).result
    with np.load(test) as arrays:
        labels = arrays["labels"][np.arange(120) * len(arrays["labels"]) // 120]
    for run in result.runs:
        assert run.confusion is not None
        matrix = np.array(run.confusion)
        assert matrix.sum(axis=1).tolist() == np.bincount(labels, minlength=10).tolist()
        assert np.trace(matrix) == run.right


def test_from_python_with_an_iterator_and_a_file(tmp_path: Path) -> None:
    made = match.quantize(tiny(), ({"x": sample} for sample in noise(8, 3, 8, 8)), "gap9", output=tmp_path / "q.onnx")
    assert onnx.load(tmp_path / "q.onnx") == made.model
    assert made.result.calibrated == 8
    assert made.result.classes is None
    assert [run.run for run in made.result.runs] == ["float", "quantized"]
    assert "cycles predicted" in repr(made)


def test_the_same_twice() -> None:
    one, two = (match.quantize(tiny(), noise(8, 3, 8, 8), "gap9").model.SerializeToString() for _ in range(2))
    assert one == two
