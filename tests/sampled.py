"""Cases that each run of the suite tries, and cases that only the sweep tries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest


def sampled(cases: Iterable[Any], each_run: Collection[Any]) -> list[Any]:
    """The cases for `parametrize`: those in `each_run` as they are, the others marked for the sweep.

    A case is a tuple of arguments, or the only argument.
    """
    return [_case(case, swept=case not in each_run) for case in cases]


def in_turn(rows: Sequence[tuple[Any, ...]], columns: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Every row of arguments with every column: each run tries each row once, with the columns in turn."""
    return [
        _case((*row, *column), swept=number % len(columns) != place)
        for number, row in enumerate(rows)
        for place, column in enumerate(columns)
    ]


def _case(case: Any, *, swept: bool) -> Any:
    arguments = case if isinstance(case, tuple) else (case,)
    return pytest.param(*arguments, marks=pytest.mark.sweep if swept else ())
