"""Products with functions of a smaller tensor that nothing quantizes: attention to channels, beside onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.graph.value import Graph
from match.ir.layer import Op
from match.passes.pipeline import integer_network
from tests.passes.one_operator import references
from tests.passes.test_trained_quantized import compared, ended
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm


def attention(function: str, *, both: bool, first: bool = True) -> TrainedModel:
    """A map times a function of its channels' means; `both`: times its own hard swish, too."""
    model = TrainedModel((1, 6, 7, 5))
    x = model.quantize(0.03, "uint8", 117)
    model.conv(6, pads=[1, 1, 1, 1])
    model.add("Mul", model.constant(np.float32(0.15)))
    x = model.quantize(0.02, "uint8", 117)
    model.add("GlobalAveragePool")
    model.quantize(0.01, "int8", -3)
    weights = model.add(function)
    if both:
        x = model.apply("Mul", x, model.apply("HardSigmoid", x, alpha=1 / 6))
    model.current = model.apply("Mul", *((x, weights) if first else (weights, x)))
    return model


@pytest.mark.parametrize(
    ("function", "both", "first", "output"),
    [("Sigmoid", False, True, "uint8"), ("HardSigmoid", True, False, "int8"), ("Tanh", True, True, "uint8")],
)
def test_within_one_step(function: str, both: bool, first: bool, output: str, tmp_path: Path) -> None:
    model = ended(attention(function, both=both, first=first), 0.015, output, 60)
    ours, reference = compared(model, tmp_path, exact=False)
    assert len(np.unique(reference)) > 15
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < 0.2
    module = product(tmp_path, exact=False)
    assert len(references(module, Op.MULTIPLY)) == 1
    assert references(module, Op.LOOKUP).count(False) == 1 + both


def product(folder: Path, *, exact: bool) -> Graph:
    return integer_network(load(folder / "model.onnx"), "uint8", exact=exact)


@pytest.mark.parametrize(("exact", "scale"), [(True, 0.015), (False, 0.001)])
def test_no_product_of_8_bits(exact: bool, scale: float, tmp_path: Path) -> None:
    """Where the reference's integers are asked for, and where 8 bits in between would be too coarse."""
    onnx.save(ended(attention("Sigmoid", both=True), scale, "uint8", 60), tmp_path / "model.onnx")
    assert references(product(tmp_path, exact=exact), Op.MULTIPLY) == []
