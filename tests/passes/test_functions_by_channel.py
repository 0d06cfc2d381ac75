"""Functions of a layer's outputs, quantized with a scale for each channel, beside onnxruntime's real numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from match.frontend import load
from match.relay import relay, tvm
from match.relay.integer_form import unmarked
from match.relay.objects import expressions, main_function
from match.relay.rewrite import is_call, shape
from match.validation.exact_session import exact_session, with_own_weights
from tests.integer_relay import integer_relay
from tests.passes.running import executable
from tests.passes.test_functions_of_sums import Step, hard_swish, leaky, silu, tanh
from tests.passes.test_trained_quantized import ended
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

CHANNELS = 12
EXTENTS = 1, 4, 12, 10


def separable(function: Step, scales: np.ndarray, dtype: str, zero_point: int | np.ndarray) -> tuple[TrainedModel, str]:
    """A pointwise convolution, a function, a depthwise convolution; the name of what it reads, as integers."""
    model = TrainedModel(EXTENTS)
    model.quantize(0.03, "uint8", 117)
    model.conv(CHANNELS, (1, 1))
    model.add("Mul", model.constant(np.float32(0.4)))
    function(model)
    dequantized = model.quantize(scales, dtype, zero_point)
    model.conv(CHANNELS, group=CHANNELS, pads=[1, 0, 1, 2])
    return model, f"t{int(dequantized[1:]) - 1}"


def depthwise(main: relay.Function) -> list[relay.Call]:
    return [expr for expr in expressions(main) if is_call(expr, "nn.conv2d") and int(expr.attrs.groups) == CHANNELS]


def input_of(main: relay.Function) -> relay.Function:
    """What the depthwise convolution reads."""
    (layer,) = depthwise(main)
    x = unmarked(layer.args[0])
    while is_call(x, "nn.pad"):
        x = x.args[0]
    return relay.Function(main.params, x)


@pytest.mark.parametrize(
    ("function", "least", "most", "dtype", "zero_point"),
    [
        (silu, 0.02, 0.045, "int8", 0),
        (silu, 0.002, 0.004, "int8", 0),
        (silu, 0.02, 0.03, "uint8", 25),
        (hard_swish, 0.0025, 0.0075, "int8", 0),
        (leaky, 0.02, 0.04, "int8", -90),
        (tanh, 0.004, 0.008, "int8", 0),
        (silu, 0.0027, 0.006, "int8", (-87, -40)),
        (hard_swish, 0.02, 0.03, "uint8", (25, 14)),
        (tanh, 0.004, 0.008, "int8", (-10, 20)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_within_one_step(
    function: Step, least: float, most: float, dtype: str, zero_point: int | tuple[int, int], tmp_path: Path
) -> None:
    """Two zero points are the first and the last channel's; then the depthwise convolution's input has a border."""
    scales = np.random.default_rng(7).uniform(least, most, CHANNELS)
    first, last = zero_point if isinstance(zero_point, tuple) else (zero_point, zero_point)
    zero_points = np.rint(np.linspace(first, last, CHANNELS))
    model, name = separable(function, scales, dtype, zero_points)
    proto = ended(model, 0.05, "uint8", 128)
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    main = main_function(integer_relay(load(path), exact=False))
    assert not any(is_call(expr, "sigmoid", "divide") and shape(expr)[-1] == CHANNELS for expr in expressions(main))
    proto.graph.output.append(helper.make_tensor_value_info(name, getattr(TensorProto, dtype.upper()), None))
    session = exact_session(with_own_weights(proto.SerializeToString()), fused=False)
    x = np.random.default_rng(5).normal(0, 2, EXTENTS).astype(np.float32)
    (expected,) = session.run([name], {"x": x})
    (found,) = executable(relay.transform.InferType()(tvm.IRModule.from_expr(input_of(main))))({"x": x})
    # int8 became uint8, as the network has both types.
    found = found.astype(int) - np.iinfo(found.dtype).min + np.iinfo(dtype).min
    if isinstance(zero_point, tuple):
        inside = np.zeros(found.shape, bool)
        inside[:, 1:-1, :-2] = True
        assert np.array_equal(
            found[~inside].reshape(-1, CHANNELS), np.tile(zero_points, ((~inside).sum() // CHANNELS, 1))
        )
        found = found[:, 1:-1, :-2]
    off = np.abs(found.transpose(0, 3, 1, 2) - expected)
    assert len(np.unique(expected)) > 60
    assert off.max() == 1
    assert np.mean(off) < 0.35


def test_the_reference_s_bits_stay_in_floating_point(tmp_path: Path) -> None:
    model, _ = separable(silu, np.linspace(0.02, 0.04, CHANNELS), "int8", 0)
    onnx.save(ended(model, 0.05, "uint8", 128), tmp_path / "model.onnx")
    main = main_function(integer_relay(load(tmp_path / "model.onnx"), exact=True))
    assert any(is_call(expr, "sigmoid") for expr in expressions(main))


@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_padding_in_front_of_the_quantize(mode: str, tmp_path: Path) -> None:
    """With zero it is the level of zero in each part; with the map's edge the function stays as it is."""
    model = TrainedModel(EXTENTS)
    model.quantize(0.03, "uint8", 117)
    model.conv(CHANNELS, (1, 1))
    silu(model)
    model.add("Pad", model.constant(np.array([0, 0, 1, 1, 0, 0, 1, 2])), mode=mode)
    model.quantize(np.linspace(0.02, 0.03, CHANNELS), "int8")
    model.conv(CHANNELS, group=CHANNELS)
    model.add("Relu")
    onnx.save(ended(model, 0.5, "uint8"), tmp_path / "model.onnx")
    loaded = load(tmp_path / "model.onnx")
    module = integer_relay(loaded, exact=False)
    assert any(is_call(expr, "sigmoid") for expr in expressions(main_function(module))) == (mode == "edge")
    x = np.random.default_rng(5).normal(0, 2, EXTENTS).astype(np.float32)
    (found,) = executable(module)({"x": x})
    assert loaded.data is not None
    (expected,) = exact_session(with_own_weights(loaded.data), fused=False).run(None, {"x": x})
    assert len(np.unique(expected)) > 10
    assert np.abs(found.astype(int) - expected).max() <= 1
