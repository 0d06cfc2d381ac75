"""Concatenations of many tensors: the same values from concatenations of two each, as few copies of each as can be."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from match.relay import relay, tvm
from match.relay.objects import operands
from match.relay.rewrite import is_call
from match.rewrites.concatenations import in_pairs
from match.target.registry import get_target
from tests.passes.running import executable
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm


def depth(expr: relay.Expr) -> int:
    """Concatenations between an input and `expr`, at most."""
    return 1 + max(depth(field) for field in operands(expr.args[0])) if is_call(expr, "concatenate") else 0


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 8])
def test_pairs_join_what_one_concatenation_joins(count: int) -> None:
    inputs = [relay.var(f"x{index}", shape=(2, index + 1, 3), dtype="int8") for index in range(count)]
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.concatenate(inputs, 1)))
    values = {
        f"x{index}": np.random.default_rng(index).integers(-128, 128, (2, index + 1, 3)).astype(np.int8)
        for index in range(count)
    }
    paired = rewritten(module, lambda graph: in_pairs(graph, get_target("gap9")))
    assert depth(paired["main"].body) == math.ceil(math.log2(count))
    assert np.array_equal(executable(paired)(values)[0], np.concatenate(list(values.values()), 1))


@pytest.mark.parametrize(("dtype", "target"), [("int32", "gap9"), ("int8", "diana")])
def test_what_no_module_joins_stays(dtype: str, target: str) -> None:
    x = relay.var("x", shape=(2, 3), dtype=dtype)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.concatenate([x, x, x], 1)))
    chip = copy.copy(get_target(target))
    chip.modules = tuple(unit for unit in chip.modules if unit.memories)
    assert tvm.ir.structural_equal(rewritten(module, lambda graph: in_pairs(graph, chip)), module)
