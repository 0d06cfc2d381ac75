"""The harness of the cluster kernels: AddressSanitizer watches the borders of its blocks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.harness import Harness, HarnessError
from tests.kernels.pulp_tiles import CORES, by_columns, conv2d_scratch, random_input, random_weights
from tests.kernels.reference import Geometry, conv2d, random_requantization

pytestmark = pytest.mark.cc


@pytest.mark.parametrize("short", ["input", "weights", "parameters", "output", "scratch"])
def test_a_byte_too_few_is_caught(harness: Harness, short: str) -> None:
    """Tests of kernels see every access outside a block: each block one byte shorter stops the kernel."""
    geometry = Geometry(3, 5, (8, 64), (3, 3), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    rng = np.random.default_rng(1)
    x = random_input(rng, geometry)
    weights = random_weights(rng, (5, 3, 3, 3))
    requantization = random_requantization(rng, conv2d(x, weights, geometry, 0), step=False)
    arrays = {
        "input": x.reshape(-1),
        "weights": by_columns(weights).reshape(-1),
        "parameters": requantization.packed(),
        "output": np.zeros(8 * 64 * 5, np.uint8),
    }
    scratch = conv2d_scratch(geometry, CORES)
    fields = geometry.fields(input_row_stride=198, input_pixel_stride=3, output_row_stride=320, output_pixel_stride=5)
    harness.kernel("match_pulp_conv2d", fields, **arrays, scratch=scratch)
    if short == "scratch":
        scratch -= 8  # the last of 54 windows ends at byte 504 of 512, and a byte behind it is read
    else:
        arrays[short] = arrays[short][:-1]
    with pytest.raises(HarnessError, match="AddressSanitizer: use-after-poison"):
        harness.kernel("match_pulp_conv2d", fields, **arrays, scratch=scratch)
