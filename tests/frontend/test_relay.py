"""Relay modules passed directly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.frontend import ModelTensor, Rounding
from match.frontend.relay import from_relay
from match.graph.sums import Dense
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from tests.frontend.refusals import refusal
from tests.integer_relay import integer_relay
from tests.passes.running import assert_same_outputs

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
    layer = integer_network(model).outputs[0].operator
    assert isinstance(layer, Dense)
    assert (layer.weights == PARAMS["w"]).all()


def test_several_outputs():
    model = from_relay(dense(2), PARAMS)
    assert [tensor.name for tensor in model.outputs] == ["output_0", "output_1"]
    assert model.rounding == Rounding.TFLITE


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


def test_ill_typed_says_what_tvm_says():
    x, y = relay.var("x", shape=(1, 4), dtype="int8"), relay.var("y", shape=(1, 5), dtype="int8")
    assert "Incompatible broadcast type" in refusal(
        from_relay, tvm.IRModule.from_expr(relay.Function([x, y], relay.add(x, y)))
    )


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"w": PARAMS["w"][:, :4]}, "the parameter 'w' as int8 [4, 8], but params has int8 [4, 4]"),
        ({"w": PARAMS["w"].astype(np.float32)}, "but params has float32 [4, 8]"),
        ({"w": None}, "but params has object []"),
        ([PARAMS["w"]], "not list"),
    ],
)
def test_values_that_are_none_of_a_parameter(params: Any, said: str):
    assert said in refusal(from_relay, dense(), params)


def test_the_order_of_bytes_is_no_other_type():
    swapped = {"w": PARAMS["w"].astype(">i1"), "b": np.arange(4).astype(">i4")}
    x, w, b = (
        relay.var(n, shape=s, dtype=t)
        for n, s, t in (("x", (1, 8), "int8"), ("w", (4, 8), "int8"), ("b", (4,), "int32"))
    )
    body = relay.nn.bias_add(relay.nn.dense(x, w, out_dtype="int32"), b)
    bound = from_relay(tvm.IRModule.from_expr(relay.Function([x, w, b], body)), swapped).module
    assert bound["main"].body.args[1].data.numpy().tolist() == [0, 1, 2, 3]


def test_parameters_of_one_name():
    x, y = relay.var("x", shape=(1, 4), dtype="int8"), relay.var("x", shape=(1, 4), dtype="int8")
    assert "2 parameters called 'x'" in refusal(
        from_relay, tvm.IRModule.from_expr(relay.Function([x, y], relay.add(x, y)))
    )


def test_a_parameter_without_name():
    x = relay.var("", shape=(1, 4), dtype="int8")
    assert "without a name" in refusal(from_relay, tvm.IRModule.from_expr(relay.Function([x], relay.clip(x, 0, 5))))


def test_a_dimension_of_zero():
    x = relay.var("x", shape=(1, 0), dtype="int8")
    assert "no elements" in refusal(from_relay, tvm.IRModule.from_expr(relay.Function([x], relay.clip(x, 0, 5))))


def test_no_input():
    constant = relay.clip(relay.const(np.ones((1, 4), np.int8)), 0, 5)
    assert "no input" in refusal(from_relay, tvm.IRModule.from_expr(relay.Function([], constant)))


def several_functions() -> tvm.IRModule:
    """What @main calls calls another function, with let and functions inside."""
    type_ = relay.TensorType((1, 4), "int8")
    both_types = relay.TupleType([type_, type_])
    x, y, z = relay.Var("x", type_), relay.Var("y", type_), relay.Var("z", type_)
    inner, outer = relay.GlobalVar("inner"), relay.GlobalVar("outer")
    a, b, pair, halve = relay.Var("a"), relay.Var("b"), relay.Var("pair"), relay.Var("halve")
    shifted = relay.right_shift(relay.add(z, a), relay.const(np.int8(1)))
    functions = {
        inner: relay.Function(
            [y], relay.Let(a, relay.nn.relu(y), relay.Tuple([a, relay.clip(y, -99, 90)])), both_types
        ),
        outer: relay.Function(
            [x],
            relay.Let(
                pair,
                relay.Call(inner, [x]),
                relay.Let(
                    a,
                    relay.TupleGetItem(pair, 1),
                    relay.Let(
                        halve,
                        relay.Function([z], shifted),
                        relay.Tuple([relay.Call(halve, [relay.Call(halve, [relay.TupleGetItem(pair, 0)])]), a]),
                    ),
                ),
            ),
            both_types,
        ),
    }
    x, unused = relay.Var("x", type_), relay.Var("unused")
    both = relay.Call(outer, [x])
    result = relay.subtract(relay.TupleGetItem(both, 0), relay.TupleGetItem(both, 1))
    functions[relay.GlobalVar("main")] = relay.Function(
        [x], relay.Let(unused, relay.negative(x), relay.Let(b, result, b))
    )
    return tvm.IRModule(functions)


def test_functions_and_let_are_written_out():
    module = relay.transform.InferType()(several_functions())
    before = tvm.ir.save_json(module)
    found = from_relay(module).module
    assert [v.name_hint for v in found.get_global_vars()] == ["main"]
    x = relay.var("x", shape=(1, 4), dtype="int8")
    relu, a = relay.nn.relu(x), relay.clip(x, -99, 90)
    once = relay.right_shift(relay.add(relu, a), relay.const(np.int8(1)))
    twice = relay.right_shift(relay.add(once, a), relay.const(np.int8(1)))
    expected = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.subtract(twice, a))))
    tvm.ir.assert_structural_equal(found["main"], expected["main"])
    assert_same_outputs(expected, found, samples=8)
    assert tvm.ir.save_json(module) == before


def test_let_of_a_thousand_operators():
    x = relay.var("x", shape=(1, 4), dtype="int8")
    variables = [relay.Var(f"v{index}") for index in range(1500)]
    body = variables[-1]
    for variable, source in zip(reversed(variables), [*reversed(variables[:-1]), x], strict=True):
        body = relay.Let(variable, relay.clip(source, -50, 50), body)
    main = relay.Function([x], body)
    assert "let" not in str(from_relay(tvm.IRModule({relay.GlobalVar("main"): main})).module["main"].body.op)


def test_a_function_that_calls_itself():
    x, y, f = (
        relay.var("x", shape=(1, 4), dtype="int8"),
        relay.var("y", shape=(1, 4), dtype="int8"),
        relay.GlobalVar("f"),
    )
    again = relay.Function([y], relay.Call(f, [relay.nn.relu(y)]), relay.TensorType((1, 4), "int8"))
    module = tvm.IRModule({f: again, relay.GlobalVar("main"): relay.Function([x], relay.Call(f, [x]))})
    assert "'f' that calls itself" in refusal(from_relay, module)


def test_a_module_that_was_cut():
    x, y, f = (
        relay.var("x", shape=(1, 4), dtype="int8"),
        relay.var("y", shape=(1, 4), dtype="int8"),
        relay.GlobalVar("f"),
    )
    layer = relay.Function([y], relay.nn.relu(y)).with_attr("Compiler", "ethos-u")
    module = tvm.IRModule({f: layer, relay.GlobalVar("main"): relay.Function([x], relay.Call(f, [x]))})
    assert "'f' is one for the compiler 'ethos-u'" in refusal(from_relay, module)
