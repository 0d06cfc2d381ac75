"""Which session of onnxruntime is the reference, and when its integers may be others than the network's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.errors import InputError, ToolchainError
from match.frontend import load
from match.validation import references
from match.validation.exact_session import activation_types, exact_session
from tests.passes.tflite_models import TfliteModel
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm


def model_file(folder: Path, activations: str) -> Path:
    """A network with residual additions, whose weights are int8 in any case."""
    path = folder / f"{activations}.onnx"
    onnx.save(match.zoo.build("resnet8", activations=activations), path)
    return path


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("activations", ["int8", "uint8"])
def test_signed_activations_need_exact_products(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, activations: str, exact: bool
) -> None:
    """Where the PC has them the session computes in int8; where it has not, the validation says what that means."""
    asked: list[bool] = []

    def session(model: bytes, *, signed: bool) -> Any:
        asked.append(signed)

    monkeypatch.setattr(references, "multiplies_signed_exactly", lambda: exact)
    monkeypatch.setattr(references, "exact_session", session)
    path = model_file(tmp_path, activations)
    model = load(path)
    references.reference(model)
    signed = activations == "int8"
    assert activation_types(path.read_bytes()) == {activations}
    assert asked == [signed and exact]
    said = references.caveat(model)
    assert (said is not None) == (signed and not exact)
    assert said is None or "int8 activations" in said


def test_integers_of_both_types_stay_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As networks that were trained quantized have them: numbers in int8, what a Relu leaves in uint8.

    In a session that computes int8 as int8, onnxruntime leaves a convolution from one to the other in floating point.
    """
    model = TrainedModel((1, 3, 8, 8))
    model.quantize(0.03, "int8")
    model.conv(4)
    model.add("Relu")
    model.quantize(0.002)
    model.conv(4)
    model.quantize(0.0001, "int8")
    onnx.save(model.build(), tmp_path / "both.onnx")
    optimized = tmp_path / "optimized.onnx"

    def session(model: bytes, *, signed: bool) -> Any:
        return exact_session(model, signed=signed, optimized=optimized)

    monkeypatch.setattr(references, "multiplies_signed_exactly", lambda: True)
    monkeypatch.setattr(references, "exact_session", session)
    network = load(tmp_path / "both.onnx")
    assert network.data is not None
    assert activation_types(network.data) == {"int8", "uint8"}
    references.reference(network)
    executed = [node.op_type for node in onnx.load(optimized).graph.node]
    assert executed.count("QLinearConv") == 2
    assert references.caveat(network) is not None


def test_other_references_are_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """TFLite Micro and a network's own integers have no such kernels."""
    monkeypatch.setattr(references, "multiplies_signed_exactly", lambda: False)
    network = Path(__file__).parent.parent / "tflite" / "networks" / "autoencoder.tflite"
    assert references.caveat(load(network)) is None


@pytest.mark.parametrize(("width", "said"), [(1, "pads SPACE_TO_BATCH_ND with a value"), (0, None)])
def test_caveat_of_padding_that_tflite_micro_never_sets(tmp_path: Path, width: int, said: str | None) -> None:
    model = TfliteModel()
    x, output = model.tensor((1, 4 - width, 3), "int8", 0.1, 5), model.tensor((2, 2, 3), "int8", 0.1, 5)
    blocks, widths = (model.tensor(np.shape(one), "int32", data=np.array(one)) for one in ([2], [[width, 0]]))
    model.operator("SPACE_TO_BATCH_ND", [x, blocks, widths], output)
    (tmp_path / "net.tflite").write_bytes(model.build([x], [output]))
    found = references.caveat(load(tmp_path / "net.tflite"))
    assert found is None if said is None else said in (found or "")


@pytest.mark.parametrize(("divisor", "said"), [(None, "divisor of zero"), (5, "divisor of zero"), (6, None)])
def test_caveat_of_divisions_by_zero(tmp_path: Path, divisor: int | None, said: str | None) -> None:
    model = TfliteModel()
    x, output = model.tensor((1, 4), "int8", 0.1), model.tensor((1, 4), "int8", 0.1)
    by = model.tensor((1, 4), "int8", 0.1, 5, None if divisor is None else np.full((1, 4), divisor))
    model.operator("DIV", [x, by], output, "DivOptions")
    (tmp_path / "net.tflite").write_bytes(model.build([x, by] if divisor is None else [x], [output]))
    found = references.caveat(load(tmp_path / "net.tflite"))
    assert found is None if said is None else said in (found or "")


def test_types_that_tflite_micro_refuses_while_it_computes(tmp_path: Path) -> None:
    """Its kernel of FULLY_CONNECTED looks at them late."""
    model = TfliteModel()
    x, output = model.tensor((1, 6), "uint8", 0.1, 128), model.tensor((1, 2), "uint8", 0.2, 128)
    weights = model.tensor((2, 6), "int8", 0.1, data=np.arange(12).reshape(2, 6))
    model.operator("FULLY_CONNECTED", [x, weights], output, "FullyConnectedOptions")
    path = tmp_path / "model.tflite"
    path.write_bytes(model.build([x], [output]))
    _, run = references.reference(load(path))
    with pytest.raises(ToolchainError, match="TFLite Micro cannot run model"):
        run([np.zeros((1, 6), np.uint8)])


def test_networks_that_tflite_micro_aborts_at(tmp_path: Path) -> None:
    """As it does at a tensor less itself, whose scale the converter makes tiny."""
    model = TfliteModel()
    x, output = model.tensor((1, 4), "int8", 0.1), model.tensor((1, 4), "int8", 2.0**-27)
    model.operator("SUB", [x, x], output, "SubOptions")
    (tmp_path / "model.tflite").write_bytes(model.build([x], [output]))
    with pytest.raises(ToolchainError, match="TFLite Micro ends the process that loads model"):
        references.reference(load(tmp_path / "model.tflite"))


def test_inputs_that_tflite_micro_aborts_at(tmp_path: Path) -> None:
    """As it does at a row of so many equal numbers that the sum of their exponentials has too many bits."""
    model = TfliteModel()
    x, output = model.tensor((1, 1152), "int8", 0.1), model.tensor((1, 1152), "int8", 1 / 256, -128)
    model.operator("SOFTMAX", [x], output, "SoftmaxOptions", beta=1.0)
    (tmp_path / "model.tflite").write_bytes(model.build([x], [output]))
    _, run = references.reference(load(tmp_path / "model.tflite"))
    rising = np.linspace(-128, 127, 1152).astype(np.int8).reshape(1, 1152)
    assert len(run([rising])) == 1
    with pytest.raises(ToolchainError, match="TFLite Micro ends the process that computes model"):
        run([np.zeros((1, 1152), np.int8)])


def test_inputs_that_the_reference_refuses_are_told(tmp_path: Path) -> None:
    """Such as places that a table of four rows does not have."""
    rows, places = [helper.make_tensor_value_info(*one) for one in (("y", 1, [2, 3]), ("places", 7, [2]))]
    constants = {"rows": np.ones((4, 3), np.int8), "scale": np.float32(0.5)}
    nodes = [
        helper.make_node("DequantizeLinear", ["rows", "scale"], ["table"]),
        helper.make_node("Gather", ["table", "places"], ["y"]),
    ]
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "net", [places], [rows], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "x.onnx")
    _, run = references.reference(load(tmp_path / "x.onnx"))
    (found,) = run([np.array([0, 3])])
    assert found.shape == (2, 3)
    with pytest.raises(InputError, match=r"cannot compute x from these inputs: .*idx=4 .*; give some that it takes"):
        run([np.array([0, 4])])


def test_real_numbers_are_not_rounded_in_products_with_quantized_weights() -> None:
    """By default onnxruntime quantizes them as it runs, which no model says."""
    rng = np.random.default_rng(2)
    weights = rng.integers(-127, 128, (32, 7)).astype(np.int8)
    constants = {"w": weights, "s": np.float32(0.01), "z": np.int8(0)}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"]),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 32))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (3, 7))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    x = rng.normal(0, 1, (3, 32)).astype(np.float32)
    (found,) = exact_session(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(found, x.astype(np.float64) @ (weights * 0.01), rtol=1e-5, atol=1e-5)


def test_layers_of_inputs_with_a_scale_for_each_channel(tmp_path: Path) -> None:
    """Onnxruntime's fused kernels fail at these; operator by operator it computes what the file says."""
    scales = np.array([0.02, 0.05, 0.03])
    model = TrainedModel((1, 3, 5, 5))
    model.quantize(scales, "uint8")
    model.conv(3, (1, 1), group=3)
    model.quantize(0.1, "uint8", 128)
    onnx.save(model.build(), tmp_path / "x.onnx")
    x = np.random.default_rng(3).uniform(0, 4, (1, 3, 5, 5)).astype(np.float32)
    _, run = references.reference(load(tmp_path / "x.onnx"))
    (found,) = run([x])
    stored = np.rint(x / scales[:, None, None]) * scales[:, None, None]
    for ours, reference in zip(stored[0], found[0], strict=True):  # a 1x1 filter of one channel is a factor
        factor = np.vdot(ours, reference) / np.vdot(ours, ours)
        assert abs(factor) > 0.1
        assert np.abs(ours * factor - reference).max() < 0.1
