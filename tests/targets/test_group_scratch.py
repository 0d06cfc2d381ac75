"""Where the tensors between the operators of a group lie."""

from __future__ import annotations

import random

import pytest

from match.target.group import scratch_tensors
from tests.seeds import seeded

pytestmark = pytest.mark.unit


@seeded(100, swept=900)
def test_tensors_that_live_together_lie_apart(seed: int) -> None:
    """And scratch ends with one of them."""
    rng = random.Random(seed)
    count = rng.randint(1, 12)
    sizes = [rng.randint(1, 40) for _ in range(count)]
    last = [rng.randint(number + 1, count) for number in range(count)]
    offsets, total = scratch_tensors(sizes, last)
    for one in range(count):
        assert offsets[one] % 4 == 0
        for other in range(one):
            together = last[other] >= one
            apart = offsets[other] + sizes[other] <= offsets[one] or offsets[one] + sizes[one] <= offsets[other]
            assert apart or not together
    end = max(offset + size for offset, size in zip(offsets, sizes, strict=True))
    assert end <= total < end + 4
