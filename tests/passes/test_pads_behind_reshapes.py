"""Padded sequences: what is moved behind a reshape, and what a convolution then takes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.passes.pads_behind_reshapes import PadsBehindReshapes
from match.relay import relay, tvm
from match.relay.rewrite import is_call
from tests.partitioning.pattern.test_pattern import run, typed

pytestmark = pytest.mark.tvm


def padded(shape: tuple[int, ...], widths: list[tuple[int, int]], after: tuple[int, ...]) -> tuple[Any, Any]:
    x = relay.var("x", shape=shape, dtype="int8")
    return x, relay.reshape(relay.nn.pad(x, widths, relay.const(7, "int8")), after)


@pytest.mark.parametrize(
    ("shape", "widths", "after"),
    [
        ((1, 5, 3), [(0, 0), (4, 0), (0, 0)], (1, 1, 9, 3)),
        ((1, 5, 3), [(0, 0), (1, 2), (0, 1)], (1, 8, 1, 4)),
        ((2, 1), [(1, 0), (0, 0)], (1, 3, 1, 1)),
    ],
)
def test_a_pad_goes_behind_a_reshape(
    shape: tuple[int, ...], widths: list[tuple[int, int]], after: tuple[int, ...]
) -> None:
    x, body = padded(shape, widths, after)
    moved = PadsBehindReshapes()(typed([x], body))["main"]
    assert is_call(moved.body, "nn.pad")
    values = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    expected = np.pad(values, widths, constant_values=7).reshape(after)
    assert np.array_equal(run([*moved.params], moved.body, values), expected)


@pytest.mark.parametrize("after", [(1, 3, 3, 3), (1, 27), (3, 9)])
def test_a_reshape_that_does_more_stays(after: tuple[int, ...]) -> None:
    x, body = padded((1, 5, 3), [(0, 0), (4, 0), (0, 0)], after)
    module = typed([x], body)
    assert tvm.ir.structural_equal(PadsBehindReshapes()(module), module)
