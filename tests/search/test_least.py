"""What any mapping takes at least, against all tiles that there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match.ir.layer import Axis, Dim
from match.search.exact.least import anywhere

pytestmark = pytest.mark.unit

AXES = st.builds(
    Axis,
    dim=st.just(Dim.OX),
    limit=st.integers(1, 30),
    stride=st.integers(0, 3),
    window=st.integers(1, 7),
    before=st.integers(0, 6),
)


@given(axis=AXES, extent=st.integers(1, 14))
def test_tiles_anywhere_are_all_kinds_of_tiles(axis: Axis, extent: int) -> None:
    """Sizes, and what tiles of them touch: windows apart, overlapping, in padding alone, and rows left unread."""
    every = {(size, axis.span(start, size)[1]) for size in range(1, extent + 1) for start in range(extent - size + 1)}
    assert {(int(size), int(read)) for size, read in anywhere(axis, extent).T} == every


def test_a_row_of_a_whole_map_is_few_kinds_of_tiles() -> None:
    """Element functions see a map as one row of all of its pixels: 65,536 of them have two thousand million tiles."""
    extent = 1 << 16
    sizes, read = anywhere(Axis(Dim.OX, extent), extent)
    assert np.array_equal(sizes, np.arange(1, extent + 1))
    assert np.array_equal(read, sizes)
