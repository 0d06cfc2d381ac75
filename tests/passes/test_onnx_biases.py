"""Biases that do not count in steps of their layer's sums, beside onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

from match.frontend import load
from match.frontend.onnx_biases import with_held_biases
from match.partitioning.pattern import Match
from match.passes.pipeline import integer_network
from match.relay.plain import qnn_operators
from match.validation.exact_session import exact_session
from tests.layers_of import find
from tests.passes.running import executable, written
from tests.passes.test_trained_quantized import ended
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

Array: TypeAlias = Any
"""An array, or a number without axes."""
CHANNELS, UNITS = 6, 8
INPUT_SCALE, OUTPUT_SCALE = np.float32(0.0317), np.float32(0.0613)
SCALES = np.linspace(0.004, 0.013, UNITS).astype(np.float32)
KINDS = ("Conv", "ConvTranspose", "Gemm", "MatMul")


class Layer:
    """A layer with weights in int8, whose bias is given as real numbers, or as integers, scales and a zero point."""

    def __init__(self, kind: str, bias: Array | tuple[Array, Array, int], scales: Array = SCALES) -> None:
        self.constants: list[Any] = []
        rng = np.random.default_rng(6)
        shape = {"Conv": (UNITS, CHANNELS, 3, 3), "ConvTranspose": (CHANNELS, UNITS, 3, 3)}.get(kind, (CHANNELS, UNITS))
        axis = 0 if kind == "Conv" else 1
        zeros = np.zeros(np.shape(scales), np.int8)
        nodes = self.dequantize("x", np.uint8(117), INPUT_SCALE, quantized=True)
        weights = self.constant("w", rng.integers(-127, 128, shape).astype(np.int8))
        nodes += self.dequantize(weights, zeros, scales, axis=axis)
        if isinstance(bias, tuple):
            levels, steps, zero_point = bias
            nodes += self.dequantize(
                self.constant("b", levels), np.full(np.shape(steps), zero_point, levels.dtype), steps
            )
            bias_name = "b_real"
        else:
            bias_name = self.constant("b", bias)
        if kind == "MatMul":
            nodes += [helper.make_node("MatMul", ["x_real", "w_real"], ["product"])]
            nodes += [helper.make_node("Add", ["product", bias_name], ["y"])]
        else:
            nodes.append(helper.make_node(kind, ["x_real", "w_real", bias_name], ["y"]))
        nodes += self.quantize("y", np.uint8(120), OUTPUT_SCALE)
        extents = (1, CHANNELS, 7, 6) if kind.startswith("Conv") else (40, CHANNELS)
        graph = helper.make_graph(
            nodes,
            "layer",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, extents)],
            [helper.make_tensor_value_info("y_levels", onnx.TensorProto.UINT8, None)],
            self.constants,
        )
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        self.x = {"x": rng.normal(0, 2, extents).astype(np.float32)}

    def constant(self, name: str, values: npt.ArrayLike) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def dequantize(
        self, name: str, zero_points: Any, scales: Any, *, axis: int = 0, quantized: bool = False
    ) -> list[onnx.NodeProto]:
        nodes = self.quantize(name, zero_points, scales) if quantized else []
        parameters = [f"{name}_scale", f"{name}_zero"]
        if not quantized:
            self.constant(parameters[0], scales)
            self.constant(parameters[1], zero_points)
        levels = f"{name}_levels" if quantized else name
        along = {"axis": axis} if np.shape(scales) else {}
        return [*nodes, helper.make_node("DequantizeLinear", [levels, *parameters], [f"{name}_real"], **along)]

    def quantize(self, name: str, zero_point: Any, scale: Any) -> list[onnx.NodeProto]:
        parameters = [self.constant(f"{name}_scale", scale), self.constant(f"{name}_zero", zero_point)]
        return [helper.make_node("QuantizeLinear", [name, *parameters], [f"{name}_levels"])]

    def reference(self, *, fused: bool) -> npt.NDArray[np.int64]:
        return exact_session(self.model.SerializeToString(), fused=fused).run(None, self.x)[0].astype(np.int64)

    def ours(self, folder: Path) -> tuple[npt.NDArray[np.int64], bool]:
        """What the integer form computes, and whether it is said to be exact."""
        onnx.save(self.model, folder / "model.onnx")
        module = integer_network(load(folder / "model.onnx"))
        assert not qnn_operators(written(module))
        layers = [layer for layer in find(module) if isinstance(layer, Match)]
        (outputs,) = executable(module)(self.x)
        return outputs.astype(np.int64), all(layer.reference for layer in layers)


def integers(seed: int = 1, largest: int = 3000) -> npt.NDArray[np.int32]:
    return np.random.default_rng(seed).integers(-largest, largest, UNITS).astype(np.int32)


OWN: dict[str, tuple[Array, Array, int]] = {
    "scales": (integers(), (INPUT_SCALE * SCALES * np.linspace(0.3, 3, UNITS)).astype(np.float32), 0),
    "one scale": (integers(), np.float32(3e-4), 0),
    "scales of another layer": (integers(), (np.float32(0.05) * SCALES).astype(np.float32), 0),
    "a zero point": (integers(), INPUT_SCALE * SCALES, 300),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OWN)
def test_a_scale_or_zero_point_of_its_own(name: str, kind: str, tmp_path: Path) -> None:
    """The bias has the numbers that ONNX defines, of which a Gemm's are rounded to steps of the sums."""
    layer = Layer(kind, OWN[name])
    ours, exact = layer.ours(tmp_path)
    off = np.abs(ours - layer.reference(fused=False))
    assert off.max() <= 1
    assert np.mean(off) < 0.01
    assert exact == (kind in ("Gemm", "MatMul"))
    if not exact:  # onnxruntime computes it in floating point
        assert np.array_equal(layer.reference(fused=True), layer.reference(fused=False))


@pytest.mark.parametrize("kind", ["Conv", "Gemm", "MatMul"])
@pytest.mark.parametrize("error", [0, 1e-7, 0.009, -0.009])
def test_a_scale_that_is_nearly_that_of_the_sums(kind: str, error: float, tmp_path: Path) -> None:
    layer = Layer(kind, (integers(), (INPUT_SCALE * SCALES * np.float32(1 + error)).astype(np.float32), 0))
    ours, exact = layer.ours(tmp_path)
    assert exact
    assert np.array_equal(ours, layer.reference(fused=True))


REALS = np.linspace(-3, 2.5, UNITS).astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tiny", [0.0, 1e-30, 1e-12, 3e-10])
@pytest.mark.parametrize("one", [False, True], ids=["some channels", "all"])
def test_steps_that_int32_does_not_hold_a_real_bias_in(kind: str, tiny: float, tmp_path: Path, *, one: bool) -> None:
    """The bias is kept, where onnxruntime wraps it around."""
    scales = np.float32(tiny) if one else np.where(np.arange(UNITS) % 3 == 1, np.float32(tiny), SCALES)
    layer = Layer(kind, REALS, scales)
    ours, exact = layer.ours(tmp_path)
    off = np.abs(ours - layer.reference(fused=False))
    assert off.max() <= 1
    assert np.mean(off) < 0.01
    assert exact == (kind != "ConvTranspose")


@pytest.mark.parametrize("kind", KINDS)
def test_weights_with_a_scale_of_zero(kind: str, tmp_path: Path) -> None:
    """Such a channel is its bias, which counts in steps of nothing: 0."""
    scales = np.where(np.arange(UNITS) % 3 == 1, np.float32(0), SCALES)
    layer = Layer(kind, (integers(), INPUT_SCALE * scales, 0), scales)
    ours, _ = layer.ours(tmp_path)
    assert np.array_equal(
        np.moveaxis(ours, 1, 0)[scales == 0],
        np.full((3, *np.moveaxis(ours, 1, 0).shape[1:]), 120)[: (scales == 0).sum()],
    )
    assert np.abs(ours - layer.reference(fused=False)).max() <= 1


@pytest.mark.parametrize(
    "bias", [REALS, OWN["scales"], (integers(), INPUT_SCALE * SCALES, 0)], ids=["real", "own", "steps"]
)
@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose"])
def test_models_with_biases_that_fit_stay(kind: str, bias: Any) -> None:
    model = Layer(kind, bias).model
    assert with_held_biases(model).SerializeToString(deterministic=True) == model.SerializeToString(deterministic=True)


def test_weights_that_two_layers_share() -> None:
    """A layer gets weights of its own where its bias needs them."""
    model = Layer("Gemm", REALS, np.float32(1e-30)).model
    second = [helper.make_node("Gemm", ["x_real", "w_real"], ["z"])]
    model.graph.node.extend(second)
    changed = with_held_biases(model)
    (first, other) = (node for node in changed.graph.node if node.op_type == "Gemm")
    assert first.input[1] != "w_real"
    assert other.input[1] == "w_real"


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("extents", [(UNITS,), (UNITS, 1), (1, 1, 1, UNITS), (UNITS, UNITS)])
@pytest.mark.parametrize("kind", ["Conv", "MatMul"])
def test_numbers_along_another_axis(kind: str, extents: tuple[int, ...], tmp_path: Path, *, quantized: bool) -> None:
    """They are added where ONNX says, as many as they are: a bias has one number for each channel, along its axis."""
    model = TrainedModel((1, CHANNELS, UNITS, UNITS) if kind == "Conv" else (UNITS, CHANNELS))
    model.quantize(float(INPUT_SCALE), "uint8", 117)
    if kind == "Conv":
        model.conv(UNITS, (1, 1))
    else:
        model.add("MatMul", model.weights((CHANNELS, UNITS), axis=1))
    numbers = np.random.default_rng(2).integers(-100, 101, extents).astype(np.int8)
    added = model.constant(numbers if quantized else numbers * np.float32(0.03))
    if quantized:
        added = model.apply("DequantizeLinear", added, model.constant(np.float32(0.03)), model.constant(np.int8(0)))
    model.add("Add", added)
    onnx.save(ended(model, float(OUTPUT_SCALE), "uint8", 120), tmp_path / "model.onnx")
    loaded = load(tmp_path / "model.onnx")
    x = {"x": np.random.default_rng(3).normal(0, 2, loaded.inputs[0].shape).astype(np.float32)}
    assert loaded.data is not None
    (expected,) = exact_session(loaded.data).run(None, x)
    (found,) = executable(integer_network(loaded))(x)
    off = np.abs(found.astype(np.int64) - expected)
    assert off.max() <= 1
    assert np.mean(off) < 0.02
