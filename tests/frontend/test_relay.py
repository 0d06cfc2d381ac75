"""Relay modules passed directly."""

from __future__ import annotations

import numpy as np
import pytest

from match.frontend import ModelTensor, Rounding
from match.frontend.relay import from_relay
from match.passes.pipeline import integer_relay
from match.relay import relay, tvm
from match.relay.operators import Dense
from match.relay.readers import read_layer
from tests.frontend.refusals import refusal

pytestmark = pytest.mark.tvm


def dense(outputs: int = 1) -> tvm.IRModule:
    x, w = relay.var("x", shape=(1, 8), dtype="int8"), relay.var("w", shape=(4, 8), dtype="int8")
    zero = relay.const(0, "int32")
    product = relay.qnn.op.dense(x, w, zero, zero, relay.const(0.1), relay.const(0.01), 4)
    y = relay.qnn.op.requantize(product, relay.const(0.001), zero, relay.const(0.02), zero, out_dtype="int8")
    return tvm.IRModule.from_expr(relay.Function([x, w], y if outputs == 1 else relay.Tuple([y, x])))


PARAMS = {"w": np.arange(-16, 16, dtype=np.int8).reshape(4, 8) * 7}


def test_weights_become_constants():
    model = from_relay(dense(), PARAMS, name="tiny")
    assert model.name == "tiny"
    assert model.rounding == Rounding.TFLITE
    assert model.inputs == (ModelTensor("x", (1, 8), "int8"),)
    assert model.outputs == (ModelTensor("output", (1, 4), "int8"),)
    layer = read_layer(integer_relay(model)["main"].body)
    assert isinstance(layer, Dense)
    assert (layer.weights == PARAMS["w"]).all()


def test_several_outputs_and_the_other_rounding():
    model = from_relay(dense(2), PARAMS, rounding=Rounding.ONNXRUNTIME)
    assert [tensor.name for tensor in model.outputs] == ["output_0", "output_1"]
    assert model.rounding == Rounding.ONNXRUNTIME


def test_the_hash_is_that_of_the_network():
    assert from_relay(dense(), PARAMS).sha256 == from_relay(dense(), PARAMS).sha256
    other = {"w": PARAMS["w"] + np.int8(1)}
    assert from_relay(dense(), PARAMS).sha256 != from_relay(dense(), other).sha256


def test_integer_form_stays_what_it_is():
    once = integer_relay(from_relay(dense(), PARAMS))
    again = integer_relay(from_relay(once))
    assert tvm.ir.structural_equal(once, again)


def test_unknown_parameter():
    assert "'v'" in refusal(from_relay, dense(), {"v": np.zeros(3, np.int8)})


def test_float_network():
    x = relay.var("x", shape=(1, 4), dtype="float32")
    assert "float model" in refusal(from_relay, tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))


def test_dynamic_shape():
    x = relay.var("x", shape=(relay.Any(), 4), dtype="int8")
    assert "dynamic shape" in refusal(from_relay, tvm.IRModule.from_expr(relay.Function([x], relay.clip(x, 0, 5))))


def test_no_main():
    x = relay.var("x", shape=(1, 4), dtype="int8")
    module = tvm.IRModule({relay.GlobalVar("other"): relay.Function([x], x)})
    assert "main" in refusal(from_relay, module)


def test_ill_typed():
    x, y = relay.var("x", shape=(1, 4), dtype="int8"), relay.var("y", shape=(1, 5), dtype="int8")
    assert "ill-typed" in refusal(from_relay, tvm.IRModule.from_expr(relay.Function([x, y], relay.add(x, y))))
