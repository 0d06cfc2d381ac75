"""Depthwise convolutions on the cluster, against NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.harness import Harness, embed
from tests.kernels.pulp_tiles import (
    CORES,
    SCRATCHES,
    empty_output,
    expect,
    fields_of,
    forms,
    kernel_of,
    random_input,
    random_weights,
    seeds,
)
from tests.kernels.reference import Geometry, depthwise_conv2d, geometries, margins, requantization_of

pytestmark = pytest.mark.cc

depthwise = st.one_of(
    geometries(channelwise=True),
    geometries(filters=st.just((3, 3)), most_dilation=1, channelwise=True, most_output=12),
)
widened = geometries(
    filters=st.tuples(st.integers(1, 5), st.integers(1, 5)), most_dilation=3, channelwise=True, most_output=12
)


def one_row(geometry: Geometry) -> Geometry:
    """The geometry's columns in a map of one row."""
    (_, ox), (_, fx), (_, left, _, right) = geometry.output, geometry.filter, geometry.pad
    return replace(geometry, output=(1, ox), filter=(1, fx), pad=(0, left, 0, right), spare=(0, geometry.spare[1]))


def turned(geometry: Geometry) -> Geometry:
    """Its rows as columns and columns as rows."""
    pairs = ("output", "filter", "stride", "dilation", "spare")
    top, left, bottom, right = geometry.pad
    swapped = {name: getattr(geometry, name)[::-1] for name in pairs}
    return replace(geometry, pad=(left, top, right, bottom), **swapped)


sequences = widened.map(one_row).filter(lambda geometry: min(geometry.input) >= 1)
depthwise_calls = st.one_of(
    st.tuples(st.just("depthwise_conv2d"), depthwise),
    st.tuples(st.just("depthwise_widened"), st.one_of(widened, sequences, sequences.map(turned))),
)


@settings(max_examples=120)
@given(depthwise_calls, margins, margins, st.integers(0, 255), forms, seeds)
def test_depthwise(
    harness: Harness,
    call: tuple[str, Geometry],
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    pad_value: int,
    form: str,
    seed: int,
) -> None:
    kernel, geometry = call
    rng = np.random.default_rng(seed)
    source = embed(random_input(rng, geometry), before)
    target = empty_output(geometry, behind)
    weights = random_weights(rng, (geometry.channels_out, *geometry.filter))
    acc = depthwise_conv2d(source.tile, weights, geometry, pad_value)
    requantization = requantization_of(rng, acc, form)
    output = harness.kernel(
        kernel_of(f"match_pulp_{kernel}", requantization),
        fields_of(geometry, source, target, requantization, pad_value),
        input=source.block,
        weights=weights.view(np.uint8),
        parameters=requantization.packed(),
        output=target.block,
        scratch=SCRATCHES[kernel](geometry, CORES),
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc))
