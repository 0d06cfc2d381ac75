"""What TVM compiles for the control core computes what Relay means."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match
from match.codegen.control_core import ControlCore
from match.relay import relay, tvm
from tests.layers_of import graph_of

pytestmark = pytest.mark.cc


NAMES = ("x", "y")


def clips(more: int = 0) -> Any:
    """Two single elements, each multiplied and clipped in the same place in memory, one after the other.

    They are multiplied by 3, and then shifted to the left and back by so many bits.
    """

    def scaled(name: str) -> Any:
        wide = relay.cast(relay.var(name, shape=(1, 1), dtype="int16"), "int64")
        factor, half, shift = (relay.const(number, "int64") for number in (3 << more, 1 << more, 1 + more))
        shifted = relay.right_shift(wide * factor + half, shift)
        return relay.cast(relay.clip(shifted, 0, 255), "uint8")

    return tvm.IRModule.from_expr(relay.concatenate([scaled(name) for name in NAMES], axis=1))


def test_clips_of_single_elements_in_one_operator_are_apart() -> None:
    given = {name: np.array([[number]], np.int16) for name, number in zip(NAMES, (20, 100), strict=True)}
    (result,) = match.compile(clips(), "pulp_open", name="clips").run(given).values()
    np.testing.assert_array_equal(result, [[(20 * 3 + 1) >> 1, (100 * 3 + 1) >> 1]])


@pytest.mark.parametrize("more", [0, 40])
def test_variables_of_one_function_that_have_the_same_name(more: int, tmp_path: Path) -> None:
    """TVM gives the sums of both elements one name, as they are needed one after the other."""
    core = ControlCore("pulp_open")
    functions = core.functions([graph_of(relay.transform.InferType()(clips(more)))])
    code = "#include <stdint.h>\n" + core.code({"both": functions[0]}).replace("static int32_t both", "int32_t both")
    (tmp_path / "both.c").write_text(code)
    library = tmp_path / "both.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "both.c")], check=True)
    result = np.zeros(2, np.uint8)
    x, y = (np.array([number], np.int16) for number in (20, 100))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, y, result)]
    assert ctypes.CDLL(str(library)).both(*pointers) == 0
    np.testing.assert_array_equal(result, [(20 * 3 + 1) >> 1, (100 * 3 + 1) >> 1])


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
