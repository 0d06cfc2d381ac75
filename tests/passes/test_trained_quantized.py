"""Layers as quantization-aware training leaves them, beside onnxruntime, which computes them in floating point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.frontend import load
from match.relay.integer_form import is_real_sums
from match.relay.objects import expressions, main_function
from match.relay.plain import qnn_operators
from match.relay.rewrite import is_call
from match.validation.exact_session import exact_session, with_own_weights
from tests.integer_relay import integer_relay
from tests.passes.running import executable
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

Integers = npt.NDArray[np.int64]

SUMMING = ("nn.conv2d", "nn.dense", "qnn.conv2d", "qnn.dense", "qnn.conv2d_transpose", "nn.avg_pool2d", "sum")


def compared(
    model: Any, folder: Path, *, exact: bool = True, real: bool = True, fused: bool = True
) -> tuple[Integers, Integers]:
    """What the network's integer form computes and what onnxruntime does, after it is checked to be in integers.

    real: whether the network says that onnxruntime computes some of it in floating point.
    fused: whether onnxruntime may fuse operators.
    """
    path = folder / "model.onnx"
    onnx.save(model, path)
    loaded = load(path)
    module = integer_relay(loaded, exact=exact)
    assert qnn_operators(module) == []
    sums = [expr for expr in expressions(main_function(module)) if is_call(expr, *SUMMING)]
    assert sums
    assert all(str(expr.checked_type.dtype) == "int32" for expr in sums)
    assert any(is_real_sums(expr) for expr in expressions(main_function(module))) == real
    shape = loaded.inputs[0].shape
    x = np.random.default_rng(5).normal(0, 1, shape).astype(np.float32)
    (ours,) = executable(module)({loaded.inputs[0].name: x})
    assert loaded.data is not None
    (reference,) = exact_session(with_own_weights(loaded.data), fused=fused).run(None, {loaded.inputs[0].name: x})
    return ours.astype(np.int64), reference.astype(np.int64)


def ended(model: TrainedModel, scale: float, dtype: str, zero_point: int = 0) -> Any:
    """The model with the last tensor's integers as its output."""
    model.add("QuantizeLinear", model.constant(np.float32(scale)), model.constant(np.array(zero_point, dtype)))
    return model.build(dtype)


def convolution(model: TrainedModel) -> None:
    model.conv(12, pads=[1, 1, 1, 1], strides=[2, 1])


def depthwise(model: TrainedModel) -> None:
    model.conv(8, group=4, pads=[1, 1, 1, 1])


def transposed(model: TrainedModel) -> None:
    weights = model.weights((model.channels, 6, 2, 2), axis=1)
    model.channels = 6
    model.add("ConvTranspose", weights, kernel_shape=[2, 2], strides=[2, 2])


def sequence(model: TrainedModel) -> None:
    model.conv(6, (3,), pads=[2, 0])


def dense(model: TrainedModel) -> None:
    model.channels = 9
    model.add("Gemm", model.weights((9, 4)), model.constant(np.linspace(-1, 1, 9, dtype=np.float32)), transB=1)


def product(model: TrainedModel) -> None:
    model.channels = 9
    model.add("MatMul", model.weights((4, 9), axis=1))


def product_of_rows(model: TrainedModel) -> None:
    """A dense layer without a bias, as Brevitas exports it."""
    model.channels = 9
    model.add("MatMul", model.apply("Transpose", model.weights((9, 4)), perm=[1, 0]))


LAYERS: dict[Callable[[TrainedModel], None], tuple[int, ...]] = {
    convolution: (1, 4, 9, 8),
    depthwise: (1, 4, 9, 8),
    transposed: (1, 4, 5, 6),
    sequence: (1, 4, 19),
    dense: (1, 4),
    product: (1, 4),
    product_of_rows: (1, 4),
}


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
@settings(max_examples=6)
@given(
    st.sampled_from(["int8", "uint8"]),
    st.sampled_from(["int8", "uint8"]),
    st.booleans(),
    st.sampled_from([8, 4]),
    st.sampled_from([0.002, 0.05, 1.0]),
    st.booleans(),
)
def test_normalized_layers(
    tmp_path_factory: pytest.TempPathFactory,
    layer: Callable[[TrainedModel], None],
    inputs: str,
    outputs: str,
    per_channel: bool,
    bits: int,
    scale: float,
    clipped: bool,
) -> None:
    """Within a step: biases are rounded to parts of a sum, and float32 rounds, too."""
    model = TrainedModel(LAYERS[layer], bits=bits, per_channel=per_channel)
    model.quantize(0.03, inputs, 7)
    layer(model)
    model.normalize(scale)
    if clipped:
        model.add("Relu")
    ours, reference = compared(ended(model, 0.05 * scale, outputs, 20), tmp_path_factory.mktemp("model"))
    assert len(np.unique(reference)) > 4
    assert np.abs(ours - reference).max() <= 1
    assert np.count_nonzero(ours != reference) <= max(1, 0.002 * ours.size)


@pytest.mark.parametrize(("layer", "shape"), [("Conv", (1, 4, 9, 8)), ("Gemm", (1, 4))])
def test_biases_of_8_bits_and_a_scale_of_their_own(layer: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    """Such layers onnxruntime computes in floating point; here biases are rounded to sums, far below a step."""
    model = TrainedModel(shape)
    model.quantize(2**-5, "uint8", 128)
    weights = model.weights((7, 4, 3, 3) if layer == "Conv" else (7, 4))
    levels = model.constant(np.linspace(-100, 90, 7).astype(np.int8))
    bias = model.apply("DequantizeLinear", levels, *(model.constant(each) for each in (np.float32(2**-6), np.int8(0))))
    model.add(layer, weights, bias, **({"transB": 1} if layer == "Gemm" else {}))
    ours, reference = compared(ended(model, 0.07, "uint8", 128), tmp_path)
    assert len(np.unique(reference)) > 4
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < 0.005


@pytest.mark.parametrize("layer", [convolution, depthwise, dense, sequence], ids=lambda layer: layer.__name__)
@pytest.mark.parametrize(("dtype", "zero_point"), [("uint8", 90), ("int8", -3), ("int8", 20)])
def test_slopes_of_channels_behind_a_layer(
    layer: Callable[[TrainedModel], None], dtype: str, zero_point: int, tmp_path: Path
) -> None:
    """PReLU with no quantize in front, slopes of 0 and more than 1 among them: one rounding, as onnxruntime has."""
    model = TrainedModel(LAYERS[layer])
    model.quantize(0.03, "int8", 7)
    layer(model)
    slopes = np.linspace(0, 1.2, model.channels).astype(np.float32)
    shape = (model.channels, *[1] * (len(LAYERS[layer]) - 2))
    model.add("PRelu", model.constant(slopes.reshape(shape)))
    ours, reference = compared(ended(model, 0.05, dtype, zero_point), tmp_path)
    assert len(np.unique(reference)) > 3
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < 0.005


@pytest.mark.parametrize("slope", [0.1, 0.25])
def test_one_slope_behind_a_layer(slope: float, tmp_path: Path) -> None:
    """A leaky ReLU, with exact numerics, and a PReLU whose slopes are quantized."""
    model = TrainedModel((1, 4, 9, 8))
    model.quantize(0.03, "int8", 7)
    convolution(model)
    if slope == 0.1:
        model.add("LeakyRelu", alpha=slope)
    else:
        quantized = map(model.constant, (np.full((12, 1, 1), 64, np.int8), np.float32(2**-8), np.int8(0)))
        model.add("PRelu", model.apply("DequantizeLinear", *quantized))
    ours, reference = compared(ended(model, 0.02, "int8"), tmp_path)
    assert len(np.unique(reference)) > 50
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < 0.005


def test_negative_slopes_behind_a_layer_stay_in_floating_point(tmp_path: Path) -> None:
    model = TrainedModel((1, 4, 9, 8))
    model.quantize(0.03, "int8", 7)
    convolution(model)
    model.add("PRelu", model.constant(np.linspace(-0.5, 0.5, 12, dtype=np.float32).reshape(12, 1, 1)))
    onnx.save(ended(model, 0.05, "int8"), tmp_path / "model.onnx")
    calls = list(expressions(main_function(integer_relay(load(tmp_path / "model.onnx")))))
    assert any(is_call(expr, "where") and str(expr.checked_type.dtype) == "float32" for expr in calls)


@pytest.mark.parametrize("layer", ["Conv", "ConvTranspose", "Gemm"])
@pytest.mark.parametrize("flaw", ["", "weights", "bias", "output", "input", "sums"])
def test_sums_that_floating_point_holds(layer: str, flaw: str, tmp_path: Path) -> None:
    """With scales that are powers of two, and a bias that counts in steps of the sums, a layer in float32 is exact.

    Not if one scale is no such power, the bias is finer, or sums may be 2^24 and more.
    """
    inputs = 2200 if flaw == "sums" else 4
    model = TrainedModel((1, inputs) if layer == "Gemm" else (1, inputs, 5, 4))
    model.quantize(0.03 if flaw == "input" else 2**-5, "uint8", 128)
    shape = {"Conv": (7, inputs, 3, 3), "ConvTranspose": (inputs, 7, 3, 3), "Gemm": (7, inputs)}[layer]
    axis = int(layer == "ConvTranspose")
    scales = np.ldexp(np.float32(1), -np.arange(4, 11)).astype(np.float32)
    if flaw == "weights":
        scales[3] = 0.01
    levels = np.random.default_rng(0).integers(-127, 128, shape).astype(np.int8)
    weights = model.apply("DequantizeLinear", *map(model.constant, (levels, scales, np.zeros(7, np.int8))), axis=axis)
    bias = model.constant(np.linspace(-9, 9, 7).astype(np.int8))
    finer = np.float32(2**-16 if flaw == "bias" else 2**-9)
    bias = model.apply("DequantizeLinear", bias, model.constant(finer), model.constant(np.int8(0)))
    model.add(layer, weights, bias, **({"transB": 1} if layer == "Gemm" else {}))
    scale = 0.3 if flaw == "output" else 2.0 ** (3 if flaw == "sums" else -2)
    ours, reference = compared(ended(model, scale, "uint8", 128), tmp_path, real=bool(flaw))
    assert len(np.unique(reference)) > 3
    assert np.abs(ours - reference).max() <= 1
    assert flaw or np.array_equal(ours, reference)


@pytest.mark.parametrize("kind", ["GlobalAveragePool", "AveragePool"])
@pytest.mark.parametrize("first", [True, False])
def test_averages_times_a_number(kind: str, first: bool, tmp_path: Path) -> None:
    """As quantizers for accelerators write them that divide by shifting."""
    model = TrainedModel((1, 5, 7, 6))
    model.quantize(2**-6, "uint8", 90)
    model.add(kind, **({"kernel_shape": [3, 3]} if kind == "AveragePool" else {}))
    number = model.constant(np.float32(1.015625))
    model.current = model.apply("Mul", *((number, model.current) if first else (model.current, number)))
    ours, reference = compared(ended(model, 2**-8, "uint8", 60), tmp_path, exact=False)
    assert len(np.unique(reference)) > 4
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < 0.1


@pytest.mark.parametrize("kind", ["GlobalAveragePool", "ReduceMean"])
@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "uint8")])
def test_averages_whose_type_changes(tmp_path: Path, kind: str, types: tuple[str, str]) -> None:
    model = TrainedModel((1, 5, 7, 6))
    model.quantize(0.02, types[0], 20)
    model.add(kind, **({"axes": [2, 3]} if kind == "ReduceMean" else {}))
    ours, reference = compared(ended(model, 0.003, types[1], 50), tmp_path, real=False)
    assert len(np.unique(reference)) > 3
    assert np.array_equal(ours, reference)


def test_windows_whose_type_changes(tmp_path: Path) -> None:
    model = TrainedModel((1, 5, 7, 6))
    model.quantize(0.02, "uint8", 90)
    model.add("AveragePool", kernel_shape=[2, 2])
    ours, reference = compared(ended(model, 0.02, "int8"), tmp_path, exact=False)
    assert len(np.unique(reference)) > 20
    assert np.abs(ours - reference).max() <= 1


@pytest.mark.parametrize("flattened", [False, True])
def test_values_are_chosen_before_they_are_dequantized(flattened: bool, tmp_path: Path) -> None:
    """Poolings and reshapes without a quantize behind them, in front of layers that multiply.

    onnxruntime moves a quantization past a Reshape, but not past a Flatten or the pooling of a whole map.
    """
    model = TrainedModel((1, 4, 8, 8))
    model.quantize(0.03, "int8", 3)
    model.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2], pads=[1, 0, 0, 1])
    model.conv(6)
    model.quantize(0.3, "uint8", 100)
    if flattened:
        model.add("GlobalMaxPool")
        model.add("Flatten")
    else:
        model.add("MaxPool", kernel_shape=[2, 2])
        model.add("Reshape", model.constant(np.array([1, 6])))
    model.add("Gemm", model.weights((5, 6)), transB=1)
    ours, reference = compared(ended(model, 0.2, "int8"), tmp_path, real=flattened)
    assert len(np.unique(reference)) > 3
    assert np.array_equal(ours, reference)


def test_a_scale_too_coarse_for_a_rounded_bias_is_applied_in_floating_point(tmp_path: Path) -> None:
    """Where one more in a sum moves the output by steps, the bias would have to be as fine as outputs."""
    model = TrainedModel((1, 4, 9, 8))
    model.quantize(0.03, "int8")
    convolution(model)
    model.normalize(1.0)
    onnx.save(ended(model, 1e-5, "int8"), tmp_path / "model.onnx")
    calls = list(expressions(main_function(integer_relay(load(tmp_path / "model.onnx")))))
    (product,) = [expr for expr in calls if is_call(expr, *SUMMING)]
    assert str(product.checked_type.dtype) == "int32"
    scaled = [expr for expr in calls if is_call(expr, "multiply")]
    assert {str(expr.checked_type.dtype) for expr in scaled} == {"float32"}


def test_values_are_moved_after_they_are_quantized(tmp_path: Path) -> None:
    """A mean, a function of each element and a convolution, each with reshapes, transposes or poolings behind it."""
    model = TrainedModel((1, 4, 8, 8))
    model.quantize(0.03, "uint8", 120)
    model.conv(6, pads=[1, 1, 1, 1])
    model.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    model.add("Transpose", perm=[0, 2, 1, 3])
    model.quantize(0.02, "int8", -100)
    model.add("Sigmoid")
    model.add("Transpose", perm=[0, 2, 1, 3])
    model.quantize(1 / 256)
    model.add("ReduceMean", axes=[2, 3])
    model.add("Reshape", model.constant(np.array([2, 3])))
    ours, reference = compared(ended(model, 1 / 256, "uint8"), tmp_path, real=False)
    assert len(np.unique(reference)) > 3
    assert np.array_equal(ours, reference)


@pytest.mark.parametrize(("step", "of_numbers"), [(2, False), (4, True)])
def test_slices_are_of_integers_unless_they_keep_little(step: int, *, of_numbers: bool, tmp_path: Path) -> None:
    """In front of the first quantize, as where pixels of an image become channels; a slice by 4 keeps one of 16."""
    model = TrainedModel((1, 4, 16, 16))
    places = [np.array(numbers, np.int64) for numbers in ([1, 0], [16, 16], [2, 3], [step, step])]
    model.add("Slice", *(model.constant(numbers) for numbers in places))
    model.quantize(0.03, "uint8", 120)
    model.conv(6)
    ours, reference = compared(ended(model, 0.2, "int8"), tmp_path, real=False)
    assert len(np.unique(reference)) > 3
    assert np.array_equal(ours, reference)
    module = integer_relay(load(tmp_path / "model.onnx"))
    slices = [expr for expr in expressions(main_function(module)) if is_call(expr, "strided_slice")]
    assert any(str(cut.checked_type.dtype) == "float32" for cut in slices) == of_numbers


@pytest.mark.parametrize("groups", [1, 2, 4, 8])
@pytest.mark.parametrize("per_channel", [False, True])
def test_transposed_convolutions_in_groups(groups: int, tmp_path: Path, *, per_channel: bool) -> None:
    """Groups share the scales of the outputs that each of them has."""
    model = TrainedModel((1, 8, 5, 4), per_channel=per_channel)
    model.quantize(0.03, "uint8", 117)
    weights = model.weights((8, 3, 3, 2), axis=1)
    model.add("ConvTranspose", weights, group=groups, strides=[2, 1], pads=[1, 0, 1, 1], output_padding=[1, 0])
    ours, reference = compared(ended(model, 0.2, "uint8", 120), tmp_path)
    assert len(np.unique(reference)) > 50
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < 0.002
