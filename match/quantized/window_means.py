"""Means of windows of a map as integers, part by part where padding is not counted."""

from __future__ import annotations

import math

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.arithmetic.window_means import is_mean_of_sum
from match.graph.value import Value
from match.ir.layer import Padding
from match.quantized.averages import averaged
from match.quantized.windows_inside import AlikeWindows, alike_windows, pooled_inside

_ROWS, _COLUMNS = 1, 2


def parts_of(
    x: Value, window: tuple[int, int], strides: tuple[int, int], padding: Padding, outputs: tuple[int, int]
) -> dict[int, list[AlikeWindows]] | None:
    """The windows of a map (N, H, W, C) by axis, padding left out; None if one has nothing of the map."""
    found: dict[int, list[AlikeWindows]] = {}
    before = padding.top, padding.left
    for place, axis in enumerate((_ROWS, _COLUMNS)):
        own = alike_windows(x.shape[axis], window[place], strides[place], before[place], outputs[place])
        if own is None:
            return None
        found[axis] = [*own]
    return found


def are_means_of_sums(parts: dict[int, list[AlikeWindows]], x: QuantizedType, output: QuantizedType) -> bool:
    """Whether floating point is proven to round the means of all windows as integers do."""
    counts = {row.size * column.size for row in parts[_ROWS] for column in parts[_COLUMNS]}
    return all(is_mean_of_sum(x, count, output) for count in counts)


def window_means(
    x: Value,
    own: QuantizedType,
    output: QuantizedType,
    clip: tuple[int, int],
    parts: dict[int, list[AlikeWindows]],
    *,
    exact: bool,
) -> Value:
    """The means of windows of a map with a quantization, in that of the output.

    With `exact` those means are said to be exact that are proven to be.
    """

    def pool(part: Value, size: tuple[int, int], strides: tuple[int, int]) -> Value:
        count = math.prod(size)
        one = OnnxruntimeArithmetic().mean(own, count, output, clip)
        proven = exact and is_mean_of_sum(own, count, output)
        return averaged(part, one, output.dtype, size, strides, exact=proven)

    return pooled_inside(x, parts, pool)
