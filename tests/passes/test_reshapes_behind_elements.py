"""Dense layers on the last axis, whose biases and functions nothing quantizes in between, beside onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.frontend.onnx_as_relay import relay_of
from match.frontend.relay import from_relay
from match.graph.reals import RealFunction
from match.passes.pipeline import integer_network
from match.relay.objects import expressions, main_function
from match.relay.rewrite import dtype, is_call, shape
from tests.integer_relay import integer_relay
from tests.passes.test_trained_quantized import compared, ended
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

ROWS, INPUTS, OUTPUTS = 25, 6, 8


def dense(model: TrainedModel, behind: Callable[[TrainedModel], None]) -> TrainedModel:
    """A product with a matrix for each of two times 25 rows, and what is behind it."""
    model.quantize(0.03, "uint8", 117)
    model.add("MatMul", model.weights((INPUTS, OUTPUTS), axis=1))
    behind(model)
    return model


def network(behind: Callable[[TrainedModel], None]) -> TrainedModel:
    return dense(TrainedModel((1, 2, ROWS, INPUTS)), behind)


def biased(model: TrainedModel) -> None:
    """As exporters write it: the bias comes first."""
    model.current = model.apply("Add", model.constant(np.linspace(-2, 2, OUTPUTS, dtype=np.float32)), model.current)


def quantized_bias(model: TrainedModel) -> None:
    """A bias of 8 bits, which comes first."""
    levels = model.constant(np.linspace(-100, 100, OUTPUTS).astype(np.int8))
    bias = model.apply("DequantizeLinear", levels, model.constant(np.float32(0.02)), model.constant(np.int8(3)))
    model.current = model.apply("Add", bias, model.current)


def quantized_number(model: TrainedModel) -> None:
    """A bias, and a factor of 8 bits behind it."""
    biased(model)
    factor = model.constant(np.int8(90)), model.constant(np.float32(0.01)), model.constant(np.int8(0))
    model.add("Mul", model.apply("DequantizeLinear", *factor))


def gelu(model: TrainedModel) -> None:
    biased(model)
    x = model.current
    model.add("Div", model.constant(np.float32(2**0.5)))
    model.add("Erf")
    model.add("Add", model.constant(np.float32(1)))
    model.add("Mul", x)
    model.add("Mul", model.constant(np.full((1, 1), 0.5, np.float32)))


def scaled(model: TrainedModel) -> None:
    biased(model)
    model.add("Mul", model.constant(np.linspace(0.5, 1.5, OUTPUTS, dtype=np.float32).reshape(1, 1, OUTPUTS)))
    model.add("Relu")


@pytest.mark.parametrize(
    ("behind", "exact"),
    [(biased, True), (scaled, True), (quantized_bias, True), (quantized_number, False), (gelu, False)],
)
def test_within_one_step(behind: Callable[[TrainedModel], None], exact: bool, tmp_path: Path) -> None:
    model = ended(network(behind), 0.05, "int8", -20)
    ours, reference = compared(model, tmp_path, exact=exact)
    assert len(np.unique(reference)) > 50
    assert np.abs(ours - reference).max() <= 1
    assert np.mean(ours != reference) < (0.01 if exact else 0.3)
    main = main_function(integer_relay(load(tmp_path / "model.onnx"), exact=exact))
    assert not any(is_call(expr, "erf") for expr in expressions(main))
    real = [expr for expr in expressions(main) if is_call(expr, "add", "multiply") and dtype(expr) == "float32"]
    assert not [expr for expr in real if shape(expr)[-1] == OUTPUTS]
    products = {shape(expr) for expr in expressions(main) if is_call(expr, "nn.dense")}
    assert products == {(2 * ROWS, OUTPUTS)}


@pytest.mark.parametrize("behind", [biased, scaled, gelu])
def test_relay_of_tvm_s_importer(behind: Callable[[TrainedModel], None], tmp_path: Path) -> None:
    onnx.save(ended(network(behind), 0.05, "int8", -20), tmp_path / "model.onnx")
    values = integer_network(from_relay(relay_of(tmp_path / "model.onnx")), exact=False).values
    assert not [value for value in values if isinstance(value.operator, RealFunction)]
