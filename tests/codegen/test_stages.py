"""When TVM's operators have which of their buffers in use."""

from __future__ import annotations

import pytest

from match.codegen.stages import uses
from match.codegen.steps import Uses
from match.relay import tvm

pytestmark = pytest.mark.tvm

_SOURCE = """
@T.prim_func
def padded(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
    wide_data = T.allocate([6], "int8", "global")
    wide = T.Buffer((6,), "int8", data=wide_data)
    for i in range(4):
        wide[i + 1] = x[i]
    sums_data = T.allocate([4], "int32", "global")
    sums = T.Buffer((4,), "int32", data=sums_data)
    for i in range(4):
        part_data = T.allocate([1], "int32", "global")
        part = T.Buffer((1,), "int32", data=part_data)
        for j in range(3):
            part[0] = T.Cast("int32", wide[i + j])
        sums[i] = part[0]
    for i in range(4):
        y[i] = T.Cast("int8", sums[i])
"""


def test_a_buffer_is_in_use_from_the_first_loop_to_the_last_that_touches_it() -> None:
    function = tvm.script.from_source(_SOURCE)
    found = {variable.name.removesuffix("_1"): use for variable, use in uses(function).items()}
    expected = {"x": Uses(0, 0), "wide": Uses(0, 1), "part": Uses(1, 1), "sums": Uses(1, 2), "y": Uses(2, 2)}
    assert {name: found[name] for name in expected} == expected
