"""What a function of two 8-bit tensors becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.passes.functions_of_two import function_of_two
from match.relay import readers, relay, tvm
from tests.passes.running import Compiled

pytestmark = pytest.mark.tvm

A, B, OUTPUT = (
    QuantizedType(np.float32(scale), zero, "uint8") for scale, zero in ((0.01343, 76), (0.03978, 169), (0.04522, 149))
)
"""onnxruntime rounds these on the way, so that no plane has the outputs of their sum."""

CLIP = (0, 255)


def built(outputs: Any, *, exact: bool) -> tuple[Any, Any]:
    """The function of all pairs, as a typed expression, and what it computes."""
    x, y = (relay.var(name, shape=(256, 256), dtype="uint8") for name in "xy")
    slopes = float(A.scale / OUTPUT.scale), float(B.scale / OUTPUT.scale)
    expr = function_of_two(x, y, outputs, ("uint8", "uint8"), slopes, CLIP, "uint8", exact=exact)
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, y], expr)))
    first, second = np.indices((256, 256)).astype(np.uint8)
    return module["main"].body, Compiled(module)({"x": first, "y": second})[0]


def test_an_addition_that_is_no_plane_is_a_sum_of_lookups() -> None:
    outputs = OnnxruntimeArithmetic().add(A, B, OUTPUT, CLIP, 1)
    body, found = built(outputs, exact=True)
    assert readers.read_lookup_sum(body) is not None
    np.testing.assert_array_equal(found, outputs)


def test_or_the_next_plane_where_a_step_is_allowed() -> None:
    outputs = OnnxruntimeArithmetic().add(A, B, OUTPUT, CLIP, 1)
    body, found = built(outputs, exact=False)
    addition = readers.read_addition(body)
    assert addition is not None
    assert addition.real
    assert np.count_nonzero(found != outputs) <= 256
    assert np.abs(found.astype(np.int64) - outputs).max() == 1


@pytest.mark.parametrize("exact", [False, True])
def test_what_is_no_sum_is_a_table_of_pairs(exact: bool) -> None:
    outputs = np.random.default_rng(0).integers(0, 256, (256, 256))
    body, found = built(outputs, exact=exact)
    assert body.op.name == "take"
    np.testing.assert_array_equal(found, outputs)
