"""QNN operators of Relay that are functions of each element, beside TVM's own build of them, for all 256 values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.frontend.relay import from_relay
from match.ir.dtypes import levels
from match.partitioning.pattern import Match
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from tests.layers_of import find
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

OUTPUTS = {
    "sigmoid": (1 / 256, -128),
    "tanh": (1 / 128, 0),
    "exp": (0.02, -100),
    "erf": (0.01, 5),
    "hardswish": (0.03, -90),
    "abs": (0.04, -128),
    "leaky_relu": (0.04, -70),
    "sqrt": (0.01, -128),
    "rsqrt": (0.05, -128),
    "log": (0.02, 3),
}
"""Scale and zero point for int8 outputs, by the operator."""

ROOTS = "sqrt", "rsqrt", "log"
"""Functions of numbers above 0: their inputs are uint8 with a zero point of 0."""


def applied(name: str, x: relay.Expr) -> relay.Expr:
    own, zero_point = OUTPUTS[name]
    inputs = relay.const(np.float32(0.05)), relay.const(np.int32(0 if name in ROOTS else 3))
    output = relay.const(np.float32(own)), relay.const(np.int32(zero_point + 128 if name in ROOTS else zero_point))
    slope = (0.1,) if name == "leaky_relu" else ()
    return getattr(relay.qnn.op, name)(x, *slope, *inputs, *output)


def by_tvm(function: relay.Function, inputs: dict[str, Any]) -> list[Any]:
    with tvm.transform.PassContext(opt_level=3), np.errstate(all="ignore"):
        library = relay.build(tvm.IRModule.from_expr(function), target="llvm")
    run: Any = tvm.contrib.graph_executor.GraphModule(library["default"](tvm.cpu()))
    for name, value in inputs.items():
        run.set_input(name, value)
    run.run()
    return [run.get_output(place).numpy() for place in range(len(OUTPUTS))]


def test_bit_for_bit_as_tvm() -> None:
    signed, unsigned = (relay.var(name, shape=(256,), dtype=name) for name in ("int8", "uint8"))
    functions = [applied(name, unsigned if name in ROOTS else signed) for name in OUTPUTS]
    function = relay.Function([signed, unsigned], relay.Tuple(functions))
    module = integer_network(from_relay(function))
    found = find(module)
    assert len(found) == len(OUTPUTS)
    assert all(isinstance(one, Match) for one in found)
    inputs = {name: levels(name).astype(name) for name in ("int8", "uint8")}
    for name, ours, right in zip(OUTPUTS, executable(module)(inputs), by_tvm(function, inputs), strict=True):
        first = 1 if name in ROOTS else 0  # nothing is defined for the root or the logarithm of 0
        assert len(np.unique(right)) > 30, name
        np.testing.assert_array_equal(ours[first:], right[first:], name)
