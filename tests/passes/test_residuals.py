"""Additions to a layer's outputs with no quantize in front, within one step of onnxruntime's real numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.relay.objects import expressions, main_function
from match.relay.rewrite import dtype, is_call
from tests.integer_relay import integer_relay
from tests.passes.test_trained_quantized import compared, ended
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm


def network(*, dense: bool, kind: str, rectified: str, first: bool, scale: float = 0.03) -> TrainedModel:
    """A residual connection around a layer; a Relu follows the input, the layer or the sum, or none does."""
    model = TrainedModel((1, 96) if dense else (1, 4, 12, 10))
    if rectified == "input":
        model.add("Relu")
    source = model.quantize(scale, kind, 0 if rectified == "input" else 3)
    if dense:
        bias = model.constant(np.linspace(-1, 1, 96, dtype=np.float32))
        model.add("Gemm", model.weights((96, 96)), bias, transB=1)
    else:
        model.conv(4, pads=[1, 1, 1, 1])
        model.add("Mul", model.constant(np.float32(0.15)))
    if rectified == "layer":
        model.add("Relu")
    model.current = model.apply("Add", *((model.current, source) if first else (source, model.current)))
    if rectified == "sum":
        model.add("Relu")
    return model


@pytest.mark.parametrize("rectified", ["", "input", "layer", "sum"])
@pytest.mark.parametrize(
    ("dense", "kind", "output", "first"), [(False, "int8", "int8", True), (True, "uint8", "int8", False)]
)
def test_within_one_step(dense: bool, kind: str, output: str, first: bool, rectified: str, tmp_path: Path) -> None:
    model = network(dense=dense, kind=kind, rectified=rectified, first=first)
    ours, reference = compared(ended(model, 0.045, output, 5), tmp_path, exact=False)
    assert len(np.unique(reference)) > (5 if dense else 15)
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < 0.5
    main = main_function(integer_relay(load(tmp_path / "model.onnx"), exact=False))
    assert all(dtype(expr) != "float32" for expr in expressions(main) if is_call(expr, "multiply"))


@pytest.mark.parametrize(("exact", "scale"), [(True, 0.03), (False, 0.3)])
def test_stay_in_floating_point(exact: bool, scale: float, tmp_path: Path) -> None:
    """Where the reference's bits are asked for, and where 8 bits of the layer's outputs would be too coarse."""
    model = network(dense=False, kind="int8", rectified="sum", first=True, scale=scale)
    onnx.save(ended(model, 0.045, "int8"), tmp_path / "model.onnx")
    main = main_function(integer_relay(load(tmp_path / "model.onnx"), exact=exact))
    assert any(dtype(expr) == "float32" for expr in expressions(main) if is_call(expr, "multiply"))
