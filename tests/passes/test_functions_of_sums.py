"""Functions of a layer's outputs with no quantize in front, within one step of onnxruntime's real numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.relay.objects import expressions, main_function
from match.relay.rewrite import is_call
from tests.integer_relay import integer_relay
from tests.passes.test_trained_quantized import compared, ended
from tests.passes.trained_models import TrainedModel
from tests.sampled import in_turn

pytestmark = pytest.mark.tvm

Step = Callable[[TrainedModel], None]


def silu(model: TrainedModel) -> None:
    model.current = model.apply("Mul", model.current, model.apply("Sigmoid", model.current))


def hard_swish(model: TrainedModel) -> None:
    model.add("HardSwish")


def leaky(model: TrainedModel) -> None:
    model.add("LeakyRelu", alpha=0.1)


def slightly_leaky(model: TrainedModel) -> None:
    """Which takes numbers a hundred times as large below zero as above to the same steps."""
    model.add("LeakyRelu", alpha=0.01)


def tanh(model: TrainedModel) -> None:
    model.add("Tanh")


def wave(model: TrainedModel) -> None:
    """Which goes on changing, however large numbers are."""
    model.add("Sin")


def convolution(model: TrainedModel) -> None:
    """Sums of normal weights and inputs, made as small as those of a trained network."""
    model.conv(6)
    model.add("Mul", model.constant(np.float32(0.15)))


def normalized(model: TrainedModel) -> None:
    model.conv(6)
    model.normalize(0.2)


def dense(model: TrainedModel) -> None:
    model.channels = 40
    weights = model.weights((40, 4))
    model.add("Gemm", weights, model.constant(np.linspace(-3, 3, 40, dtype=np.float32)), transB=1)


def network(layer: Step, function: Step, opset: int = 17) -> TrainedModel:
    model = TrainedModel((1, 4) if layer is dense else (1, 4, 12, 10), opset=opset)
    model.quantize(0.03, "uint8", 117)
    layer(model)
    function(model)
    return model


@pytest.mark.parametrize(
    ("function", "scale", "dtype", "zero_point", "layer"),
    in_turn(
        [
            (silu, 0.025, "int8", 0),
            (silu, 0.04, "uint8", 8),
            (silu, 0.0045, "int8", -63),
            (hard_swish, 0.03, "uint8", 12),
            (leaky, 0.05, "int8", -90),
            (slightly_leaky, 0.03, "int8", 0),
            (tanh, 2 / 255, "int8", 0),
        ],
        [(convolution,), (normalized,), (dense,)],
    ),
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_within_one_step(
    layer: Step, function: Step, scale: float, dtype: str, zero_point: int, tmp_path: Path
) -> None:
    model = ended(network(layer, function), scale, dtype, zero_point)
    ours, reference = compared(model, tmp_path, exact=False)
    assert len(np.unique(reference)) > 15
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < 0.35
    main = main_function(integer_relay(load(tmp_path / "model.onnx"), exact=False))
    assert not any(is_call(expr, "sigmoid", "nn.leaky_relu") for expr in expressions(main))


@pytest.mark.parametrize(("function", "exact"), [(silu, True), (wave, False)])
def test_stay_in_floating_point(function: Step, exact: bool, tmp_path: Path) -> None:
    """Where the reference's bits are asked for, and functions that no levels are fine enough for."""
    onnx.save(ended(network(convolution, function), 0.02, "int8"), tmp_path / "model.onnx")
    main = main_function(integer_relay(load(tmp_path / "model.onnx"), exact=exact))
    assert any(is_call(expr, "sigmoid", "sin") for expr in expressions(main))
