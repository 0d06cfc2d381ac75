"""Second and third powers: NumPy's products of float32, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from match.passes.powers import MultiplyPowers
from match.relay import relay, tvm
from tests.passes.running import executable

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("exponent", [2, 3])
def test_small_powers_are_products(exponent: int) -> None:
    x = relay.var("x", shape=(5, 7), dtype="float32")
    network = tvm.IRModule.from_expr(relay.Function([x], relay.power(x, relay.const(np.float32(exponent)))))
    module = MultiplyPowers()(relay.transform.InferType()(network))
    assert "power" not in module.astext(show_meta_data=False)
    values = np.random.default_rng(0).normal(0, 3, (5, 7)).astype(np.float32)
    expected = values * values if exponent == 2 else values * values * values
    assert np.array_equal(executable(module)({"x": values})[0], expected)


def test_other_powers_stay() -> None:
    x, y = (relay.var(name, shape=(5,), dtype="float32") for name in "xy")
    for exponent in (relay.const(np.float32(2.5)), relay.const(np.float32(-2)), y):
        network = tvm.IRModule.from_expr(relay.Function([x, y], relay.power(x, exponent)))
        module = MultiplyPowers()(relay.transform.InferType()(network))
        assert "power" in module.astext(show_meta_data=False)
