"""Windows whose padding an ONNX file does not write as numbers: auto_pad, ceil_mode, output_shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from match.errors import ModelError
from match.ir.layer import Op
from tests.passes.one_operator import distances, integers, quantized, references
from tests.sampled import in_turn

pytestmark = pytest.mark.tvm

U8: dict[str, Any] = {"s": np.float32(2**-7), "z": np.uint8(3), "so": np.float32(2**-6), "zo": np.uint8(120)}
S8: dict[str, Any] = {"s": np.float32(2**-7), "z": np.int8(-20), "so": np.float32(2**-6), "zo": np.int8(5)}
MODES = "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"


def outputs_off(kind: str, shape: tuple[int, ...], constants: dict[str, Any], **attributes: Any) -> int:
    """By how many steps an operator is off at most; its outputs have onnxruntime's shape."""
    model = quantized(kind, shape, constants, **attributes)
    x = np.random.default_rng(5).normal(0, 1, shape).astype(np.float32)
    module = integers(model)
    return int(distances(model, module, x).max())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ceil", [0, 1])
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_pooling(kind: str, ceil: int, mode: str) -> None:
    """Strides that are larger than the window, too: there a ceil_mode has no window behind the input."""
    for columns, window, stride in [(7, 1, 2), (7, 2, 3), (6, 2, 2), (7, 2, 2), (6, 3, 2), (7, 4, 3)]:
        attributes = {"kernel_shape": [2, window], "strides": [1, stride], "auto_pad": mode, "ceil_mode": ceil}
        assert outputs_off(kind, (1, 3, 5, columns), U8, **attributes) <= (kind == "AveragePool")


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("ceil", [0, 1])
def test_padding_of_pooling_does_not_count_holes(ceil: int, mode: str) -> None:
    attributes = {"kernel_shape": [2, 3], "strides": [1, 2], "dilations": [2, 2], "auto_pad": mode, "ceil_mode": ceil}
    assert outputs_off("MaxPool", (1, 3, 6, 7), U8, **attributes) == 0


def test_pooling_that_would_cut_inputs_off() -> None:
    model = quantized("MaxPool", (1, 3, 6, 6), U8, kernel_shape=[1, 1], strides=[3, 1], auto_pad="SAME_UPPER")
    with pytest.raises(ModelError, match=r"a stride in MaxPool \(result\) that is larger than its window"):
        integers(model)


TRANSPOSED: list[dict[str, Any]] = [
    *[{"strides": [2, 3], "auto_pad": mode} for mode in MODES],
    *[{"strides": [2, 3], "auto_pad": mode, "output_padding": [1, 2]} for mode in MODES],
    {"strides": [2, 3], "output_shape": [8, 15]},
    {"strides": [2, 3], "output_shape": [8, 15], "auto_pad": "SAME_UPPER"},
    {"auto_pad": "SAME_LOWER", "dilations": [2, 3]},
    {"strides": [2, 3], "dilations": [3, 2], "pads": [1, 0, 0, 2], "output_padding": [0, 1]},
]


@pytest.mark.parametrize(
    ("attributes", "window"), in_turn([(one,) for one in TRANSPOSED], [((3, 2),), ((2, 4),), ((1, 3),)])
)
def test_transposed_convolutions(attributes: dict[str, Any], window: tuple[int, int]) -> None:
    weights = np.random.default_rng(1).normal(0, 0.3, (3, 2, *window)).astype(np.float32)
    assert outputs_off("ConvTranspose", (1, 3, 4, 5), {**U8, "w": weights}, more=["w"], **attributes) <= 1


@pytest.mark.parametrize("axis", [None, 1, -3])
def test_integer_filters_with_holes(axis: int | None) -> None:
    """Between the elements of a filter are its zero points; axes of scales may count from the end."""
    rng = np.random.default_rng(1)
    zeros = rng.integers(90, 130, () if axis is None else 2).astype(np.uint8)
    scales = rng.uniform(0.004, 0.006, zeros.shape).astype(np.float32)
    weights = rng.integers(20, 200, (3, 2, 3, 2)).astype(np.uint8)
    constants = {**U8, "levels_of_w": weights, "scales": scales, "zeros": zeros}
    model = quantized("ConvTranspose", (1, 3, 4, 5), constants, more=["w"], dilations=[2, 3])
    along = {} if axis is None else {"axis": axis}
    inputs = ["levels_of_w", "scales", "zeros"]
    model.graph.node.insert(0, helper.make_node("DequantizeLinear", inputs, ["w"], **along))
    module = integers(onnx.shape_inference.infer_shapes(model))
    x = rng.normal(0, 1, (1, 3, 4, 5)).astype(np.float32)
    assert distances(model, module, x).max() <= 1
    assert references(module, Op.CONV2D) == [False]


@pytest.mark.parametrize("attributes", [{}, {"dilations": [2]}, {"strides": [2], "auto_pad": "SAME_UPPER"}])
def test_transposed_convolutions_of_sequences(attributes: dict[str, Any]) -> None:
    """Without pads, too."""
    weights = np.random.default_rng(1).normal(0, 0.3, (3, 2, 3)).astype(np.float32)
    assert outputs_off("ConvTranspose", (1, 3, 7), {**S8, "w": weights}, more=["w"], **attributes) <= 1


def test_outputs_far_behind_those_of_the_last_input() -> None:
    weights = np.ones((3, 2, 3), np.float32)
    model = quantized("ConvTranspose", (1, 3, 7), {**U8, "w": weights}, more=["w"], strides=[2], output_shape=[19])
    with pytest.raises(ModelError, match=r"ConvTranspose.*with outputs a stride behind others"):
        integers(model)
