"""Constants of the control core lie one after the other, each where the widest element may be read."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from match.codegen.calls import stacked
from match.codegen.network import Constant

pytestmark = pytest.mark.tvm


def test_they_are_aligned() -> None:
    """They have odd sizes, so that the next one would begin anywhere."""
    constants = [Constant(f"c{count}", 0, np.zeros(count, np.int8)) for count in (3, 13, 5)]
    placed = list(stacked(constants))
    assert [constant.data.nbytes for constant in placed] == [13, 5, 3]
    assert all(constant.offset % 8 == 0 for constant in placed)
    assert all(one.offset + one.data.nbytes <= other.offset for one, other in itertools.pairwise(placed))
