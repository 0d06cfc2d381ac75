"""Kernels of the cluster that move, join or repeat elements, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.harness import Harness, embed
from tests.kernels.pulp_tiles import EXAMPLES, empty_output, expect, pointwise, seeds
from tests.kernels.reference import (
    Geometry,
    geometries,
    margins,
    output_strides_of,
    packed_positions,
    random_columns,
    random_positions,
    resized,
    strides_of,
)

pytestmark = pytest.mark.cc


@EXAMPLES
@given(geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True), margins, margins, seeds)
def test_resize(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """From maps of another size, larger or smaller; halves go away from any number, which others are near to."""
    rng = np.random.default_rng(seed)
    size = [int(extent) for extent in rng.integers(1, 9, 2)]
    zero = int(rng.integers(-128, 256))  # negative where all values are above the zero point, and are stored from 0 on
    near = zero + rng.integers(-2, 3, (*size, geometry.channels_out))
    far = rng.integers(0, 256, near.shape)
    source = embed(np.where(rng.random(near.shape) < 0.7, near.clip(0, 255), far).astype(np.uint8), before)
    target = empty_output(geometry, behind)
    rows, columns = (random_positions(rng, *extents) for extents in zip(size, geometry.output, strict=True))
    output = harness.kernel(
        "match_pulp_resize",
        geometry.fields(**strides_of(source), **output_strides_of(target), pad_value=zero),
        input=source.block,
        parameters=packed_positions(rows),
        weights=packed_positions(columns),
        output=target.block,
    )
    expect(output, target, resized(source.tile, rows, columns, zero))


@EXAMPLES
@given(geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True), margins, margins, seeds)
def test_gather(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """Columns in any order, in pieces that follow one another, and padding, of more or fewer columns."""
    rng = np.random.default_rng(seed)
    rows, columns = geometry.output
    size, zero = int(rng.integers(1, 9)), int(rng.integers(0, 256))
    values = rng.integers(0, 256, (rows, size, geometry.channels_out), np.uint8)
    source, target = embed(values, before), empty_output(geometry, behind)
    chosen = random_columns(rng, size, columns)
    output = harness.kernel(
        "match_pulp_gather",
        geometry.fields(**strides_of(source), **output_strides_of(target), pad_value=zero),
        input=source.block,
        parameters=chosen.view(np.uint8),
        output=target.block,
    )
    expect(output, target, np.where(chosen[:, None] < 0, np.uint8(zero), values[:, chosen]))


@EXAMPLES
@given(pointwise, margins, margins, margins, seeds)
def test_concatenate(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    beside: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """Each input through its own table."""
    rng = np.random.default_rng(seed)
    second_channels = geometry.channels_out
    geometry = replace(geometry, channels_out=geometry.channels_in + second_channels)
    first = embed(rng.integers(0, 256, (*geometry.output, geometry.channels_in), np.uint8), before)
    second = embed(rng.integers(0, 256, (*geometry.output, second_channels), np.uint8), beside)
    target = empty_output(geometry, behind)
    tables = rng.integers(0, 256, (2, 256), np.uint8)
    output = harness.kernel(
        "match_pulp_concatenate",
        replace(
            geometry.fields(**strides_of(first), **output_strides_of(target)),
            addend_row_stride=second.row_stride,
            addend_pixel_stride=second.pixel_stride,
        ),
        input=first.block,
        addend=second.block,
        parameters=tables.reshape(-1),
        output=target.block,
    )
    expect(output, target, np.concatenate([tables[0][first.tile], tables[1][second.tile]], axis=2))


@pytest.mark.parametrize("unchanged", [(True, True), (False, True), (True, False)])
@pytest.mark.parametrize("channels", [(1, 9), (8, 3), (12, 20), (2, 30)])
@pytest.mark.parametrize("gaps", [(0, 0, 0, 0), (0, 0, 0, 3), (1, 0, 0, 0)])
def test_inputs_of_a_concatenation_that_tables_do_not_change(
    harness_for: Callable[[int], Harness],
    unchanged: tuple[bool, bool],
    channels: tuple[int, int],
    gaps: tuple[int, int, int, int],
) -> None:
    """Enough elements for each of one, two or eight cores that the tables are looked at, or for none."""
    rng = np.random.default_rng(7)
    one = Geometry(channels[0], sum(channels), (23, 29), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    first, second = (embed(rng.integers(0, 256, (*one.output, part), np.uint8), gaps) for part in channels)
    target = empty_output(one, gaps)
    tables = rng.integers(0, 256, (2, 256), np.uint8)
    tables[np.array(unchanged)] = np.arange(256, dtype=np.uint8)
    fields = replace(
        one.fields(**strides_of(first), **output_strides_of(target)),
        addend_row_stride=second.row_stride,
        addend_pixel_stride=second.pixel_stride,
    )
    for cores in (1, 2, 8):
        output = harness_for(cores).kernel(
            "match_pulp_concatenate",
            fields,
            input=first.block,
            addend=second.block,
            parameters=tables.reshape(-1),
            output=target.block,
        )
        expect(output, target, np.concatenate([tables[0][first.tile], tables[1][second.tile]], axis=2))


@EXAMPLES
@given(pointwise, margins, margins, st.one_of(st.just(1), st.integers(2, 21)), seeds)
def test_transpose(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    unit: int,
    seed: int,
) -> None:
    """From (rows, channels, columns), with gaps, to (rows, columns, channels), of elements of some bytes."""
    transpose_on(harness, geometry, (before, behind), unit, np.random.default_rng(seed))


def transpose_on(
    harness: Harness,
    geometry: Geometry,
    margins: tuple[tuple[int, int, int, int], tuple[int, int, int, int]],
    unit: int,
    rng: np.random.Generator,
) -> None:
    """With margins around the input and the output."""
    rows, columns = geometry.output
    before, behind = margins
    gaps = (*before[:2], before[2] * unit, before[3] * unit)
    source = embed(rng.integers(0, 256, (rows, geometry.channels_out, columns * unit), np.uint8), gaps)
    target = empty_output(
        replace(geometry, channels_out=geometry.channels_out * unit), (*behind[:2], 0, behind[3] * unit)
    )
    output = harness.kernel(
        "match_pulp_transpose",
        replace(
            geometry.fields(
                output_row_stride=target.row_stride // unit,
                output_pixel_stride=target.pixel_stride // unit,
                input_row_stride=source.row_stride // unit,
                input_pixel_stride=1,
            ),
            channels_in=unit,
        ),
        input=source.block,
        output=target.block,
        input_channel_stride=source.pixel_stride // unit,
    )
    elements = source.tile.reshape(rows, geometry.channels_out, columns, unit)
    expect(output, target, elements.transpose(0, 2, 1, 3).reshape(rows, columns, -1))


@pytest.mark.parametrize(
    ("channels", "size"), [(1, (1, 1)), (3, (1, 50)), (3, (5, 9)), (23, (1, 7)), (100, (2, 2)), (9, (3, 37))]
)
def test_transpositions_on_any_number_of_cores(
    harness_for: Callable[[int], Harness], channels: int, size: tuple[int, int]
) -> None:
    """Cores share out fours of pixels of a row, or of channels."""
    geometry = Geometry(1, channels, size, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    for cores in (1, 2, 4, 8):
        for margin in ((0, 0, 0, 0), (1, 2, 0, 3)):
            transpose_on(harness_for(cores), geometry, (margin, margin), 1, np.random.default_rng(5))
