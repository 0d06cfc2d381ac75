"""Functions of one 8-bit tensor as one table: outputs before and after, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from match.ir.requantization import Requantization
from match.relay import integer_form, relay, tvm
from match.relay.graph import post_order
from match.relay.objects import main_function
from match.relay.readers import read_lookup
from match.relay.rewrite import operator_name
from match.rewrites.tables import with_tables
from tests.passes.running import Compiled
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm

SHAPE = (1, 16, 16, 3)


def table(x: relay.Expr, seed: int, x_dtype: str = "int8", dtype: str = "int8") -> relay.Expr:
    limits = np.iinfo(dtype)
    outputs = np.random.default_rng(seed).integers(limits.min, limits.max + 1, 256)
    return integer_form.lookup(x, outputs, x_dtype, dtype)


def product(a: relay.Expr, b: relay.Expr) -> relay.Expr:
    parameters = Requantization(np.array([77]), np.array([1 << 13]), np.array([14]), (-128, 127))
    return integer_form.multiply(a, b, (-3, 9), parameters, "int8")


def chosen(x: relay.Expr) -> relay.Expr:
    """One of two functions, by a comparison of numbers of 32 bits."""
    wide = relay.cast(x, "int32")
    condition = relay.logical_and(
        relay.greater(relay.left_shift(relay.abs(wide), relay.const(3)), relay.const(50)),
        relay.logical_not(relay.equal(relay.bitwise_and(wide, relay.const(1)), relay.const(0))),
    )
    return relay.where(condition, relay.negative(x), table(x, 4))


def wrapped(x: relay.Expr) -> relay.Expr:
    """8 bits that overflow."""
    return relay.maximum(relay.add(relay.multiply(x, x), relay.const(100, "int8")), relay.const(-50, "int8"))


FUNCTIONS: dict[str, Callable[[relay.Expr], relay.Expr]] = {
    "tables in a row": lambda x: table(table(x, 1, dtype="uint8"), 2, "uint8"),
    "a product with a table": lambda x: product(x, table(x, 3)),
    "a choice": chosen,
    "an overflow": wrapped,
    "a truth value as a number": lambda x: relay.cast(relay.less(x, relay.const(7, "int8")), "int8"),
    "a clip": lambda x: relay.clip(x, -5, 40),
    "a sum": lambda x: integer_form.add(x, table(x, 7), (900, -400), 5 << 10, 10, (-100, 90), "int8"),
}


def outputs_of(module: tvm.IRModule, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).permutation(np.resize(np.arange(-128, 128), SHAPE).reshape(-1))
    return Compiled(module)({"x": x.reshape(SHAPE).astype(np.int8)})[0]


def tabulated(module: tvm.IRModule) -> tvm.IRModule:
    return rewritten(module, with_tables)


def names(module: tvm.IRModule) -> list[str]:
    return [operator_name(expr) for expr in post_order(module["main"]) if isinstance(expr, relay.Call)]


def module_of(body: relay.Expr, *parameters: relay.Expr) -> tvm.IRModule:
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(list(parameters), body)))


@pytest.mark.parametrize("real", [False, True])
def test_a_product_that_the_reference_computes_in_floating_point_stays_marked(*, real: bool) -> None:
    x = relay.var("x", shape=SHAPE, dtype="int8")
    parameters = Requantization(np.array([77]), np.array([1 << 13]), np.array([14]), (-128, 127))
    module = module_of(integer_form.multiply(x, table(x, 3), (-3, 9), parameters, "int8", real=real), x)
    lookup = read_lookup(main_function(tabulated(module)).body)
    assert lookup is not None
    assert lookup.exact != real


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_table(name: str) -> None:
    """For all values, in a shuffled order."""
    x = relay.var("x", shape=SHAPE, dtype="int8")
    module = module_of(FUNCTIONS[name](x), x)
    fused = tabulated(module)
    assert names(fused) == ["cast", "add", "take"]
    assert np.array_equal(outputs_of(fused), outputs_of(module))


def test_nothing_is_left_of_the_identity() -> None:
    x = relay.var("x", shape=SHAPE, dtype="int8")
    turned = relay.negative(relay.negative(relay.bitwise_and(x, relay.const(-1, "int8"))))
    assert names(tabulated(module_of(relay.reverse(turned, 1), x))) == ["reverse"]


def test_a_table_that_others_read_too_is_kept() -> None:
    """Each reader of a chain is a table of its beginning."""
    x = relay.var("x", shape=SHAPE, dtype="int8")
    middle = table(x, 8)
    module = module_of(relay.concatenate([middle, relay.reverse(table(middle, 9), 1)], 3), x)
    fused = tabulated(module)
    assert names(fused).count("take") == 2
    assert np.array_equal(outputs_of(fused), outputs_of(module))


def test_what_is_no_function_of_one_element_stays() -> None:
    """Two tensors, two shapes, a number for each channel, a table beyond whose end an index may be, numbers."""
    x, y = (relay.var(name, shape=SHAPE, dtype="int8") for name in "xy")
    short = relay.take(relay.const(np.arange(255, dtype=np.int8)), relay.add(relay.cast(x, "int32"), relay.const(128)))
    real = relay.cast(relay.multiply(relay.cast(x, "float32"), relay.const(0.5)), "int8")
    small = relay.var("small", shape=(3,), dtype="int8")
    bodies = {
        "two": (product(x, y), x, y),
        "shapes": (relay.maximum(small, relay.const(np.zeros(SHAPE, np.int8))), small),
        "channels": (relay.maximum(x, relay.const(np.arange(3, dtype=np.int8))), x),
        "short": (short, x),
        "real": (real, x),
    }
    for what, (body, *parameters) in bodies.items():
        module = module_of(body, *parameters)
        assert names(tabulated(module)) == names(module), what


def test_other_operators_see_through_nothing() -> None:
    """A table behind a move of values is a table of what was moved."""
    x = relay.var("x", shape=SHAPE, dtype="int8")
    module = module_of(table(relay.reverse(table(x, 10), 2), 11), x)
    fused = tabulated(module)
    assert names(fused).count("take") == 2
    assert np.array_equal(outputs_of(fused), outputs_of(module))
