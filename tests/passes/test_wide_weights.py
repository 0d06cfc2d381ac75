"""uint8 weights whose zero point is not 128, which need nine bits, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from match.ir.layer import Op
from match.partitioning.pattern.types import Match
from tests.layers_of import find
from tests.passes.one_operator import distances, integers, quantized

pytestmark = pytest.mark.tvm

TYPES: dict[str, Any] = {"s": np.float32(2**-7), "z": np.uint8(117), "so": np.float32(0.013), "zo": np.uint8(120)}


def model_of(
    kind: str, shape: tuple[int, ...], weights: tuple[int, ...], axis: int, zeros: Any, **attributes: Any
) -> onnx.ModelProto:
    """An operator with uint8 weights of all levels, whose scales are one or one for each output."""
    rng = np.random.default_rng(1)
    zeros = np.asarray(zeros, np.uint8)
    levels = rng.integers(0, 256, weights).astype(np.uint8)
    levels.reshape(-1)[:2] = 0, 255
    scales = rng.uniform(0.001, 0.003, zeros.shape).astype(np.float32)
    constants = {**TYPES, "levels_of_w": levels, "scales": scales, "zeros": zeros}
    model = quantized(kind, shape, constants, more=["w"], **attributes)
    along = {"axis": axis} if zeros.ndim else {}
    node = helper.make_node("DequantizeLinear", ["levels_of_w", "scales", "zeros"], ["w"], **along)
    model.graph.node.insert(0, node)
    return onnx.shape_inference.infer_shapes(model)


@pytest.mark.parametrize("zeros", [113, 1, 255, [130, 90, 140, 120]])
@pytest.mark.parametrize(
    ("kind", "shape", "weights", "axis", "attributes"),
    [
        ("Conv", (1, 3, 6, 5), (4, 3, 3, 2), 0, {"pads": [1, 0, 1, 1]}),
        ("Conv", (1, 3, 6, 5), (4, 3, 1, 1), 0, {}),
        ("Conv", (1, 4, 6, 5), (4, 2, 3, 2), 0, {"group": 2, "strides": [2, 1]}),
        ("Conv", (1, 4, 6, 5), (4, 1, 3, 3), 0, {"group": 4, "pads": [1, 1, 1, 1]}),
        ("Conv", (1, 2, 6, 5), (4, 1, 3, 3), 0, {"group": 2}),
        ("Conv", (1, 3, 9), (4, 3, 3), 0, {"dilations": [2]}),
        ("Gemm", (2, 7), (4, 7), 0, {"transB": 1}),
        ("MatMul", (1, 5, 7), (7, 4), 1, {}),
        ("ConvTranspose", (1, 3, 4, 5), (3, 4, 3, 2), 1, {"strides": [2, 1]}),
    ],
)
def test_layers_are_on_modules(
    kind: str, shape: tuple[int, ...], weights: tuple[int, ...], axis: int, attributes: Any, zeros: Any
) -> None:
    model = model_of(kind, shape, weights, axis, zeros, **attributes)
    module = integers(model)
    found = [one.layer for one in find(module) if isinstance(one, Match)]
    (layer,) = [one for one in found if one.op in (Op.CONV2D, Op.DENSE, Op.GROUPED_CONV2D)]
    assert layer.weight_dtype == "int8"
    x = np.random.default_rng(2).uniform(-1, 1.2, shape).astype(np.float32)
    assert distances(model, module, x).max() <= (kind == "ConvTranspose")


def test_only_channels_with_such_weights_are_read_twice() -> None:
    model = model_of("Conv", (1, 3, 6, 5), (4, 3, 3, 2), 0, 113)
    weights = next(one for one in model.graph.initializer if one.name == "levels_of_w")
    levels = np.clip(onnx.numpy_helper.to_array(weights), 0, 240)
    levels[2, 1, 0, 1] = 241
    weights.CopyFrom(onnx.numpy_helper.from_array(levels, weights.name))
    (layer,) = [one.layer for one in find(integers(model)) if isinstance(one, Match) and one.layer.op is Op.CONV2D]
    assert layer.c == 4


@pytest.mark.parametrize("group", [1, 3])
def test_weights_that_no_two_bytes_add_up_to_stay_with_the_control_core(group: int) -> None:
    model = model_of("Conv", (1, 3, 6, 5), (3, 3 // group, 3, 2), 0, 0, group=group)
    module = integers(model)
    assert not [one for one in find(module) if isinstance(one, Match) and one.layer.weight_dtype]
    x = np.random.default_rng(2).uniform(-1, 1.2, (1, 3, 6, 5)).astype(np.float32)
    assert distances(model, module, x).max() == 0
