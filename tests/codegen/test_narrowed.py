"""Arithmetic of 64 bits on the control core: in 32 where that is enough, the same numbers everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import match
from match.codegen.control_core import ControlCore
from match.relay import relay, tvm
from tests.layers_of import graph_of

pytestmark = pytest.mark.cc

LARGEST = (1 << 31) // 255
"""The largest factor with which no uint8 leaves int32."""


def wide(number: int) -> relay.Expr:
    return relay.const(number, "int64")


def module_of(body: Callable[[relay.Expr, relay.Expr], relay.Expr]) -> Any:
    """A module that casts a uint8 and an int8 to int64 and computes with them."""
    x, y = relay.var("x", shape=(1, 256), dtype="uint8"), relay.var("y", shape=(1, 256), dtype="int8")
    result = body(relay.cast(x, "int64"), relay.cast(y, "int64"))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, y], result)))


def code(module: Any) -> str:
    core = ControlCore("mock")
    return core.code({"narrow": core.functions([graph_of(module)])[0]})


def clipped(x: relay.Expr, y: relay.Expr, factor: int, shift: int) -> relay.Expr:
    """As quantized additions are computed."""
    total = relay.subtract(relay.add(relay.multiply(x, wide(factor)), relay.multiply(y, wide(-3))), wide(7))
    return relay.cast(relay.clip(relay.right_shift(total, wide(shift)), -100, 27), "int8")


def numbers(factor: int, shift: int, x: Any, y: Any) -> Any:
    """The same by NumPy."""
    return ((x.astype(np.int64) * factor - 3 * y.astype(np.int64) - 7) >> shift).clip(-100, 27).astype(np.int8)


@pytest.mark.parametrize(
    ("factor", "shift", "narrow"),
    [
        (LARGEST - 3, 24, True),  # the largest sum is 255 * (LARGEST - 3) + 3 * 128 - 7, below 2**31
        (LARGEST, 24, False),  # the product fits, the sum does not
        (-LARGEST - 1, 24, False),
        (1 << 33, 40, False),
        (3, 31, True),
        (3, 33, False),  # bits that 32 bits do not have
    ],
)
def test_sums(factor: int, shift: int, narrow: bool) -> None:
    def body(x: relay.Expr, y: relay.Expr) -> relay.Expr:
        return clipped(x, y, factor, shift)

    module = module_of(body)
    text = code(module)
    assert ("int64_t" not in text) == narrow
    assert shift < 32 or f">> (int64_t){shift})" in text
    x, y = np.arange(256, dtype=np.uint8)[None], np.arange(-128, 128, dtype=np.int8)[None, ::-1]
    found = match.compile(module, "pulp_open", modules=(), name="sums").run({"x": x, "y": y})
    np.testing.assert_array_equal(next(iter(found.values())), numbers(factor, shift, x, y))


def test_what_fits_after_a_shift_is_compared_in_32_bits() -> None:
    module = module_of(lambda x, y: clipped(x, y, 1 << 33, 40))
    text = code(module)
    assert "(int32_t)((((" in text
    assert "int64_t v_" not in text, "the clip is of int32 numbers"


@pytest.mark.parametrize(("dtype", "addend"), [("int32", 1), ("uint32", 0)])
def test_what_is_loaded_in_32_bits_stays_wide(dtype: str, addend: int) -> None:
    x = relay.var("x", shape=(1, 8), dtype=dtype)
    number = relay.cast(x, "int64")
    body = relay.cast(relay.clip(relay.add(number, wide(1)) if addend else number, 0, 255), "uint8")
    text = code(relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body))))
    assert "int64_t" in text
    assert "(int32_t)input[" not in text
