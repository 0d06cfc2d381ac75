"""Random cases by number: each is a test of its own, which can be run again by its name."""

from __future__ import annotations

import pytest


def seeded(each_run: int, swept: int = 0) -> pytest.MarkDecorator:
    """Gives a test its `seed`: as many as `each_run` tries, and as many more for the sweep."""
    more = (pytest.param(seed, marks=pytest.mark.sweep) for seed in range(each_run, each_run + swept))
    return pytest.mark.parametrize("seed", [*range(each_run), *more])
