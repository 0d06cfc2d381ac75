"""Functions of each pixel's channels on the cluster, and recurrent layers, against NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.harness import Harness, embed
from tests.kernels.pulp_tiles import (
    EXAMPLES,
    align4,
    clips,
    embed_words,
    empty_output,
    expect,
    fields_of,
    in_words,
    kernel_of,
    pointwise,
    random_input,
    seeds,
    wide_forms,
)
from tests.kernels.recurrent import Gru, GruResetFirst, Lstm
from tests.kernels.reference import (
    Geometry,
    geometries,
    log_softmax_of,
    margins,
    normalized,
    output_strides_of,
    requantization_of,
    softmax_of,
    strides_of,
)

pytestmark = pytest.mark.cc


@EXAMPLES
@given(
    geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True),
    margins,
    margins,
    st.sampled_from((0, -128)),
    st.just((1 << 30, 0)) | st.tuples(st.integers(1 << 29, 1 << 30), st.integers(-2, 8)),
    seeds,
)
def test_softmax(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    lowest: int,
    steps: tuple[int, int],
    seed: int,
) -> None:
    """The channels of each pixel are a row; outputs have a sign or none, in steps of 1/256 and others."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 256, (*geometry.output, geometry.channels_out), np.uint8)
    source = embed(values, before)
    target = empty_output(geometry, behind)
    falling = np.exp(-rng.uniform(0.001, 1) * np.arange(256)) * 2**31
    exponentials = np.minimum(falling, 2**31 - 1).astype(np.int64)
    zero = lowest + int(rng.integers(0, 3))
    parameters = np.concatenate([[steps[0], 22 - steps[1], zero], exponentials])
    output = harness.kernel(
        "match_pulp_softmax",
        geometry.fields(**strides_of(source), **output_strides_of(target), clip_low=lowest, clip_high=lowest + 255),
        input=source.block,
        parameters=parameters.astype("<i4").view(np.uint8),
        output=target.block,
    )
    rows = [softmax_of(row, exponentials, zero, *steps) for row in values.reshape(-1, geometry.channels_out)]
    expected = np.minimum(np.array(rows), lowest + 255)
    expect(output, target, expected.reshape(values.shape).astype(np.uint8))


@EXAMPLES
@given(
    geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True),
    margins,
    margins,
    st.integers(18, 26),
    seeds,
)
def test_log_softmax(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    fraction: int,
    seed: int,
) -> None:
    """Each pixel's channels are a row; outputs have the bits of the definition in integers, near the real numbers."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 256, (*geometry.output, geometry.channels_out), np.uint8)
    scale = rng.uniform(0.001, 2.0 ** (29 - fraction) / 255)
    source = embed(values, before)
    target = embed_words(np.zeros(values.shape, np.float32), behind)
    exponentials = np.minimum(np.rint(np.exp(-scale * np.arange(256)) * 2**31), 2**31 - 1).astype(np.int64)
    distances = np.rint(-scale * np.arange(256) * 2.0**fraction).astype(np.int64)
    parameters = np.concatenate([[fraction], exponentials, distances])
    output = harness.kernel(
        "match_pulp_log_softmax",
        geometry.fields(**strides_of(source), **in_words(output_strides_of(target))),
        input=source.block,
        parameters=parameters.astype("<i4").view(np.uint8),
        output=target.block,
    )
    rows = values.reshape(-1, geometry.channels_out).astype(np.int64)
    steps = [log_softmax_of(row, exponentials, distances, fraction) for row in rows]
    expected = (np.array(steps).astype(np.float32) * np.float32(2.0**-fraction)).reshape(values.shape)
    expect(output, target, expected.view(np.uint8).reshape(target.tile.shape))
    real = -scale * (rows.max(axis=1, keepdims=True) - rows)
    real -= np.log(np.exp(real).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(expected.reshape(rows.shape), real, rtol=2**-23, atol=2.0**-fraction + 2**-26)


@EXAMPLES
@given(
    pointwise,
    st.integers(1, 70) | st.just(2048),
    st.none() | st.sampled_from(((1, 1), (1, 2), (3, 1))),
    st.none() | st.integers(0, 255),
    margins,
    margins,
    clips,
    wide_forms,
    seeds,
)
def test_normalize(
    harness: Harness,
    geometry: Geometry,
    channels: int,
    few: tuple[int, int] | None,
    centre: int | None,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    clip: tuple[int, int],
    form: str,
    seed: int,
) -> None:
    """Each pixel's channels are a row, and differ much, little or not at all; accumulators are what they ought to be.

    Of few pixels cores share out the channels.
    """
    rng = np.random.default_rng(seed)
    output = few or geometry.output if channels < 2048 else (1, 1)  # more would not fit the harness
    geometry = replace(geometry, channels_in=channels, channels_out=channels, output=output)
    shape = (*geometry.output, channels)
    wide = rng.integers(0, 256, (*geometry.output, 1))
    values = rng.integers(0, wide + 1, shape).astype(np.uint8)
    source = embed(values, before)
    target = empty_output(geometry, behind)
    largest = 64 if form == "int32" else 8192  # whose products fit
    gains = rng.integers(-largest, largest + 1, channels)
    spread = int(rng.integers(1, 2 ** int(rng.integers(1, 44))))
    acc = np.array([normalized(row, spread, gains, centre) for row in values.reshape(-1, channels).astype(np.int64)])
    rows = values.reshape(-1, channels).astype(np.float64)
    real = rows - (rows.mean(axis=1, keepdims=True) if centre is None else centre)
    real /= np.sqrt(np.square(real).mean(axis=1, keepdims=True) + spread / 256 / channels**2)
    assert np.all(np.abs(acc - real * gains * 4096) <= np.abs(gains) * (1 + np.abs(real) * 4096 / 2**19))
    requantization = requantization_of(rng, acc, form, clip)
    constants = np.array([spread], "<i8"), np.array([-1 if centre is None else centre], "<i4"), gains.astype("<i2")
    output = harness.kernel(
        kernel_of("match_pulp_normalize", requantization),
        fields_of(geometry, source, target, requantization),
        input=source.block,
        weights=np.concatenate([one.view(np.uint8) for one in constants]),
        parameters=requantization.packed(),
        output=target.block,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc).reshape(shape))


@EXAMPLES
@given(
    st.sampled_from([("lstm", Lstm), ("gru", Gru), ("gru_reset_first", GruResetFirst)]),
    st.tuples(st.integers(1, 7), st.integers(1, 3), st.integers(1, 21), st.integers(1, 21)),
    margins,
    margins,
    st.sampled_from([(0, 255), (3, 200)]),
    seeds,
)
def test_recurrent(
    harness: Harness,
    cell: tuple[str, type[Lstm | Gru]],
    sizes: tuple[int, int, int, int],
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    clip: tuple[int, int],
    seed: int,
) -> None:
    """Steps, sequences, features and units have all kinds of extents."""
    steps, sequences, features, units = sizes
    rng = np.random.default_rng(seed)
    geometry = Geometry(features, units, (steps, sequences), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    source, target = embed(random_input(rng, geometry), before), empty_output(geometry, behind)
    name, kind = cell
    layer = kind.random(rng, features, units)
    weights, parameters = layer.packed()
    output = harness.kernel(
        f"match_pulp_{name}",
        geometry.fields(**strides_of(source), **output_strides_of(target), clip_low=clip[0], clip_high=clip[1]),
        input=source.block,
        weights=weights,
        parameters=parameters,
        output=target.block,
        scratch=align4((5 if name == "gru_reset_first" else 2) * sequences * units),
    )
    expect(output, target, layer(source.tile.astype(np.int64), clip).astype(np.uint8))
