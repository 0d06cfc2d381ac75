"""Networks of quantized operators are read as the graph, and compute what onnxruntime computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.frontend.onnx_file import read_file
from match.frontend.onnx_network import network_of
from match.frontend.qdq import reals_of
from match.graph.evaluate import evaluate
from match.graph.value import Graph
from match.passes.pipeline import integer_network
from match.rewrites.channels_last import with_channels_last
from match.rewrites.quantized_groups import with_quantized_groups
from match.validation.exact_session import exact_session, with_own_weights
from tests.frontend.qdq import along_axes, parts, recurrent
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

PARTS = {**parts.PARTS, **along_axes.PARTS, **recurrent.PARTS}


def written(name: str, folder: Path) -> Path:
    """The file of a part."""
    part = PARTS[name]
    model = TrainedModel(part.shape)
    model.quantize(0.03, "uint8", 128)
    part.build(model)
    zero = 0 if name == "softmax" else 122
    model.add("QuantizeLinear", model.constant(np.float32(part.scale)), model.constant(np.uint8(zero)))
    path = folder / f"{name}.onnx"
    onnx.save(model.build("uint8"), path)
    return path


def sample(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(3).normal(0, 1.2, shape).astype(np.float32)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", PARTS)
def test_beside_onnxruntime(name: str, tmp_path: Path, *, exact: bool) -> None:
    """Equal where the graph says so, else a step off; other steps follow where more operators read that."""
    model = load(written(name, tmp_path))
    assert isinstance(model.network, Graph)
    network = integer_network(model, exact=exact)
    x, data = sample(PARTS[name].shape), model.data
    assert data is not None
    (expected,) = exact_session(with_own_weights(data)).run(None, {"x": x})
    (found,) = evaluate(network, [x])
    assert found.shape == expected.shape
    assert len(np.unique(expected)) > 6
    if all(value.exact for value in network.values):
        assert np.array_equal(found, expected)
    assert np.abs(found.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("name", PARTS)
def test_each_step_computes_the_same(name: str, tmp_path: Path) -> None:
    """Real numbers as NumPy computes them, the integers that stand for them, and these with channels last."""
    path = written(name, tmp_path)
    file = read_file(path.read_bytes(), path)
    network = network_of(file.proto, file.inputs, file.open_shapes, path)
    reals = reals_of(network, path)
    integers = with_quantized_groups(reals)
    x = sample(PARTS[name].shape)
    (real,), (own,), (last,) = (evaluate(graph, [x]) for graph in (reals, integers, with_channels_last(integers)))
    assert np.abs(own.astype(int) - real).max() <= 1
    assert np.array_equal(own, last)
