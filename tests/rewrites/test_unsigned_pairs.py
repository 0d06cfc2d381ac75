"""int8 tensors of networks that quantize to both types are uint8, as in onnxruntime, whose means round by type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.graph.evaluate import evaluate
from match.graph.float_average import FloatAverage
from match.graph.value import Graph
from match.passes.pipeline import integer_network
from match.validation.exact_session import exact_session
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

MAP = 1, 4, 48, 48


def averaged() -> TrainedModel:
    """Means of 3 x 2 numbers, in int8, of numbers that were in uint8 before."""
    model = TrainedModel(MAP)
    scale = model.constant(np.float32(0.0371))
    for zero_point in (np.uint8(131), np.int8(3), np.int8(-97)):
        if zero_point == -97:
            model.add("AveragePool", kernel_shape=[3, 2], strides=[2, 1])
        parameters = scale, model.constant(zero_point)
        model.add("QuantizeLinear", *parameters)
        model.add("DequantizeLinear", *parameters)
    return model


def test_means_beside_onnxruntime(tmp_path: Path) -> None:
    """Many of the means are halves of steps, of which the last bit decides."""
    path = tmp_path / "averaged.onnx"
    onnx.save(averaged().build(), path)
    network = integer_network(load(path), exact=True)
    assert isinstance(network, Graph)
    (means,) = [value for value in network.values if isinstance(value.operator, FloatAverage)]
    assert means.exact
    x = np.random.default_rng(3).normal(0, 2, MAP).astype(np.float32)
    (expected,) = exact_session(path.read_bytes()).run(None, {"x": x})
    (found,) = evaluate(network, [x])
    assert np.array_equal(found, expected)
