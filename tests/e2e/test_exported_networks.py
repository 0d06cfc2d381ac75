"""Parts of networks as PyTorch exports them and onnxruntime's quantizer leaves them: on the modules, equal to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match.frontend import load
from match.validation.exact_session import exact_session, with_own_weights
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.cc

Part = Callable[[TrainedModel], None]
PARTS: dict[str, tuple[tuple[int, ...], Part]] = {}


def part(*shape: int) -> Callable[[Part], Part]:
    def kept(build: Part) -> Part:
        PARTS[build.__name__] = shape, build
        return build

    return kept


@part(1, 3, 32, 32)
def gates_of_dense_layers(model: TrainedModel) -> None:
    """Squeeze and excite with matrices: the gates are (1, C) and then (1, C, 1, 1)."""
    model.conv(16, pads=[1] * 4, strides=[2, 2])
    model.add("Relu")
    x = model.quantize(0.02)
    model.add("ReduceMean", axes=[2, 3], keepdims=0)
    model.quantize(0.01)
    model.add("Gemm", model.weights((16, 16)), transB=1)
    model.quantize(0.02, "uint8", 128)
    model.add("Sigmoid")
    model.quantize(1 / 256)
    model.add("Reshape", model.constant(np.array([1, 16, 1, 1])))
    model.add("Mul", x)
    model.quantize(0.01)
    model.conv(8, (1, 1))


@part(1, 4, 16, 64)
def functions_in_front_of_windows(model: TrainedModel) -> None:
    """EEGNet: ELU and a pooling of four columns."""
    model.conv(8, (16, 1))
    model.quantize(0.05, "uint8", 120)
    model.add("Elu")
    model.add("AveragePool", kernel_shape=[1, 4], strides=[1, 4])
    model.quantize(0.03, "uint8", 40)
    model.conv(8, (1, 1))


@part(1, 1, 20, 32)
def means_of_frequencies(model: TrainedModel) -> None:
    """A keyword network that broadcasts what it computes along time alone."""
    model.conv(16, (3, 3), pads=[1] * 4)
    model.add("Relu")
    x = model.quantize(0.02)
    model.add("ReduceMean", axes=[2], keepdims=1)
    model.quantize(0.01)
    model.conv(16, (1, 3), pads=[0, 1, 0, 1], group=16)
    model.quantize(0.01, "uint8", 128)
    model.add("Add", x)
    model.quantize(0.03, "uint8", 90)
    model.conv(8, (1, 1))


@part(1, 3, 24, 24)
def groups_with_quantized_gains(model: TrainedModel) -> None:
    """GroupNorm as exporters write it, then Mish and the largest of each channel."""
    model.conv(16, pads=[1] * 4, strides=[2, 2])
    model.quantize(0.05, "uint8", 128)
    model.add("Reshape", model.constant(np.array([1, 4, -1])))
    gains = model.apply(
        "DequantizeLinear",
        *(model.constant(values) for values in (np.array([100, 120, 127, 90], np.int8), np.float32(0.01))),
    )
    bias = model.apply(
        "DequantizeLinear",
        *(model.constant(values) for values in (np.array([9, -8, 7, 0], np.int32), np.float32(0.01))),
    )
    model.add("InstanceNormalization", gains, bias)
    model.quantize(0.03, "uint8", 128)
    model.add("Reshape", model.constant(np.array([1, 16, 12, 12])))
    model.add("Mul", model.apply("Tanh", model.apply("Softplus", model.current)))
    model.add("ReduceMax", axes=[2, 3], keepdims=0)
    model.quantize(0.02)
    model.add("Gemm", model.weights((6, 16)), transB=1)


@part(1, 12, 40)
def slopes_in_a_sequence(model: TrainedModel) -> None:
    """A temporal convolution whose PReLU has one slope, which is a tensor."""
    model.conv(16, (3,), pads=[2, 0], dilations=[1])
    x = model.quantize(0.03, "uint8", 120)
    model.add("PRelu", model.constant(np.array([[[0.25]]], np.float32)))
    model.quantize(0.02, "uint8", 40)
    model.conv(16, (1,))
    model.quantize(0.03, "uint8", 128)
    model.add("Add", x)
    model.quantize(0.05, "uint8", 128)
    model.conv(4, (1,))


@part(1, 3, 32, 32)
def a_function_between_transpositions(model: TrainedModel) -> None:
    """GELU of a map whose channels are last."""
    model.conv(16, (4, 4), strides=[4, 4])
    model.quantize(0.03, "uint8", 128)
    model.add("Div", model.constant(np.float32(np.sqrt(2))))
    half = model.apply("Mul", model.current, model.constant(np.float32(np.sqrt(0.5))))
    model.current = model.apply("Erf", model.current)
    model.add("Add", model.constant(np.float32(1)))
    model.add("Mul", half)
    model.quantize(0.02, "uint8", 8)
    model.add("Transpose", perm=[0, 2, 3, 1])
    model.add("MatMul", model.weights((16, 12), axis=1))


@part(1, 3, 32, 32)
def numbers_of_bins(model: TrainedModel) -> None:
    """Boxes of detectors: bins are an axis in front of others, and a constant has a number for each."""
    model.conv(64, (4, 4), strides=[4, 4])
    model.quantize(0.05, "uint8", 128)
    model.add("Reshape", model.constant(np.array([1, 4, 16, 64])))
    model.add("Transpose", perm=[0, 2, 1, 3])
    model.quantize(0.05, "uint8", 128)
    levels = model.constant(np.arange(16, dtype=np.uint8).reshape(1, 16, 1, 1) * 16)
    model.add("Mul", model.apply("DequantizeLinear", levels, model.constant(np.float32(1 / 16))))
    model.quantize(0.47, "uint8", 128)
    model.add("Reshape", model.constant(np.array([1, 64, 64, 1])))
    model.add("Mul", model.constant(np.float32(0.1)))


@part(1, 3, 10, 7)
def windows_that_do_not_divide_a_map(model: TrainedModel) -> None:
    """Adaptive average pooling to 4x3: a GatherND takes the rows and columns of each window."""
    model.conv(16, (3, 3), pads=[1] * 4)
    model.add("Relu")
    model.quantize(0.02)
    model.add("Transpose", perm=[2, 3, 0, 1])
    model.quantize(0.02)
    rows, columns = (np.array(first)[:, None] + np.arange(3) for first in ([0, 2, 5, 7], [0, 2, 4]))
    places = np.stack(np.broadcast_arrays(rows[:, :, None, None], columns), axis=-1)
    model.add("GatherND", model.constant(places))
    model.add("Transpose", perm=[4, 5, 0, 1, 2, 3])
    model.add("ReduceMean", axes=[-3, -1], keepdims=0)
    model.quantize(0.02)
    model.conv(8, (1, 1))


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_on_the_modules(name: str, tmp_path: Path) -> None:
    shape, build = PARTS[name]
    model = TrainedModel(shape)
    model.quantize(0.03, "uint8", 128)
    build(model)
    model.add("QuantizeLinear", model.constant(np.float32(0.2)), model.constant(np.uint8(128)))
    onnx.save(model.build("uint8"), tmp_path / f"{name}.onnx")
    compiled = match.compile(tmp_path / f"{name}.onnx", "gap9", numerics="exact")
    core = sum(layer.cycles for layer in compiled.layers if layer.module == "cpu")
    assert core < 0.05 * compiled.cycles, [(layer.op, layer.cycles) for layer in compiled.layers if layer.cycles]
    sample = np.random.default_rng(8).normal(0, 1, shape).astype(np.float32)
    (outputs,) = compiled.run({"x": sample}, sanitize=True).values()
    data = load(tmp_path / f"{name}.onnx").data
    assert data is not None
    (expected,) = exact_session(with_own_weights(data)).run(None, {"x": sample})
    assert len(np.unique(expected)) > 4
    assert np.abs(outputs.astype(int) - expected).max() <= 2
    assert np.mean(outputs != expected) < 0.15
