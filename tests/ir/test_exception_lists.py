"""The lists of exceptions that kernels read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from match.ir.exception_lists import exception_lists, visible, with_lists_of
from match.ir.requantization import UNREACHED, Requantization
from match.target.tile_constants import INT64, INT64_EXCEPT

pytestmark = pytest.mark.unit

ONES = np.ones(5, np.int64)
LINE = Requantization(ONES, 0 * ONES, 4 * ONES, (0, 255))


def test_channels_with_the_same_exceptions_share_a_list() -> None:
    rows = [[7, UNREACHED, 9], [UNREACHED] * 3, [9, 7, UNREACHED], [UNREACHED, UNREACHED, -2], [UNREACHED] * 3]
    lists = exception_lists(replace(LINE, exceptions=np.array(rows)))
    words = lists.words.tolist()
    assert words[0] == 0
    found = [set(words[begin + 1 : begin + 1 + words[begin]]) for begin in lists.begins.tolist()]
    assert found == [{7, 9}, set(), {7, 9}, {-2}, set()]
    assert lists.count == 2 + 2 + 1
    assert len(words) == 1 + 3 + 2


def test_an_exception_that_is_given_twice_is_listed_once() -> None:
    lists = exception_lists(replace(LINE, exceptions=np.tile(np.array([9, 7, 9]), (5, 1))))
    assert lists.words.tolist() == [0, 2, 7, 9]


def test_a_line_without_exceptions_has_one_word() -> None:
    lists = exception_lists(LINE)
    assert (lists.words.tolist(), lists.begins.tolist(), lists.count) == ([0], [0] * 5, 0)


def test_forms_of_layers_with_about_as_many_exceptions_are_equal() -> None:
    """Two words for each exception, all different ones, and the first: 41, 69 and 79."""
    wide = LINE.take(np.zeros(40, np.intp))
    forms = [
        with_lists_of(
            INT64_EXCEPT,
            replace(wide, exceptions=np.array([[7 + n] for n in range(listed)] + [[UNREACHED]] * (40 - listed))),
        )
        for listed in (20, 34, 39)
    ]
    assert [(form.exceptions, form.listed) for form in forms] == [(48, 20), (80, 40), (80, 40)]
    assert with_lists_of(INT64, LINE) is INT64


def test_exceptions_that_change_nothing_are_invisible() -> None:
    """At 16 the output becomes 1 and stays 0, at 5 it is 0 anyway, at 5000 the clip hides it; two reach one less."""
    line = replace(LINE, exceptions=np.tile(np.array([16, 5, 5000, 40]), (5, 1)))
    low, high = 0 * ONES, 10_000 * ONES
    high[1], low[2] = 30, 20
    seen = visible(line, low, high)
    assert seen.exceptions is not None
    left = [row[row != UNREACHED].tolist() for row in seen.exceptions]
    assert left == [[16, 40], [16], [40], [16, 40], [16, 40]]
    assert visible(replace(LINE, exceptions=np.full((5, 1), 5)), low, high).exceptions is None
    assert visible(LINE, low, high) is LINE
