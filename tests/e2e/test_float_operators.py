"""Operators of ONNX that stay in floating point between quantize nodes, in C beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import match
from match.validation.exact_session import exact_session
from tests.passes.one_operator import quantized

pytestmark = pytest.mark.cc

OPERATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "ReduceProd": ("prod", {"axes": [1], "keepdims": 0}),
    "LRN": ("nn.lrn", {"size": 3, "alpha": 0.7, "beta": 0.6, "bias": 1.5}),
}
"""What the report calls each, and its attributes."""


@pytest.mark.parametrize("kind", OPERATORS)
def test_operators_in_floating_point(kind: str) -> None:
    """Runtimes multiply in any order, so that a half may go either way; the report calls them not exact."""
    name, attributes = OPERATORS[kind]
    constants = {"s": np.float32(0.02), "z": np.uint8(100), "so": np.float32(0.01), "zo": np.uint8(90)}
    model = quantized(kind, (1, 4, 6, 3), constants, **attributes)
    compiled = match.compile(model, "gap9", cache=False)
    (layer,) = (layer for layer in compiled.report.layers if layer.op == name)
    assert (layer.module, layer.exact, layer.floating) == ("cpu", False, True)
    x = np.random.default_rng(3).normal(0, 1, (1, 4, 6, 3)).astype(np.float32)
    (expected,) = exact_session(model.SerializeToString()).run(None, {"x": x})
    distances = np.abs(compiled.run({"x": x})["y"].astype(np.int64) - expected)
    assert distances.max() <= 1
    assert np.mean(distances > 0) < 0.05
    assert len(np.unique(expected)) > 3
