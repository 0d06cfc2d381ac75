"""Operators on the control core: one C function for each that is not equal to another one."""

from __future__ import annotations

import re

import numpy as np
import pytest

from match.codegen.control_core import ControlCore
from match.codegen.steps import Uses
from match.graph.value import Graph
from match.relay import relay, tvm
from tests.layers_of import graph_of

pytestmark = pytest.mark.tvm


def shifted(by: list[int]) -> Graph:
    """Adds constants, subtracts the largest sum, and multiplies by what is left of the first element."""
    x = relay.var("x", shape=(1, 4), dtype="int32")
    sums = relay.add(x, relay.const(np.array([by], np.int32)))
    rest = relay.subtract(sums, relay.max(sums, axis=1, keepdims=True))
    body = relay.multiply(rest, relay.sum(rest, axis=1, keepdims=True))
    return graph_of(relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body))))


def test_an_operator_of_several_loops_is_one_function_that_allocates_nothing() -> None:
    core = ControlCore("mock")
    (function,) = core.functions([shifted([1, 2, 3, 4])])
    code = core.code({"shifted_0": function})
    assert code.count("static int32_t ") == 1
    assert {scratch.bytes for scratch in function.scratch} == {16}, "single elements are variables of the function"
    assert len(re.findall(r"int32_t \w+\[1\];", code)) >= 1
    assert function.uses[0] == Uses(0, 0), "the input is read in the first loop alone"
    assert sum("scratch" in line or "malloc" in line or "Alloc" in line for line in code.splitlines()) == 0
    assert [constant.tolist() for constant in function.constants] == [[[1, 2, 3, 4]]]


def test_functions_that_differ_in_constants_alone_are_printed_once() -> None:
    core = ControlCore("mock")
    one, other = core.functions([shifted([1, 2, 3, 4]), shifted([5, 6, 7, 8])])
    (again,) = core.functions([shifted([1, 2, 3, 4])])
    assert again is one
    assert one.lowered is other.lowered
    assert other.constants[0].tolist() == [[5, 6, 7, 8]]
