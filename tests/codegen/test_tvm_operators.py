"""What TVM compiles for the control core computes what Relay means."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import match
from match.relay import relay, tvm

pytestmark = pytest.mark.cc


NAMES = ("x", "y")


def clips() -> Any:
    """Two single elements, each multiplied and clipped in the same place in memory, one after the other."""

    def scaled(name: str) -> Any:
        wide = relay.cast(relay.var(name, shape=(1, 1), dtype="int16"), "int64")
        shifted = relay.right_shift(wide * relay.const(3, "int64") + relay.const(1, "int64"), relay.const(1, "int64"))
        return relay.cast(relay.clip(shifted, 0, 255), "uint8")

    return tvm.IRModule.from_expr(relay.concatenate([scaled(name) for name in NAMES], axis=1))


def test_clips_of_single_elements_in_one_operator_are_apart() -> None:
    given = {name: np.array([[number]], np.int16) for name, number in zip(NAMES, (20, 100), strict=True)}
    (result,) = match.compile(clips(), "pulp_open", name="clips").run(given).values()
    np.testing.assert_array_equal(result, [[(20 * 3 + 1) >> 1, (100 * 3 + 1) >> 1]])


def test_built_by_tvm_no_variable_keeps_what_was_in_memory() -> None:
    library = match.build(clips(), "pulp_open")
    sources = [library.lib.get_source(), *(part.get_source() for part in library.lib.imported_modules)]
    assert any("255" in source for source in sources)
    assert not any(re.search(r"int64_t \w+ = \(\(int64_t\*\)\w+\)\[0\];", source) for source in sources)


def test_a_tuple_that_two_operators_read() -> None:
    """Such as two outputs of a network that are the same concatenation."""
    x, y = (relay.var(name, shape=(1, 3, 2), dtype="int8") for name in NAMES)
    one = relay.concatenate([x, y], 1)
    other = relay.Call(one.op, one.args, one.attrs)
    module = tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([one, other])))
    arrays = [np.arange(first, first + 6, dtype=np.int8).reshape(1, 3, 2) for first in (1, 50)]
    given: dict[str, Any] = dict(zip(NAMES, arrays, strict=True))
    for result in match.compile(module, "diana", modules=[], name="joined").run(given).values():
        np.testing.assert_array_equal(result, np.concatenate(arrays, 1))
