"""What TVM compiles for the control core computes what Relay means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import match
from match.relay import relay, tvm

pytestmark = pytest.mark.cc


def test_clips_of_single_elements_in_one_operator_are_apart() -> None:
    """Each part of a concatenation is clipped in the same place in memory, one after the other."""
    names = ("x", "y")

    def scaled(name: str) -> Any:
        wide = relay.cast(relay.var(name, shape=(1, 1), dtype="int16"), "int64")
        shifted = relay.right_shift(wide * relay.const(3, "int64") + relay.const(1, "int64"), relay.const(1, "int64"))
        return relay.cast(relay.clip(shifted, 0, 255), "uint8")

    module = tvm.IRModule.from_expr(relay.concatenate([scaled(name) for name in names], axis=1))
    given = {name: np.array([[number]], np.int16) for name, number in zip(names, (20, 100), strict=True)}
    (result,) = match.compile(module, "pulp_open", name="clips").run(given).values()
    np.testing.assert_array_equal(result, [[(20 * 3 + 1) >> 1, (100 * 3 + 1) >> 1]])
