"""The larger and the smaller of two tensors as additions, against NumPy, for all pairs of 8-bit values."""

from __future__ import annotations

import numpy as np
import pytest

from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.rewrite import operator_name
from match.rewrites.extrema import with_added_extrema
from match.rewrites.unsigned import with_unsigned_activations
from tests.passes.running import executable
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm


def module_of(name: str, shape: tuple[int, ...], dtype: str) -> tvm.IRModule:
    a, b = (relay.var(side, shape=shape, dtype=dtype) for side in "ab")
    module = tvm.IRModule.from_expr(relay.Function([a, b], getattr(relay, name)(a, b)))
    return rewritten(relay.transform.InferType()(module), with_added_extrema)


def names(module: tvm.IRModule) -> set[str]:
    return {operator_name(expr) for expr in post_order(module["main"]) if isinstance(expr, relay.Call)}


@pytest.mark.parametrize("unsigned", [False, True], ids=["kept", "unsigned"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_all_pairs(name: str, dtype: str, unsigned: bool) -> None:
    """Also where int8 is stored 128 higher."""
    limits = np.iinfo(dtype)
    levels = np.arange(limits.min, limits.max + 1).astype(dtype)
    a, b = (side.reshape(1, 256, 256, 1) for side in np.meshgrid(levels, levels))
    module = module_of(name, a.shape, dtype)
    if unsigned:
        module = rewritten(module, with_unsigned_activations)
    assert not names(module) & {"maximum", "minimum"}
    assert np.array_equal(executable(module)({"a": a, "b": b})[0], getattr(np, name)(a, b))


def test_what_no_module_adds_stays() -> None:
    """Other types, and tensors of two shapes."""
    assert names(module_of("maximum", (1, 4), "int32")) == {"maximum"}
    a, b = relay.var("a", shape=(1, 3, 4), dtype="int8"), relay.var("b", shape=(1, 1, 4), dtype="int8")
    module = tvm.IRModule.from_expr(relay.Function([a, b], relay.maximum(a, b)))
    assert names(rewritten(relay.transform.InferType()(module), with_added_extrema)) == {"maximum"}
