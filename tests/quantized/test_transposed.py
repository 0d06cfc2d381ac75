"""Transposed convolutions as convolutions of all phases, beside their definition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.graph.evaluate import evaluate
from match.graph.value import Graph, Value
from match.ir.graph import Tensor
from match.quantized.layers import transposed_sums

pytestmark = pytest.mark.unit

ZERO_POINT = 7


def defined(
    x: npt.NDArray[np.int64],
    kernel: npt.NDArray[np.int64],
    stride: tuple[int, int],
    before: tuple[int, int],
    size: tuple[int, ...],
) -> npt.NDArray[np.int64]:
    """Every input (rows, columns, C) times the filter (K, FY, FX, C), added up where it comes to lie."""
    outputs = np.zeros((*size, len(kernel)), np.int64)
    for y, column, fy, fx in np.ndindex(*x.shape[:2], *kernel.shape[1:3]):
        row, place = y * stride[0] + fy - before[0], column * stride[1] + fx - before[1]
        if 0 <= row < size[0] and 0 <= place < size[1]:
            outputs[row, place] += kernel[:, fy, fx] @ x[y, column]
    return outputs


@pytest.mark.parametrize("channels", [1, 2])
def test_numbers_of_channels_are_those_of_all_phases(channels: int) -> None:
    x = Value(Tensor((1, 3, 3, 2), "int8"))
    kernel = np.ones((2, 2, 2, channels), np.int8)
    sums = transposed_sums(x, kernel, (2, 2), (0, 0), (1, 6, 6, channels), ZERO_POINT)
    assert list(sums.for_each(np.arange(channels))) == [*range(channels)] * 4
    assert sums.value.shape == (1, 3, 3, 4 * channels)


sides = st.tuples(st.integers(1, 5), st.integers(1, 5))


@settings(max_examples=15)
@given(sides, sides, st.tuples(st.integers(1, 3), st.integers(1, 3)), st.tuples(*[st.integers(0, 3)] * 6), st.data())
def test_phases_are_the_transposed_convolution(
    extents: tuple[int, int],
    window: tuple[int, int],
    stride: tuple[int, int],
    sides: tuple[int, ...],
    data: st.DataObject,
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    before = sides[0] % window[0], sides[1] % window[1]
    whole = [(extent - 1) * step + size for extent, step, size in zip(extents, stride, window, strict=True)]
    behind = [min(side, total - first - 1) for side, total, first in zip(sides[2:4], whole, before, strict=True)]
    if min(behind) < 0:
        return
    spare = [side % step for side, step in zip(sides[4:], stride, strict=True)]
    kernel = rng.integers(-128, 128, (4, *window, 3)).astype(np.int8)
    x = Value(Tensor((1, *extents, 3), "int8"))
    size = tuple(
        total - first - last + more for total, first, last, more in zip(whole, before, behind, spare, strict=True)
    )
    sums = transposed_sums(x, kernel.transpose(1, 2, 3, 0), stride, before, (1, *size, 4), ZERO_POINT)
    assert list(sums.for_each(np.arange(4))) == [0, 1, 2, 3] * (stride[0] * stride[1])

    values = rng.integers(-128, 128, (1, *extents, 3)).astype(np.int8)
    (found,) = evaluate(Graph((x,), (sums.laid_out(sums.value),)), [values])
    right = defined(values[0] - np.int64(ZERO_POINT), kernel.astype(np.int64), stride, before, size)
    # Zero points count in the padding as elsewhere: what they add is taken off again with the bias.
    weights = sums.weights.astype(np.int64).reshape(len(sums.weights), -1).sum(axis=1).reshape(*stride, 4)
    rows, columns = (np.arange(n) % step for n, step in zip(size, stride, strict=True))
    np.testing.assert_array_equal(found[0], right + ZERO_POINT * weights[rows][:, columns])
