"""The confidence interval of an accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from match.validation.confidence import wilson

pytestmark = pytest.mark.cc


@pytest.mark.parametrize(("right", "samples"), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 10), (470, 497), (9999, 10000)])
def test_the_ends_are_as_far_from_what_was_seen_as_the_definition_says(right: int, samples: int) -> None:
    """Accuracies p whose distance from the share seen is z deviations of a share of p: the roots of a parabola."""
    z2, share = 1.959963984540054**2, right / samples
    roots = np.roots([1 + z2 / samples, -(2 * share + z2 / samples), share**2])
    assert np.allclose(sorted(roots), wilson(right, samples), atol=1e-7)


def test_a_published_example() -> None:
    """Newcombe, 1998, Table I: 81 of 263, 15 of 148 and 0 of 20."""
    for right, samples, expected in ((81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605)), (0, 20, (0, 0.1611))):
        assert np.allclose(wilson(right, samples), expected, atol=5e-5)
