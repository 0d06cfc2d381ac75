"""Rows over the roots of the mean, or of the sum, of their squares: in integers within one step of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from match.ir.layer import Op
from tests.passes.one_operator import distances, integers, quantized, references
from tests.seeds import seeded

pytestmark = pytest.mark.tvm

Steps = list[tuple[str, list[str], str, dict[str, Any]]]

_ROOT: Steps = [
    ("Pow", ["real", "two"], "square", {}),
    ("ReduceMean", ["square"], "mean", {"axes": [-1]}),
    ("Add", ["mean", "epsilon"], "more", {}),
    ("Sqrt", ["more"], "root", {}),
]
_LENGTH: Steps = [("ReduceL2", ["real"], "length", {"axes": [-1]})]
WRITTEN_OUT: dict[str, Steps] = {
    "divided": [*_ROOT, ("Div", ["real", "root"], "normal", {}), ("Mul", ["normal", "gain"], "result", {})],
    "reciprocal": [
        *_ROOT,
        ("Reciprocal", ["root"], "inverse", {}),
        ("Mul", ["inverse", "real"], "normal", {}),
        ("Mul", ["gain", "normal"], "result", {}),
    ],
    "plain": [*_ROOT, ("Div", ["real", "root"], "result", {})],
    "length": [
        *_LENGTH,
        ("Clip", ["length", "least"], "some", {}),
        ("Expand", ["some", "extents"], "all", {}),
        ("Div", ["real", "all"], "result", {}),
    ],
    "length of several axes": [
        ("ReduceL2", ["real"], "length", {"axes": [2, 1]}),
        ("Div", ["real", "length"], "normal", {}),
        ("Mul", ["normal", "gain"], "result", {}),
    ],
}


def levels_of(rng: np.random.Generator, extents: tuple[int, ...], dtype: str, zero: int) -> np.ndarray:
    """Rows of large and of small numbers."""
    wide = rng.uniform(1, 100, (*extents[:-1], 1))
    return np.rint(rng.normal(0, wide, extents)).clip(np.iinfo(dtype).min - zero, np.iinfo(dtype).max - zero)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("width", [8, 64, 1024])
@seeded(1, 10)
def test_root_mean_square(seed: int, width: int, dtype: str) -> None:
    """The operator, with gains of either sign and zero points at either end."""
    rng = np.random.default_rng(seed)
    low, kind = np.iinfo(dtype).min, np.dtype(dtype).type
    zero = low + int(rng.integers(0, 256))
    scale, gain = np.float32(rng.uniform(0.005, 0.2)), rng.normal(1, 0.6, width).astype(np.float32)
    steps = np.float32(np.abs(gain).max() * rng.uniform(2, 6) / 255)
    constants = {"s": scale, "z": kind(zero), "so": steps, "zo": kind(low + 120), "gain": gain}
    x = (levels_of(rng, (30, width), dtype, zero) * scale).astype(np.float32)
    model = quantized("RMSNormalization", x.shape, constants, opset=23, axis=-1, epsilon=float(rng.choice([1e-5, 0.1])))
    model.ir_version = 11
    module = integers(model)
    assert references(module, Op.NORMALIZE) == [False]
    off = distances(model, module, x)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.05


@pytest.mark.parametrize(("axis", "dtype"), [(-1, "uint8"), (1, "uint8"), (1, "int8")])
def test_euclidean_length(axis: int, dtype: str) -> None:
    """Rows are divided, and the channels of a map; rows of zeros stay what they are."""
    rng, extents = np.random.default_rng(3), (1, 12, 7, 16)
    low, kind = np.iinfo(dtype).min, np.dtype(dtype).type
    constants = {"s": np.float32(0.05), "z": kind(low + 100), "so": np.float32(1 / 127), "zo": kind(low + 128)}
    x = (levels_of(rng, extents, dtype, low + 100) * 0.05).astype(np.float32)
    x[:, :, 3] = 0
    model = quantized("LpNormalization", extents, constants, axis=axis)
    module = integers(model)
    assert references(module, Op.NORMALIZE) == [False]
    off = distances(model, module, x)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.05


def test_sums_of_magnitudes_stay_in_floating_point() -> None:
    constants = {"s": np.float32(0.05), "z": np.uint8(100), "so": np.float32(1 / 127), "zo": np.uint8(128)}
    x = np.random.default_rng(1).normal(0, 1, (5, 9)).astype(np.float32)
    x[2] = 0
    model = quantized("LpNormalization", (5, 9), constants, axis=-1, p=1)
    module = integers(model)
    assert references(module, Op.NORMALIZE) == []
    assert distances(model, module, x).max() <= 1


@pytest.mark.parametrize("form", WRITTEN_OUT)
def test_written_out(form: str) -> None:
    """As exporters write it."""
    rng, extents = np.random.default_rng(4), (6, 5, 24)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s", "z"], ["real"]),
        *(helper.make_node(kind, inputs, [output], **more) for kind, inputs, output, more in WRITTEN_OUT[form]),
        helper.make_node("QuantizeLinear", ["result", "so", "zo"], ["y"]),
    ]
    constants = {
        "s": np.float32(0.05),
        "z": np.uint8(90),
        "so": np.float32(0.008 if "length" in form else 0.03),
        "zo": np.uint8(120),
        "two": np.float32(2),
        "epsilon": np.float32(1e-5),
        "least": np.float32(1e-12),
        "extents": np.array(extents, np.int64),
        "gain": rng.normal(1, 0.4, 24).astype(np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "normalization",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, extents)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, extents)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = (levels_of(rng, extents, "uint8", 90) * 0.05).astype(np.float32)
    module = integers(model)
    assert references(module, Op.NORMALIZE) == [False]
    off = distances(model, module, x)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.05
