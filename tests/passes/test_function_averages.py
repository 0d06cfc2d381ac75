"""Means of functions of 8-bit maps, which quantizers leave in floating point, beside onnxruntime."""

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

pytestmark = pytest.mark.tvm


def hard_swish(model: TrainedModel) -> None:
    model.add("HardSwish")


def silu(model: TrainedModel) -> None:
    model.add("Mul", model.apply("Sigmoid", model.current))


def far_from_zero(model: TrainedModel) -> None:
    model.add("Exp")
    model.add("Add", model.constant(np.float32(100)))


def cube(model: TrainedModel) -> None:
    model.add("Mul", model.apply("Mul", model.current, model.current))


FUNCTIONS: dict[Callable[[TrainedModel], None], float] = {
    hard_swish: 0.01,
    silu: 0.004,
    far_from_zero: 1.5,
    cube: 0.1,
}
"""Each with the scale of its means: near the step that 8 bits of these need."""

MEANS = {
    "pooled": ((1, 5, 7, 6), "GlobalAveragePool", None),
    "map": ((1, 5, 7, 6), "ReduceMean", [2, 3]),
    "map, channels last": ((1, 7, 6, 5), "ReduceMean", [1, 2]),
    "sequence": ((1, 5, 9), "ReduceMean", [2]),
    "tokens": ((1, 9, 5), "ReduceMean", [1]),
    "rows": ((1, 5, 7, 6), "ReduceMean", [2]),
}


def assert_within_one_step(
    model: TrainedModel, function: Callable[[TrainedModel], None], dtype: str, folder: Path
) -> None:
    """Outputs are onnxruntime's but for few: the model ends in means of the function."""
    ours, reference = compared(ended(model, FUNCTIONS[function], dtype, 40), folder)
    assert ours.shape == reference.shape
    assert len(np.unique(reference)) > 2 or function is far_from_zero
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) <= 0.2


def is_convolution(model: onnx.ModelProto, folder: Path) -> bool:
    """Whether the passes make a convolution of the model's means."""
    onnx.save(model, folder / "model.onnx")
    network = main_function(integer_relay(load(folder / "model.onnx")))
    return any(is_call(expr, "nn.conv2d") for expr in expressions(network))


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("types", [("uint8", "uint8"), ("int8", "uint8"), ("uint8", "int8")])
def test_means(tmp_path: Path, mean: str, function: Callable[[TrainedModel], None], types: tuple[str, str]) -> None:
    shape, kind, axes = MEANS[mean]
    model = TrainedModel(shape)
    model.quantize(0.03, types[0], 100)
    function(model)
    model.add(kind, **({"axes": axes} if axes else {}))
    assert_within_one_step(model, function, types[1], tmp_path)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(("mean", "axis"), [("pooled", 1), ("map", 1), ("map, channels last", 3), ("rows", 3)])
def test_means_of_a_function_of_each_channel(tmp_path: Path, mean: str, axis: int, dtype: str) -> None:
    """An activation and a batch normalization in front of the last layer (ConvMixer)."""
    shape, kind, axes = MEANS[mean]
    model = TrainedModel(shape)
    model.quantize(0.03, dtype, 100)
    hard_swish(model)
    extents = [shape[axis] if place == axis else 1 for place in range(len(shape))]
    rng = np.random.default_rng(3)
    for operator in ("Mul", "Add"):
        model.add(operator, model.constant(rng.normal(0, 1, extents).astype(np.float32)))
    model.add(kind, **({"axes": axes} if axes else {}))
    ended_model = ended(model, 0.02, dtype, 90 if dtype == "uint8" else 3)
    ours, reference = compared(ended_model, tmp_path)
    assert len(np.unique(reference)) > 2
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) <= 0.2
    assert is_convolution(ended_model, tmp_path)


def test_sums_of_more_than_32_bits_are_computed_in_floating_point(tmp_path: Path) -> None:
    model = TrainedModel((1, 1, 400, 400))
    model.quantize(0.03, "uint8", 100)
    hard_swish(model)
    model.add("GlobalAveragePool")
    assert not is_convolution(ended(model, 0.01, "uint8"), tmp_path)


def test_outputs_too_fine_for_tables_are_computed_in_floating_point(tmp_path: Path) -> None:
    """A step of 1/16000 of the largest value has more to say than two tables of 8 bits."""
    model = TrainedModel((1, 5, 7, 6))
    model.quantize(0.03, "uint8", 100)
    far_from_zero(model)
    model.add("GlobalAveragePool")
    assert not is_convolution(ended(model, 0.001, "uint8"), tmp_path)


@pytest.mark.parametrize(("scale", "integer"), [(0.006, True), (0.003, False)])
def test_sums_add_up_what_tables_are_off_by(tmp_path: Path, scale: float, *, integer: bool) -> None:
    """Sums of nine elements are off by nine times as much as one is."""
    model = TrainedModel((1, 9, 5))
    model.quantize(0.03, "uint8", 100)
    hard_swish(model)
    model.add("ReduceSum", model.constant(np.array([1], np.int64)))
    assert is_convolution(ended(model, scale, "uint8"), tmp_path) == integer


@pytest.mark.parametrize("window", [(4, 2), (1, 3), (8, 3), (8, 6)])
@pytest.mark.parametrize("function", [hard_swish, far_from_zero], ids=lambda function: function.__name__)
def test_windows_side_by_side(
    tmp_path: Path, window: tuple[int, int], function: Callable[[TrainedModel], None]
) -> None:
    model = TrainedModel((1, 5, 8, 6))
    model.quantize(0.03, "uint8", 100)
    function(model)
    model.add("AveragePool", kernel_shape=list(window), strides=list(window))
    assert_within_one_step(model, function, "uint8", tmp_path)


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 0, 1]])
@pytest.mark.parametrize(
    ("window", "strides"), [((2, 2), (1, 1)), ((2, 2), (2, 2)), ((2, 3), (3, 1)), ((3, 2), (2, 2))]
)
def test_windows_that_overlap_or_leave_columns_out(
    tmp_path: Path, window: tuple[int, int], strides: tuple[int, int], pads: list[int]
) -> None:
    """Padding counts as the real number 0, which the function may not have."""
    model = TrainedModel((1, 5, 7, 7))
    model.quantize(0.03, "uint8", 100)
    far_from_zero(model)
    model.add("AveragePool", kernel_shape=window, strides=strides, pads=pads, count_include_pad=1)
    assert_within_one_step(model, far_from_zero, "uint8", tmp_path)


def test_windows_with_fewer_elements_at_the_border_stay(tmp_path: Path) -> None:
    model = TrainedModel((1, 5, 7, 7))
    model.quantize(0.03, "uint8", 100)
    hard_swish(model)
    model.add("AveragePool", kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 0, 0])
    assert not is_convolution(ended(model, 0.01, "uint8"), tmp_path)


def test_a_tensor_that_becomes_a_map_on_the_way_stays(tmp_path: Path) -> None:
    """A constant of four axes makes four of three."""
    model = TrainedModel((5, 7, 6))
    model.quantize(0.03, "uint8", 100)
    model.add("Add", model.constant(np.full((1, 1, 1, 1), 0.5, np.float32)))
    hard_swish(model)
    model.add("GlobalAveragePool")
    assert not is_convolution(ended(model, 0.01, "uint8"), tmp_path)


def test_windows_of_integers_are_rounded_as_the_reference_rounds(tmp_path: Path) -> None:
    """In floating point, where outputs are to be exact: which way a half goes depends on each value."""
    model = TrainedModel((1, 5, 8, 6))
    model.quantize(0.03, "uint8", 100)
    model.add("AveragePool", kernel_shape=[2, 2], strides=[2, 2])
    onnx.save(ended(model, 0.03, "uint8", 100), tmp_path / "model.onnx")
    calls = list(expressions(main_function(integer_relay(load(tmp_path / "model.onnx")))))
    assert [str(expr.checked_type.dtype) for expr in calls if is_call(expr, "sum")] == ["float32"]
