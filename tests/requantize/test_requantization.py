"""What a `Requantization` says of itself."""

from __future__ import annotations

import numpy as np
import pytest

from match.ir.requantization import UNREACHED, Requantization

pytestmark = pytest.mark.unit


def test_moved_gives_the_same_outputs_for_larger_accumulators() -> None:
    line = Requantization(
        multiplier=np.array([3, -5]),
        bias=np.array([100, 7]),
        shift=np.array([2, 3]),
        clip=(-128, 127),
        negative_below=np.array([4, UNREACHED]),
        negative_step=np.array([4, 4]),
        exceptions=np.array([[10, UNREACHED], [UNREACHED, -3]]),
    )
    growth = np.array([17, -9])
    accumulators = np.stack([np.arange(-60, 60), np.arange(60, -60, -1)], axis=1)
    moved = line.moved(growth)
    assert np.array_equal(moved(accumulators + growth), line(accumulators))
    assert moved.negative_below is not None
    assert moved.exceptions is not None
    assert moved.negative_below.tolist() == [21, UNREACHED]
    assert moved.exceptions.tolist() == [[27, UNREACHED], [UNREACHED, -12]]
