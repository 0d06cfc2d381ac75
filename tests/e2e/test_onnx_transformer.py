"""A block of a transformer as PyTorch's exporter writes it, quantized by onnxruntime: all of it is on the modules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import match
from match.validation.exact_session import exact_session
from tests.passes.onnx_models import OnnxModel, quantize

pytestmark = pytest.mark.cc

TOKENS, WIDTH, HEADS = 12, 32, 4


def linear(model: OnnxModel, inputs: int, outputs: int) -> str:
    """A product with constant weights, and a bias that is added by itself."""
    model.add("MatMul", model.constant(model.rng.normal(0, inputs**-0.5, (inputs, outputs))))
    return model.add("Add", model.constant(model.rng.normal(0, 0.1, outputs)))


def normalized(model: OnnxModel) -> str:
    gain, bias = model.rng.uniform(0.5, 1.5, WIDTH), model.rng.normal(0, 0.1, WIDTH)
    return model.add("LayerNormalization", model.constant(gain), model.constant(bias), axis=-1, epsilon=1e-5)


def attention(model: OnnxModel) -> None:
    """The attention of all heads at once."""
    x, parts = model.current, []
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        model.current = x
        linear(model, WIDTH, WIDTH)
        model.add("Reshape", model.constant(np.array([1, TOKENS, HEADS, WIDTH // HEADS])))
        parts.append(model.add("Transpose", perm=order))
    model.current = parts[0]
    model.add("MatMul", parts[1])
    model.add("Mul", model.constant(np.array((WIDTH // HEADS) ** -0.5)))
    model.add("Softmax", axis=-1)
    model.add("MatMul", parts[2])
    model.add("Transpose", perm=[0, 2, 1, 3])
    model.add("Reshape", model.constant(np.array([1, TOKENS, WIDTH])))
    linear(model, WIDTH, WIDTH)


def gelu(model: OnnxModel) -> None:
    x = model.current
    model.add("Div", model.constant(np.array(2**0.5)))
    model.add("Erf")
    model.add("Add", model.constant(np.array(1.0)))
    model.add("Mul", x)
    model.add("Mul", model.constant(np.array(0.5)))


def test_a_block_is_on_the_modules(tmp_path: Path) -> None:
    """What is left to the control core are the scores' last steps and the mean of tokens, which is cheaper there.

    The C computes the integer network.
    """
    model = OnnxModel((1, TOKENS, WIDTH))
    x = normalized(model)
    attention(model)
    x = model.add("Add", x)
    normalized(model)
    linear(model, WIDTH, 2 * WIDTH)
    gelu(model)
    linear(model, 2 * WIDTH, WIDTH)
    model.add("Add", x)
    normalized(model)
    model.add("ReduceMean", axes=[1], keepdims=0)
    linear(model, WIDTH, 5)
    path = quantize(model, tmp_path, "QDQ", "QUInt8", True)
    compiled = match.compile(path, "gap9", numerics="exact", fuse=False)
    report = compiled.report
    on_core = [layer for layer in report.layers if layer.module == "cpu"]
    assert {layer.op for layer in on_core if layer.cycles} <= {"avg_pool2d", "dense", "add", "dequantize"}
    assert sum(layer.cycles for layer in on_core) < 0.05 * report.totals.cycles
    assert not [layer.name for layer in report.layers if layer.floating and layer.op not in ("quantize", "dequantize")]
    assert {"softmax", "normalize"} <= {layer.op for layer in report.layers if not layer.exact}
    assert all(layer.exact for layer in report.layers if layer.op not in ("softmax", "normalize"))
    inputs = np.random.default_rng(4).normal(0, 1, (20, 1, TOKENS, WIDTH)).astype(np.float32)
    (given,) = compiled.run({"x": inputs}).values()
    (expected,) = match.compile(path, "gap9", modules=[]).run({"x": inputs}).values()
    assert np.array_equal(given, expected)
    session = exact_session(path)
    reference = np.stack([session.run(None, {"x": one})[0] for one in inputs])
    step = np.min(np.diff(np.unique(reference)))
    assert np.mean(np.abs(given - reference)) < step
    assert len(np.unique(reference)) > 30
