"""Whether float32 means of quantized windows follow from the integers' sums: then integers compute them exactly.

A reference adds dequantized numbers in float32, divides by their count and by the output's scale, and rounds. Two sums
of the same integers may differ in their last bits, because each addition rounds. The outputs are the same as long as
no sum is near a border between two outputs.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.line_fit import NoLineError
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.ir.dtypes import value_range

_MOST_ADDED = 16
"""Elements of a window up to which the extremes of its sums are computed; those of larger ones are estimated."""
_ROUNDING = 2.0**-24
"""What rounding to float32 changes at most, as a share of the number."""


def is_mean_of_sum(x: QuantizedType, count: int, output: QuantizedType) -> bool:
    """Whether the mean of any `count` values of `x`, added in any order, is what the requantization of their sum is.

    Sums may be divided by the count or multiplied by its reciprocal, and the zero point may be added before rounding
    (onnxruntime's QLinearAveragePool) or after it (its AveragePool and QuantizeLinear): all have to give the integers
    of `OnnxruntimeArithmetic.mean`.
    """
    clip = value_range(output.dtype)
    low, high = value_range(x.dtype)
    sums = np.arange(count * low, count * high + 1)
    try:
        requantization = OnnxruntimeArithmetic().mean(x, count, output, clip)
    except NoLineError:
        return False
    expected = requantization(sums.reshape(-1, 1)).reshape(-1)
    zero, number = np.float32(output.zero_point), np.float32(count)
    for ends in float_sums(x, count) if count <= _MOST_ADDED else _estimates(x, count):
        for means in (ends / number, ends * (np.float32(1) / number)):
            steps: Float32Array = means / output.scale
            for levels in (np.rint(steps + zero), np.rint(steps) + zero):
                if not np.array_equal(np.clip(levels, *clip), expected):
                    return False
    return True


def float_sums(x: QuantizedType, count: int) -> tuple[Float32Array, Float32Array]:
    """The least and the greatest float32 sums of `count` numbers, for each sum of their integers.

    An addition rounds a larger sum to no smaller number. So the extremes of a sum are sums of two extremes, those of
    two parts for their own integers.
    """
    numbers = x.numbers
    least, most = [numbers], [numbers]  # of one number, of two, ...
    for added in range(2, count + 1):
        lowest = np.full(added * (len(numbers) - 1) + 1, np.inf, np.float32)
        highest = -lowest
        for part in range(1, added // 2 + 1):
            rest = added - part
            for ends, parts, pick in ((lowest, least, np.minimum), (highest, most, np.maximum)):
                for place, number in enumerate(parts[part - 1]):
                    seen = ends[place : place + len(parts[rest - 1])]
                    pick(seen, parts[rest - 1] + number, out=seen)
        least.append(lowest)
        most.append(highest)
    return least[-1], most[-1]


def _estimates(x: QuantizedType, count: int) -> tuple[Float32Array, Float32Array]:
    """Numbers below and above all float32 sums of `count` numbers, for each sum of their integers.

    Each product and each of the additions rounds by at most a share of what is largest, all magnitudes together.
    Nothing is rounded where the scale is a power of two and float32 holds all sums.
    """
    low, high = (int(level) - x.zero_point for level in value_range(x.dtype))
    exact, largest = np.arange(count * low, count * high + 1) * np.float64(x.scale), count * max(-low, high)
    if np.frexp(x.scale)[0] == 0.5 and largest * _ROUNDING < 1:
        return exact.astype(np.float32), exact.astype(np.float32)
    off = (count + 2) * _ROUNDING * largest * float(x.scale)
    below, above = (exact - off).astype(np.float32), (exact + off).astype(np.float32)
    return np.nextafter(below, np.float32(-np.inf)), np.nextafter(above, np.float32(np.inf))
