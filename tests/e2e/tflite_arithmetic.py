"""TFLite Micro's int8 arithmetic in NumPy, written from its definition (gemmlowp fixed point), one function a step.

Independent of the compiler: truncating divisions and explicit branches as the kernels' documentation gives them, not
the floor identities that the compiler derives from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.int64]
Output = Callable[[Array], Array]
"""From accumulators of shape (..., channels) to int8 values (as int64)."""


def quantize_multiplier(real: float) -> tuple[int, int]:
    """A positive real number as ``mantissa * 2**(exponent - 31)`` with a 31-bit mantissa."""
    if real == 0.0:
        return 0, 0
    fraction, exponent = math.frexp(real)
    mantissa = math.floor(fraction * (1 << 31) + 0.5)
    if mantissa == 1 << 31:
        mantissa, exponent = mantissa // 2, exponent + 1
    if exponent < -31:
        return 0, 0
    return mantissa, exponent


def saturating_rounding_doubling_high_mul(a: Array, b: int) -> Array:
    """``round(a * b / 2**31)``, ties away from zero for positive products and towards zero for negative ones."""
    product = a * b
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    return np.where(nudged >= 0, nudged // (1 << 31), -((-nudged) // (1 << 31)))


def rounding_divide_by_pot(x: Array, exponent: int) -> Array:
    """``round(x / 2**exponent)``, ties away from zero."""
    mask = (1 << exponent) - 1
    remainder = x & mask
    threshold = (mask >> 1) + (x < 0)
    return (x >> exponent) + (remainder > threshold)


def multiply_by_quantized_multiplier(x: Array, mantissa: int, exponent: int) -> Array:
    """`x` times ``mantissa * 2**(exponent - 31)`` with both roundings."""
    left, right = max(exponent, 0), max(-exponent, 0)
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(x << left, mantissa), right)


def requantizer(multipliers: list[float], zero_point: int, low: int, high: int) -> Output:
    """The output stage of a layer whose channels are scaled by `multipliers`."""
    fixed = [quantize_multiplier(real) for real in multipliers]

    def apply(accumulator: Array) -> Array:
        scaled = np.stack(
            [multiply_by_quantized_multiplier(accumulator[..., k], *fixed[k]) for k in range(accumulator.shape[-1])], -1
        )
        return np.clip(scaled + zero_point, low, high)

    return apply


def windows(x: Array, filter_size: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int]) -> Array:
    """Views of a padded (H, W, C) map: shape (OY, OX, FY, FX, C)."""
    fy, fx = filter_size
    oy = (x.shape[0] - (fy - 1) * dilation[0] - 1) // stride[0] + 1
    ox = (x.shape[1] - (fx - 1) * dilation[1] - 1) // stride[1] + 1
    rows = np.arange(oy)[:, None] * stride[0] + np.arange(fy)[None, :] * dilation[0]
    cols = np.arange(ox)[:, None] * stride[1] + np.arange(fx)[None, :] * dilation[1]
    return x[rows[:, None, :, None], cols[None, :, None, :], :]


def pad(x: Array, padding: tuple[int, int, int, int], value: int) -> Array:
    """Pad an (H, W, C) map by (top, left, bottom, right) pixels of `value`."""
    top, left, bottom, right = padding
    return np.pad(x, ((top, bottom), (left, right), (0, 0)), constant_values=value)


def conv2d(
    x: Array,
    weights: Array,
    bias: Array,
    input_zero_point: int,
    stride: tuple[int, int],
    padding: tuple[int, int, int, int],
    dilation: tuple[int, int] = (1, 1),
) -> Array:
    """Accumulators of a convolution; x (H, W, C), weights (K, FY, FX, C), result (OY, OX, K)."""
    patches = windows(pad(x, padding, input_zero_point), (weights.shape[1], weights.shape[2]), stride, dilation)
    # Exact in float64: sums stay far below 2**53, and BLAS is much faster than integer einsum.
    left = (patches - input_zero_point).reshape(*patches.shape[:2], -1).astype(np.float64)
    return np.rint(left @ weights.reshape(len(weights), -1).T.astype(np.float64)).astype(np.int64) + bias


def depthwise_conv2d(
    x: Array,
    weights: Array,
    bias: Array,
    input_zero_point: int,
    stride: tuple[int, int],
    padding: tuple[int, int, int, int],
    dilation: tuple[int, int] = (1, 1),
) -> Array:
    """Accumulators of a depthwise convolution; x (H, W, K), weights (FY, FX, K)."""
    patches = windows(pad(x, padding, input_zero_point), (weights.shape[0], weights.shape[1]), stride, dilation)
    return ((patches - input_zero_point) * weights).sum(axis=(2, 3)) + bias


def add(
    a: Array,
    b: Array,
    scales: tuple[float, float, float],
    zero_points: tuple[int, int, int],
    low: int,
    high: int,
) -> Array:
    """Quantized addition; scales and zero points of a, b and the sum."""
    left_shift = 20
    twice_max = 2.0 * max(scales[0], scales[1])
    total: Array | int = 0
    for value, scale, zero_point in zip((a, b), scales[:2], zero_points[:2], strict=True):
        shifted = (value - zero_point) << left_shift
        total = total + multiply_by_quantized_multiplier(shifted, *quantize_multiplier(scale / twice_max))
    raw = multiply_by_quantized_multiplier(
        np.asarray(total), *quantize_multiplier(twice_max / ((1 << left_shift) * scales[2]))
    )
    return np.clip(raw + zero_points[2], low, high)


def average_pool2d(x: Array, filter_size: tuple[int, int], stride: tuple[int, int], low: int, high: int) -> Array:
    """Average over unpadded windows, rounded half away from zero."""
    total = windows(x, filter_size, stride, (1, 1)).sum(axis=(2, 3))
    count = filter_size[0] * filter_size[1]
    rounded = np.where(total > 0, (total + count // 2) // count, -((count // 2 - total) // count))
    return np.clip(rounded, low, high)


def max_pool2d(
    x: Array,
    filter_size: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int, int, int],
    low: int,
    high: int,
) -> Array:
    """Maximum over windows; padding never wins."""
    return np.clip(windows(pad(x, padding, -128), filter_size, stride, (1, 1)).max(axis=(2, 3)), low, high)
