"""Layers whose outputs nothing quantizes, beside onnxruntime, which computes them in floating point."""

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
from match.passes.pipeline import integer_network
from match.relay.graph_writer import write_graph
from match.relay.objects import expressions, main_function
from match.relay.plain import qnn_operators
from match.relay.rewrite import is_call, operator_name
from match.validation.exact_session import exact_session, with_own_weights
from tests.integer_relay import integer_relay
from tests.passes.running import executable
from tests.passes.test_trained_quantized import SUMMING, convolution, dense, depthwise, product, sequence, transposed
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm


def grouped(model: TrainedModel) -> None:
    model.conv(6, group=2, pads=[0, 1, 1, 1])


LAYERS: dict[Callable[[TrainedModel], None], tuple[int, ...]] = {
    convolution: (1, 4, 9, 8),
    depthwise: (1, 4, 9, 8),
    grouped: (1, 4, 9, 8),
    transposed: (1, 4, 5, 6),
    sequence: (1, 4, 19),
    dense: (1, 4),
    product: (1, 4),
}


def compared(model: Any, folder: Path) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """What the network's integer form computes and what onnxruntime does, after its sums are checked to be integers."""
    onnx.save(model, folder / "model.onnx")
    loaded = load(folder / "model.onnx")
    graph = integer_network(loaded)
    module = write_graph(graph).module
    assert qnn_operators(module) == []
    calls = list(expressions(main_function(module)))
    sums = [expr for expr in calls if is_call(expr, *SUMMING)]
    assert sums
    assert all(str(expr.checked_type.dtype) == "int32" for expr in sums)
    assert all(str(argument.checked_type.dtype) in ("int8", "uint8") for expr in sums for argument in expr.args)
    assert not all(value.exact for value in graph.values)
    x = np.random.default_rng(5).normal(0, 1, loaded.inputs[0].shape).astype(np.float32)
    (ours,) = executable(module)({"x": x})
    assert loaded.data is not None
    (reference,) = exact_session(with_own_weights(loaded.data)).run(None, {"x": x})
    return ours, reference


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
@settings(max_examples=5)
@given(st.sampled_from([("int8", 0), ("int8", -128), ("uint8", 7)]), st.booleans(), st.sampled_from([8, 4]))
def test_last_layers(
    tmp_path_factory: pytest.TempPathFactory,
    layer: Callable[[TrainedModel], None],
    inputs: tuple[str, int],
    per_channel: bool,
    bits: int,
) -> None:
    """Equal but for the last bits: floating point sums products one by one."""
    model = TrainedModel(LAYERS[layer], bits=bits, per_channel=per_channel)
    model.quantize(0.03, *inputs)
    layer(model)
    ours, reference = compared(model.build(), tmp_path_factory.mktemp("model"))
    assert ours.shape == reference.shape
    assert np.allclose(ours, reference, rtol=0, atol=1e-6 * float(np.abs(reference).max()))


def test_a_dense_layer_is_its_definition(tmp_path: Path) -> None:
    """Sums in integers, one rounding to float32 for the scale and one for the bias."""
    model = TrainedModel((2, 40))
    levels = model.rng.integers(-127, 128, (9, 40)).astype(np.int8)
    scales = model.rng.uniform(0.001, 0.002, 9).astype(np.float32)
    bias = model.rng.normal(0, 1, 9).astype(np.float32)
    model.quantize(0.03, "uint8", 113)
    weights = model.apply(
        "DequantizeLinear",
        *(model.constant(values) for values in (levels, scales, np.zeros(9, np.int8))),
        axis=0,
    )
    model.add("Gemm", weights, model.constant(bias), transB=1)
    ours, _ = compared(model.build(), tmp_path)
    x = np.random.default_rng(5).normal(0, 1, (2, 40)).astype(np.float32)
    inputs = np.clip(np.rint(x / np.float32(0.03)).astype(np.int64) + 113, 0, 255) - 113
    sums = inputs @ levels.T.astype(np.int64)
    expected = sums.astype(np.float32) * (np.float32(0.03) * scales) + bias
    assert np.array_equal(ours, expected)


def test_a_bias_in_steps_of_the_sums(tmp_path: Path) -> None:
    """Added in integers, as QGemm of onnxruntime does: rounded to float32, beyond 2^24 too, and once more scaled."""
    model = TrainedModel((2, 40))
    levels = model.rng.integers(-127, 128, (9, 40)).astype(np.int8)
    scales = model.rng.uniform(0.001, 0.002, 9).astype(np.float32)
    bias = model.rng.integers(-(2**25), 2**25, 9).astype(np.int32)
    model.quantize(0.03, "uint8", 113)
    constants = [
        model.apply("DequantizeLinear", *map(model.constant, (values, step, np.zeros(9, values.dtype))), axis=0)
        for values, step in ((levels, scales), (bias, np.float32(0.03) * scales))
    ]
    model.add("Gemm", *constants, transB=1)
    ours, reference = compared(model.build(), tmp_path)
    assert np.array_equal(ours, reference)


def test_additions_of_what_is_not_quantized(tmp_path: Path) -> None:
    """A residual network whose convolutions hand on real numbers: float32 rounds sums of two to 8 bits once."""
    model = TrainedModel((1, 4, 9, 8))
    model.quantize(0.03, "int8")
    before = model.current
    model.conv(4, pads=[1, 1, 1, 1])
    model.add("Relu")
    model.add("Add", before)
    model.quantize(0.1, "int8", -128)
    ours, reference = compared(model.build(), tmp_path)
    assert len(np.unique(reference)) > 20
    assert np.array_equal(ours, reference)


def global_average(model: TrainedModel) -> None:
    model.add("GlobalAveragePool")


def mean(model: TrainedModel) -> None:
    model.add("ReduceMean", axes=[-1, 2], keepdims=1)


@pytest.mark.parametrize("average", [global_average, mean])
@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", -9), ("uint8", 200)])
def test_means_that_nothing_quantizes(
    average: Callable[[TrainedModel], None], dtype: str, zero_point: int, tmp_path: Path
) -> None:
    """A product with ones, one rounding for the scale; at the end, or as in squeeze and excitation."""
    model = TrainedModel((2, 4, 9, 8))
    model.quantize(0.03, dtype, zero_point)
    average(model)
    onnx.save(model.build(), tmp_path / "alone.onnx")
    model.conv(3, (1, 1))
    onnx.save(model.build(), tmp_path / "read.onnx")
    x = np.random.default_rng(5).normal(0, 1, (2, 4, 9, 8)).astype(np.float32)
    for name in ("alone", "read"):
        module = integer_relay(load(tmp_path / f"{name}.onnx"))
        kinds = [operator_name(expr) for expr in expressions(main_function(module))]
        assert "nn.dense" in kinds
        assert not any(kind in ("mean", "nn.avg_pool2d") for kind in kinds)
        (ours,) = executable(module)({"x": x})
        (reference,) = exact_session(tmp_path / f"{name}.onnx").run(None, {"x": x})
        assert np.allclose(ours, reference, rtol=0, atol=1e-6 * float(np.abs(reference).max()))


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[1, 2], [2, 3, 1], [3], [0, 1, 2, 3]])
def test_along_any_axes(axes: list[int], keepdims: int, tmp_path: Path) -> None:
    """Means, and sums of the same."""
    x = np.random.default_rng(5).normal(0, 1, (2, 4, 9, 8)).astype(np.float32)
    for kind in ("ReduceMean", "ReduceSum"):
        model, path = TrainedModel(x.shape), tmp_path / "model.onnx"
        model.quantize(0.03, "uint8", 117)
        if kind == "ReduceMean":  # of opset 17, where the axes are an attribute
            model.add(kind, axes=axes, keepdims=keepdims)
        else:
            model.add(kind, model.constant(np.array(axes)), keepdims=keepdims)
        onnx.save(model.build(), path)
        module = integer_relay(load(path))
        assert not any(is_call(expr, "mean", "sum") for expr in expressions(main_function(module)))
        (ours,) = executable(module)({"x": x})
        (reference,) = exact_session(path).run(None, {"x": x})
        assert ours.shape == reference.shape
        assert np.allclose(ours, reference, rtol=0, atol=1e-6 * float(np.abs(reference).max()))
