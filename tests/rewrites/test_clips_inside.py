"""A clip in the operator in front of it: texts before and after, and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from match.graph.evaluate import evaluate
from match.graph.text import parse, text
from match.ir.requantization import UNREACHED, Requantization
from match.rewrites.clips_inside import with_clips_inside

pytestmark = pytest.mark.unit

INPUTS = "v0: int8[1, 2, 2, 3] = input('x')\nv1: int8[1, 2, 2, 3] = input('y')\n"

CLIPPED = {
    "sum": "add(v0, v1, multipliers=(3, 5), bias=8, shift=4, clip={clip}, dtype='int8')",
    "product": "multiply(v0, v1, requantization=Requantization(multiplier=int64([9]), bias=int64([64]), "
    "shift=int64([10]), clip={clip}), dtype='int8', zero_points=(3, -2))",
    "line": "lookup_line(v0, v1, lines=int64(70000, (2, 256)), clip={clip}, dtype='int8')",
}


@pytest.mark.parametrize("name", CLIPPED)
def test_a_clip_is_a_part_of_what_clips(name: str) -> None:
    before = parse(
        f"{INPUTS}v2: int8[1, 2, 2, 3] = {CLIPPED[name].format(clip=(-100, 90))}\n"
        "v3: int8[1, 2, 2, 3] = clip(v2, limits=(-20, 127), dtype='int8').of('relu')\nreturn v3\n"
    )
    after = with_clips_inside(before)
    wanted = f"{INPUTS}v2: int8[1, 2, 2, 3] = {CLIPPED[name].format(clip=(-20, 90))}.of('relu')\nreturn v2\n"
    assert text(after) == wanted
    values = np.random.default_rng(0).integers(-128, 128, (2, 1, 2, 2, 3)).astype(np.int8)
    assert np.array_equal(evaluate(before, [*values]), evaluate(after, [*values]))


def test_what_others_read_is_not_clipped() -> None:
    before = (
        f"{INPUTS}v2: int8[1, 2, 2, 3] = {CLIPPED['sum'].format(clip=(-100, 90))}\n"
        "v3: int8[1, 2, 2, 3] = clip(v2, limits=(-20, 127), dtype='int8')\nreturn v2, v3\n"
    )
    assert text(with_clips_inside(parse(before))) == before


def test_distances_begin_at_the_lower_end_of_their_clip() -> None:
    before = (
        f"{INPUTS}v2: int8[1, 2, 2, 3] = absolute_difference(v0, v1, tables=int64(5000, (2, 256)), clip=(-128, 127), "
        "dtype='int8')\nv3: int8[1, 2, 2, 3] = clip(v2, limits=(-20, 127), dtype='int8')\nreturn v3\n"
    )
    assert text(with_clips_inside(parse(before))) == before


@pytest.mark.parametrize(("low", "stays"), [(-5, True), (0, False), (3, False), (-1, False), (-2, True)])
def test_what_is_taken_off_small_accumulators_goes_where_nothing_sees_it(low: int, stays: bool) -> None:
    one = Requantization(
        np.array([1 << 9, 1 << 9]),
        np.array([1 << 9, 1 << 9]),
        np.array([10, 10]),
        (-128, 127),
        np.array([-1, UNREACHED]),
        np.array([1 << 5, 1 << 5]),
    )
    clipped = one.clipped(low, 100)
    assert (clipped.negative_below is not None) == stays
    accumulators = np.arange(-600, 600)[:, None] + np.zeros(2, np.int64)
    assert np.array_equal(clipped(accumulators), one(accumulators).clip(low, 100))
