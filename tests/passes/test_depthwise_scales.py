"""Depthwise convolutions whose input has a scale for each channel, beside onnxruntime, which computes real numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.frontend.onnx_as_relay import relay_of
from match.frontend.relay import from_relay
from match.graph.reals import RealClip, RealConvolution
from match.passes.pipeline import integer_network
from match.relay.integer_form import is_real_sums
from match.relay.objects import expressions, main_function
from match.relay.rewrite import is_call
from tests.integer_relay import integer_relay
from tests.passes.test_trained_quantized import compared, ended
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

CHANNELS = 6
SCALES = np.linspace(0.01, 0.02, CHANNELS)
ZeroPoint = int | np.ndarray


def relu(model: TrainedModel) -> None:
    model.add("Relu")


def relu6(model: TrainedModel) -> None:
    """Which cuts off less than the quantize does: the largest scale times 255 is 5.1."""
    model.add("Clip", model.constant(np.float32(0)), model.constant(np.float32(6)))


def nothing(model: TrainedModel) -> None:
    pass


def separable(
    activation: Callable[[TrainedModel], None], dtype: str, zero_point: ZeroPoint, multiplier: int = 1
) -> TrainedModel:
    """A pointwise convolution, whose channels are quantized each with its scale, and a depthwise one."""
    model = TrainedModel((1, 4, 9, 8))
    model.quantize(0.02, "uint8", 117)
    model.conv(CHANNELS, (1, 1))
    activation(model)
    model.quantize(SCALES, dtype, zero_point)
    model.conv(CHANNELS * multiplier, group=CHANNELS, pads=[1, 0, 1, 2], strides=[1, 2])
    model.add("Relu")
    return model


@pytest.mark.parametrize(
    ("activation", "dtype", "zero_point", "multiplier"),
    [
        (relu, "uint8", 0, 1),
        (relu6, "uint8", 0, 1),
        (nothing, "int8", 0, 1),
        (nothing, "uint8", 100, 2),
        (nothing, "uint8", np.linspace(90, 150, CHANNELS), 2),
        (nothing, "int8", np.linspace(-60, 30, CHANNELS), 1),
        (relu, "int8", np.array([-128, -128, 0, -128, 0, -100]), 1),
    ],
)
def test_within_a_step_of_onnxruntime(
    activation: Callable[[TrainedModel], None], dtype: str, zero_point: ZeroPoint, multiplier: int, tmp_path: Path
) -> None:
    """Few of the pointwise convolution's outputs are a step off, and each moves some of the depthwise one's sums.

    Where it fuses operators, onnxruntime fails at such networks.
    """
    model = ended(separable(activation, dtype, zero_point, multiplier), 0.05, "uint8")
    ours, reference = compared(model, tmp_path, fused=False)
    assert len(np.unique(reference)) > 50
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < 0.01


def test_both_layers_say_that_onnxruntime_computes_in_floating_point(tmp_path: Path) -> None:
    onnx.save(ended(separable(relu, "uint8", 0), 0.05, "uint8"), tmp_path / "model.onnx")
    main = main_function(integer_relay(load(tmp_path / "model.onnx")))
    marked = [
        expr.args[0] for expr in expressions(main) if is_real_sums(expr) and is_call(expr, "annotation.stop_fusion")
    ]
    assert [is_call(sums, "nn.conv2d") for sums in marked] == [True, True]


def real_layers(model: TrainedModel, folder: Path) -> int:
    """The convolutions that are left in floating point."""
    onnx.save(ended(model, 0.05, "uint8"), folder / "model.onnx")
    values = integer_network(load(folder / "model.onnx"), exact=False).values
    return sum(isinstance(value.operator, RealConvolution) for value in values)


def test_convolutions_that_add_channels_stay(tmp_path: Path) -> None:
    """Their sums have elements of several scales."""
    model = TrainedModel((1, CHANNELS, 9, 8))
    model.quantize(SCALES)
    model.conv(CHANNELS, group=CHANNELS // 2)
    assert real_layers(model, tmp_path) == 1


@pytest.mark.parametrize("other", [(SCALES[::-1], 0), (SCALES, np.arange(CHANNELS))], ids=["scales", "zero_points"])
def test_parameters_that_differ_stay(other: tuple[np.ndarray, ZeroPoint], tmp_path: Path) -> None:
    """What is stored is not what is read."""
    model = TrainedModel((1, CHANNELS, 9, 8))
    model.add("QuantizeLinear", *parameters(model, SCALES, 0))
    model.add("DequantizeLinear", *parameters(model, *other))
    model.conv(CHANNELS, group=CHANNELS)
    assert real_layers(model, tmp_path) == 1


def parameters(model: TrainedModel, scales: np.ndarray, zero_point: ZeroPoint) -> tuple[str, str]:
    zero_points = np.broadcast_to(zero_point, scales.shape).astype(np.uint8)
    return model.constant(scales.astype(np.float32)), model.constant(zero_points)


def test_a_clip_that_cuts_off_more_than_the_quantize_stays(tmp_path: Path) -> None:
    """At 1.5 of at most 5.1: it is computed, not left out."""

    def narrow(model: TrainedModel) -> None:
        model.add("Clip", model.constant(np.float32(0)), model.constant(np.float32(1.5)))

    ours, reference = compared(ended(separable(narrow, "uint8", 0), 0.05, "uint8"), tmp_path, fused=False)
    assert np.abs(ours - reference).max() <= 1
    values = load(tmp_path / "model.onnx").network.values
    assert any(isinstance(value.operator, RealClip) and value.operator.high == 1.5 for value in values)


def test_relay_of_tvm_s_importer(tmp_path: Path) -> None:
    onnx.save(ended(separable(relu, "uint8", 0), 0.05, "uint8"), tmp_path / "model.onnx")
    values = integer_network(from_relay(relay_of(tmp_path / "model.onnx")), exact=False).values
    assert not any(isinstance(value.operator, RealConvolution) for value in values)
