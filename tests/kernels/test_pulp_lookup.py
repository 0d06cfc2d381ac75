"""Tables of 8-bit integers on the cluster, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.harness import Harness, HarnessError, embed
from tests.kernels.pulp_tiles import EXAMPLES, add_on, empty_output, expect, lookup_on, pointwise, random_input, seeds
from tests.kernels.reference import Geometry, geometries, margins, output_strides_of, strides_of

pytestmark = pytest.mark.cc


@EXAMPLES
@given(geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True), margins, margins, seeds)
def test_lookup(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """Also without gaps between pixels, on one side or both."""
    rng = np.random.default_rng(seed)
    source = embed(rng.integers(0, 256, (*geometry.output, geometry.channels_out), np.uint8), before)
    target = empty_output(geometry, behind)
    table = rng.integers(0, 256, 256, np.uint8)
    output = lookup_on(harness, geometry, source, target, table)
    expect(output, target, table[source.tile])


@EXAMPLES
@given(pointwise, margins, margins, seeds)
def test_channel_lookup(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """Each channel through a table of its own."""
    rng = np.random.default_rng(seed)
    source = embed(rng.integers(0, 256, (*geometry.output, geometry.channels_out), np.uint8), before)
    target = empty_output(geometry, behind)
    tables = rng.integers(0, 256, (geometry.channels_out, 256), np.uint8)
    output = harness.kernel(
        "match_pulp_channel_lookup",
        geometry.fields(**strides_of(source), **output_strides_of(target), clip_low=5, clip_high=7),
        input=source.block,
        parameters=tables.reshape(-1),
        output=target.block,
    )
    expect(output, target, tables[np.arange(geometry.channels_out), source.tile])


@pytest.mark.parametrize("gaps", [(0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 2)])
def test_elements_are_shared_out(harness_for: Callable[[int], Harness], gaps: tuple[int, int, int, int]) -> None:
    """Fewer pixels than cores, and numbers that no number of cores divides."""
    rng = np.random.default_rng(9)
    table = rng.integers(0, 256, 256, np.uint8)
    for height, width, channels in ((1, 1, 1), (1, 1, 21), (3, 1, 5), (5, 7, 3)):
        geometry = Geometry(channels, channels, (height, width), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
        source, target = embed(random_input(rng, geometry), gaps), empty_output(geometry, gaps)
        for cores in (1, 2, 4, 8):
            output = lookup_on(harness_for(cores), geometry, source, target, table)
            expect(output, target, table[source.tile])
            add_on(harness_for(cores), geometry, (gaps, (0, 0, 0, 0), gaps), (0, 255), "int32", 3)


@pytest.mark.parametrize("other", [None, 0, 127, 128, 255])
@pytest.mark.parametrize("turned", [0x80, 0])
def test_table_that_turns_signs_or_nothing(harness: Harness, other: int | None, turned: int) -> None:
    """Enough elements for each core that the table is compared; and tables that differ from it in one byte."""
    rng = np.random.default_rng(4)
    geometry = Geometry(9, 9, (16, 17), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    table = np.arange(256, dtype=np.uint8) ^ np.uint8(turned)
    if other is not None:
        table[other] ^= 1
    for gaps in ((0, 0, 0, 0), (0, 0, 0, 2)):
        source, target = embed(random_input(rng, geometry), gaps), empty_output(geometry, gaps)
        expect(lookup_on(harness, geometry, source, target, table), target, table[source.tile])


def test_table_of_255_bytes_is_too_short(harness: Harness) -> None:
    geometry = Geometry(3, 3, (2, 2), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    source = embed(np.full((2, 2, 3), 255, np.uint8), (0, 0, 0, 0))
    target = empty_output(geometry, (0, 0, 0, 0))
    lookup_on(harness, geometry, source, target, np.arange(256, dtype=np.uint8))
    with pytest.raises(HarnessError, match="AddressSanitizer: use-after-poison"):
        lookup_on(harness, geometry, source, target, np.arange(255, dtype=np.uint8))
