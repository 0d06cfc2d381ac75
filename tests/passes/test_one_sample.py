"""Networks with a batch of several, as networks of one sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match.frontend import load
from match.frontend.model import Model, ModelTensor, Rounding
from match.graph.evaluate import evaluate
from match.graph.text import parse
from match.graph.value import Graph
from match.passes.one_sample import of_one_sample, sample_by_sample
from tests.passes.onnx_models import OnnxModel, quantize
from tests.tflite.case import NONE, VALID, Network

pytestmark = pytest.mark.cc


def network(folder: Path, samples: int) -> Path:
    """Convolutions, functions, a concatenation, pooling, a dense layer."""
    model = OnnxModel((samples, 6, 9, 8))
    model.conv(8, pads=[1, 1, 1, 1])
    model.add("Concat", model.add("Sigmoid"), "x", axis=1)
    model.channels += 14
    model.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    model.conv(8, (1, 1))
    model.add("Relu")
    model.add("GlobalAveragePool")
    model.add("Flatten")
    model.gemm(8, 5)
    return quantize(model, folder, "QDQ", "QUInt8", per_channel=True)


def test_each_sample_is_computed_alike(tmp_path: Path) -> None:
    whole = load(network(tmp_path, 4))
    one = sample_by_sample(whole)
    assert (one.batch, one.original) == (4, whole)
    assert [tensor.shape for tensor in (*one.inputs, *one.outputs)] == [(1, 6, 9, 8), (1, 5)]
    assert isinstance(whole.network, Graph)
    assert isinstance(one.network, Graph)
    x = np.random.default_rng(1).normal(0, 1, (4, 6, 9, 8)).astype(np.float32)
    (expected,) = evaluate(whole.network, [x])
    for number, right in enumerate(expected):
        (found,) = evaluate(one.network, [x[number : number + 1]])
        assert np.array_equal(found[0], right)


@pytest.mark.parametrize("target", ["gap9", "gap8"])
def test_it_costs_what_one_sample_costs(target: str, tmp_path: Path) -> None:
    path = network(tmp_path, 4)
    compiled = match.compile(path, target, numerics="exact", output=tmp_path / "out")
    assert compiled.validate(samples=6).equal
    assert match.validate(tmp_path / "out", path, samples=3).equal
    assert "has a batch of 4, and its C computes one sample at a time" in " ".join(compiled.notes)
    (output,) = compiled.run({"x": np.zeros((4, 6, 9, 8), np.float32)}).values()
    assert output.shape == (4, 5)
    (output,) = compiled.run({"x": np.zeros((2, 4, 6, 9, 8), np.float32)}).values()
    assert output.shape == (2, 4, 5)
    alone = onnx.load(path)
    for tensor in (*alone.graph.input, *alone.graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_value = 1
    del alone.graph.value_info[:]
    assert compiled.report.totals.cycles == match.predict(alone, target, numerics="exact").totals.cycles


def rows(folder: Path, samples: int) -> Path:
    """Dense layers alone."""
    model = OnnxModel((samples, 64))
    model.gemm(64, 48)
    model.add("Relu")
    model.gemm(48, 16)
    return quantize(model, folder, "QDQ", "QUInt8", per_channel=True)


@pytest.mark.parametrize("target", ["gap9", "gap8"])
def test_rows_are_computed_together(target: str, tmp_path: Path) -> None:
    """Weights come in once for all of them."""
    compiled = match.compile(rows(tmp_path, 8), target, numerics="exact")
    assert compiled.report.model.batch == 1
    assert compiled.validate(samples=3).equal
    one = match.predict(rows(tmp_path, 1), target, numerics="exact").totals.cycles
    assert compiled.report.totals.cycles < 4 * one


def test_files_of_tflite(tmp_path: Path) -> None:
    model = Network()
    x = model.input((4, 6, 6, 4), (0.05, 3))
    y = model.tensor((4, 4, 4, 8), (0.3, 2))
    options = {"padding": VALID, "strideH": 1, "strideW": 1, "fusedActivationFunction": NONE}
    model.apply("CONV_2D", [x, model.weights((8, 3, 3, 4), 0.02)], y, "Conv2DOptions", **options)
    path = tmp_path / "batch.tflite"
    path.write_bytes(model.model.build([x], [y]))
    compiled = match.compile(path, "gap9", numerics="exact")
    assert compiled.report.model.batch == 4
    assert compiled.validate(samples=5).equal


def model_of(text: str) -> Model:
    graph = parse(text)
    inputs, outputs = (
        tuple(ModelTensor(f"t{number}", value.shape, value.dtype) for number, value in enumerate(side))
        for side in (graph.inputs, graph.outputs)
    )
    return Model("made", "", graph, inputs, outputs, Rounding.INTEGER)


@pytest.mark.parametrize(
    "line",
    [
        "move(v0, split=(3, 3), columns=(None, None), axes=(1, 0), shape=(3, 3))",
        "move(v0, split=(3, 3), columns=(int32([2, 1, 0]), None), axes=(0, 1), shape=(3, 3))",
        "running_sum(v0, axis=0)",
        "real_product(v0, v0)",
    ],
)
def test_samples_that_meet(line: str) -> None:
    """Axes that change places, samples in another order, sums over them, products of them."""
    whole = model_of(f"v0: float32[3, 3] = input('x')\nv1: float32[3, 3] = {line}\nreturn v1\n")
    assert of_one_sample(whole) is None
    assert sample_by_sample(whole) is whole


def test_samples_that_are_joined() -> None:
    """Each part of a row of samples has several of them."""
    joined = "v1: int8[4, 3] = concatenate(v0, v0, axis=0)\n"
    some = "v2: int8[2, 3] = move(v1, split=(4, 3), columns=(int32([0, 2]), None), axes=(0, 1), shape=(2, 3))\n"
    assert of_one_sample(model_of(f"v0: int8[2, 3] = input('x')\n{joined}{some}return v2\n")) is None
    kept = "v2: int8[2, 6] = move(v1, split=(4, 3), columns=(None, None), axes=(0, 1), shape=(2, 6))\n"
    assert of_one_sample(model_of(f"v0: int8[2, 3] = input('x')\n{joined}{kept}return v2\n")) is None


def test_a_batch_of_one_is_none() -> None:
    whole = model_of("v0: int8[1, 3] = input('x')\nv1: int8[1, 3] = clip(v0, limits=(0, 9), dtype='int8')\nreturn v1\n")
    assert of_one_sample(whole) is None
