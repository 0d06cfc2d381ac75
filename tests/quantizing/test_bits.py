"""Weights in fewer bits: their values fit, the compiler counts as many, and the loss is what was allowed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.validation.exact_session import exact_session
from tests.quantizing.conftest import noise
from tests.sampled import sampled

pytestmark = pytest.mark.cc
pytest.importorskip("onnxruntime")


def two_layers() -> onnx.ModelProto:
    """Two 3x3 convolutions that NE16 executes."""
    rng = np.random.default_rng(7)
    constants = {"one": rng.normal(size=(64, 16, 3, 3)) / 12, "two": rng.normal(size=(32, 64, 3, 3)) / 24}
    nodes = [
        helper.make_node("Conv", ["x", "one"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "two"], ["y"], pads=[1, 1, 1, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "two",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 32, 16, 16])],
        [numpy_helper.from_array(values.astype(np.float32), name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


DATA = noise(12, 16, 16, 16)


def stored_bits(proto: Any) -> list[int]:
    """Bits of the signed numbers that all weights of each layer are."""
    weights = [numpy_helper.to_array(one) for one in proto.graph.initializer if len(one.dims) == 4]
    return [next(b for b in range(1, 9) if -(1 << b - 1) <= w.min() and w.max() < 1 << b - 1) for w in weights]


def sqnr(proto: Any) -> float:
    """The ratio of the outputs, by the definition."""
    real, other = (
        np.stack([session.run(None, {"x": sample[None]})[0] for sample in DATA]).astype(np.float64)
        for session in (exact_session(model.SerializeToString()) for model in (two_layers(), proto))
    )
    return 10 * np.log10((real**2).sum() / ((real - other) ** 2).sum())


@pytest.mark.parametrize("bits", [2, 5, 8])
def test_all_weights_in_so_many_bits(bits: int) -> None:
    made = match.quantize(two_layers(), DATA, "gap9", weight_bits=bits)
    assert stored_bits(made.model) == [bits, bits]
    assert {layer.weight_bits for layer in made.result.layers} == {None, bits}
    layers = match.predict(made.model, "gap9").layers
    counted = [one.weight_bits for layer in layers for one in (layer.operators or (layer,)) if one.op == "conv2d"]
    assert counted == [bits, bits]


@pytest.mark.parametrize("loss", sampled([3.0, 6.0], [3.0]))
def test_as_few_bits_as_the_loss_allows(loss: float) -> None:
    made = match.quantize(two_layers(), DATA, "gap9", weight_bits="auto", loss=loss)
    narrow = made.result.narrowing
    assert narrow is not None
    whole = match.quantize(two_layers(), DATA, "gap9")
    assert narrow.cycles_in_8_bits == whole.result.cycles
    assert made.result.cycles < whole.result.cycles
    assert narrow.allowed == loss
    assert narrow.loss == pytest.approx(max(0.0, sqnr(whole.model) - sqnr(made.model)), abs=1e-6)
    assert narrow.loss <= loss
    assert stored_bits(made.model) == [layer.weight_bits for layer in made.result.layers if layer.weight_bits]


@pytest.mark.sweep
def test_near_the_best_of_all(tmp_path: Any) -> None:
    """Within 2 % of the cycles that the best of all pairs of bits saves."""
    from match.quantizing.form import form_for
    from match.quantizing.prepared import prepare
    from match.quantizing.quantizer import calibrate
    from match.target.registry import get_target

    quantizer = calibrate(prepare(two_layers()), form_for(get_target("gap9")), {"x": DATA[:, None]}, lambda _: None)
    whole = sqnr(quantizer.quantized())
    least = min(
        match.predict(proto, "gap9").totals.cycles
        for pair in itertools.product(range(2, 9), repeat=2)
        if whole - sqnr(proto := quantizer.quantized(dict(zip(("one", "two"), pair, strict=True)))) <= 6
    )
    found = match.quantize(two_layers(), DATA, "gap9", weight_bits="auto", loss=6.0).result.cycles
    assert least <= found <= 1.02 * least


def test_depthwise_filters_and_other_targets_keep_8_bits() -> None:
    """Where no module is faster with fewer, nothing is narrowed."""
    made = match.quantize(two_layers(), DATA, "gap8", weight_bits="auto", loss=20.0)
    assert stored_bits(made.model) == [8, 8]
    assert made.result.narrowing is not None
    assert made.result.narrowing.loss == 0
    model = two_layers()
    (one,) = (tensor for tensor in model.graph.initializer if tensor.name == "one")
    one.CopyFrom(numpy_helper.from_array(np.ones((16, 1, 3, 3), np.float32), "one"))
    (two,) = (tensor for tensor in model.graph.initializer if tensor.name == "two")
    two.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(two)[:, :16].copy(), "two"))
    model.graph.node[0].attribute.append(helper.make_attribute("group", 16))
    made = match.quantize(model, DATA, "gap9", weight_bits="auto", loss=20.0)
    assert {layer.name: layer.weight_bits for layer in made.result.layers}["b"] == 8
