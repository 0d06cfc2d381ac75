"""Functions of 8-bit tensors that nothing quantizes, as tables of real numbers, beside onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.graph.evaluate import evaluate
from match.partitioning.pattern import Match
from match.partitioning.pattern.rows import work_of
from match.passes.pipeline import integer_network
from match.relay.objects import expressions, main_function
from match.relay.rewrite import dtype, is_call
from match.validation.exact_session import exact_session
from tests.integer_relay import integer_relay
from tests.layers_of import find
from tests.partitioning.listed import on_core
from tests.passes.running import executable
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

FUNCTIONS = "sigmoid", "exp", "tanh", "erf"


def scored(function: str, kind: str = "uint8", side: int = 12) -> TrainedModel:
    """A layer whose quantized outputs become real scores."""
    model = TrainedModel((1, 3, side, side))
    model.quantize(0.03, "uint8", 117)
    model.conv(4)
    model.quantize(0.1, kind, 99)
    if function == "SiLU":
        model.current = model.apply("Mul", model.current, model.apply("Sigmoid", model.current))
    else:
        model.add(function)
    return model


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("function", ["Sigmoid", "Exp", "SiLU"])
def test_equal_but_for_the_last_bits(function: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(scored(function, kind).build(), path)
    module = integer_relay(load(path), "uint8")
    main = main_function(module)
    assert not any(is_call(expr, *FUNCTIONS) for expr in expressions(main))
    assert [dtype(expr) for expr in expressions(main) if is_call(expr, "take")].count("float32") == 1
    tables = [work_of(value).name == "take" and not value.exact for row in on_core(module) for value in row.covered]
    assert any(tables)
    x = np.random.default_rng(5).normal(0, 1, (1, 3, 12, 12)).astype(np.float32)
    (ours,) = executable(module)({"x": x})
    (reference,) = exact_session(path.read_bytes()).run(None, {"x": x})
    assert len(np.unique(reference)) > 50
    np.testing.assert_allclose(ours, reference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_are_layers_as_a_dequantize_is(kind: str, tmp_path: Path) -> None:
    """What computes them in NumPy and TVM's C have the same numbers."""
    path = tmp_path / "model.onnx"
    onnx.save(scored("Sigmoid", kind).build(), path)
    network = integer_network(load(path), "uint8")
    layers = [one for one in find(network) if isinstance(one, Match) and one.layer.op == "dequantize"]
    assert [one.reference for one in layers] == [False]
    x = np.random.default_rng(5).normal(0, 1, (1, 3, 12, 12)).astype(np.float32)
    (ours,), (core,) = evaluate(network, [x]), executable(network)({"x": x})
    assert np.array_equal(ours, core)
    (reference,) = exact_session(path.read_bytes()).run(None, {"x": x})
    np.testing.assert_allclose(ours, reference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("function", "side"), [("Sigmoid", 6), ("Abs", 12)])
def test_stay_as_they_are(function: str, side: int, tmp_path: Path) -> None:
    """Few elements, which are fewer than a table has, and operators that take no longer than to read a table."""
    path = tmp_path / "model.onnx"
    onnx.save(scored(function, side=side).build(), path)
    main = main_function(integer_relay(load(path)))
    assert not any(is_call(expr, "take") for expr in expressions(main))
