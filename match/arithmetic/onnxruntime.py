"""The integers of onnxruntime's CPU kernels for x86: sums scaled in float32 and rounded half to even."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Accumulator, Float32Array, QuantizedType, product_range, sum_range
from match.arithmetic.line_fit import fit_line
from match.ir.requantization import Int64Array, Requantization
from match.ir.step_function import StepFunction

_ROUNDING_ERROR = 2.0**-22
_MOST_LEVELS = 2.0**31
_FARTHEST = 2.0**52
"""Beyond all sums, and small enough for float64 to have all integers around it."""
_SAME_SCALE, _SAME_STEP = 1e-2, 1e-6


@dataclass(frozen=True)
class OnnxruntimeArithmetic:
    """`match.arithmetic.interface.Arithmetic` as onnxruntime computes QLinear operators."""

    def linear(self, accumulator: Accumulator, output: QuantizedType, clip: tuple[int, int]) -> Requantization:
        """QLinearConv, QGemm, QLinearMatMul: the sum with its bias in float32, times a float32 factor per channel."""
        factor = (accumulator.input_scale * accumulator.weight_scale) / output.scale
        return _scaled(
            np.broadcast_to(factor, accumulator.offset.shape),
            accumulator.offset,
            output.zero_point,
            clip,
            accumulator.low,
            accumulator.high,
        )

    def average(self, dtype: str, count: int, clip: tuple[int, int]) -> Requantization:
        """As `mean`."""
        same = QuantizedType(np.float32(1), 0, dtype)
        return self.mean(same, count, same, clip)

    def mean(self, x: QuantizedType, count: int, output: QuantizedType, clip: tuple[int, int]) -> Requantization:
        """QLinearGlobalAveragePool: the sum in float32, times one float32 factor."""
        offset = np.array([-x.zero_point * count])
        factor = np.array([x.scale / (output.scale * np.float32(count))])
        return _scaled(factor, offset, output.zero_point, clip, *sum_range(x.dtype, count))

    def add(
        self, a: QuantizedType, b: QuantizedType, output: QuantizedType, clip: tuple[int, int], sign: int
    ) -> Int64Array:
        """QLinearAdd: fused multiply-additions in float32 onto a constant that holds the zero points."""
        ratio_a, ratio_b = a.scale / output.scale, np.float32(sign) * b.scale / output.scale
        zero = _fused(np.array(a.zero_point), ratio_a, ratio_b * np.float32(b.zero_point))
        fixed = np.float32(output.zero_point) - zero
        second = _fused(b.levels, ratio_b, fixed)
        total = _fused(a.levels[:, None], ratio_a, second[None, :])
        return np.clip(np.rint(total).astype(np.int64), *clip)

    def multiply(
        self, a: QuantizedType, b: QuantizedType, output: QuantizedType, clip: tuple[int, int]
    ) -> Requantization:
        """QLinearMul: the product in float32, times one float32 factor, plus the zero point, which is rounded then."""
        factor = np.array([a.scale * b.scale / output.scale])
        levels = np.arange(clip[0] + 1, clip[1] + 1)
        return _steps(_first_sums(factor, levels, output.zero_point), factor, clip, *product_range(a, b))

    def requantize(self, x: QuantizedType, output: QuantizedType, clip: tuple[int, int]) -> Int64Array:
        """DequantizeLinear, then QuantizeLinear."""
        return quantize(x.numbers, output, clip)


def counts_in_steps(
    scale: npt.NDArray[np.floating], zero_point: npt.NDArray[np.integer], steps: npt.NDArray[np.floating]
) -> bool:
    """Whether onnxruntime adds the integers of a quantized bias to a convolution's int32 sums, as they are.

    `scale` and `zero_point` belong to the bias. `steps` are the scales of the sums: input scale times weight scale. The
    bias must have one scale for each step, near that step (within 10^-6 plus a hundredth of it), and zero points of 0.
    With any other bias the convolution is computed in floating point (measured: version 1.32).
    """
    if np.any(zero_point) or scale.size != steps.size:
        return False
    return bool(np.allclose(scale.reshape(-1), steps.reshape(-1), rtol=_SAME_SCALE, atol=_SAME_STEP))


def softmax_exponentials(scale: np.float32) -> Int64Array:
    """``exp(-scale * d)`` with 31 bits after the point for distances d from 0 to 255, shape (256,)."""
    falling = np.exp(-np.float64(scale) * np.arange(256))
    return np.minimum(np.rint(falling * (1 << 31)), (1 << 31) - 1).astype(np.int64)


def softmax_levels(scale: np.float32) -> int:
    """QLinearSoftmax: as many steps as a probability of 1 has, a whole number."""
    return int(np.floor(np.float32(1) / scale))


def quantize(values: Float32Array, output: QuantizedType, clip: tuple[int, int]) -> Int64Array:
    """QuantizeLinear of float32 values, infinite ones included; what is no number becomes the smallest level."""
    with np.errstate(over="ignore"):
        steps = np.nan_to_num(np.rint(values / output.scale), nan=-_MOST_LEVELS)
        levels = np.clip(steps, -_MOST_LEVELS, _MOST_LEVELS)
    return np.clip(levels.astype(np.int64) + output.zero_point, *clip)


def _fused(levels: Int64Array, ratio: np.float32, addend: Float32Array | np.float32) -> Float32Array:
    """``levels * ratio + addend`` rounded to float32 once: products of 8 and 24 bits are exact in float64."""
    product = levels.astype(np.float64) * np.float64(ratio)
    return (product + np.asarray(addend, np.float64)).astype(np.float32)


def _scaled(
    factor: Float32Array,
    offset: Int64Array,
    zero_point: int,
    clip: tuple[int, int],
    low: Int64Array,
    high: Int64Array,
) -> Requantization:
    """``clip(rint(float32(acc + offset) * factor) + zero_point)``, for accumulators from `low` to `high`."""
    levels = np.arange(clip[0] + 1, clip[1] + 1) - zero_point
    return _steps(_first_sums(factor, levels) - offset[:, None], factor, clip, low, high)


def _steps(
    first: Int64Array, factor: Float32Array, clip: tuple[int, int], low: Int64Array, high: Int64Array
) -> Requantization:
    """The requantization of accumulators from `low` to `high` that reach each level at those in `first`."""
    thresholds = np.clip(first, low[:, None], high[:, None] + 1)
    steps = StepFunction(low, high, clip, thresholds, np.zeros(len(low), np.bool_))
    return fit_line(steps, factor.astype(np.float64))


def _first_sums(factor: Float32Array, levels: npt.NDArray[np.int64], zero_point: int = 0) -> Int64Array:
    """Smallest integers whose float32 product with the factor, plus a zero point, rounds to each level or above.

    (channels, levels). The sum steps within a few of ``(level - zero point - 1/2) / factor``, where the roundings to
    float32 put it; bisection between sums that are certainly on either side finds it.
    """
    scale = factor.astype(np.float64)[:, None]
    about = np.clip((levels - zero_point - 0.5) / scale, -_FARTHEST, _FARTHEST)
    size = np.minimum(np.abs(about) + abs(zero_point) / scale, _FARTHEST)
    margin = np.ceil(size * _ROUNDING_ERROR).astype(np.int64) + 2
    below, reached = np.floor(about).astype(np.int64) - margin, np.ceil(about).astype(np.int64) + margin
    while np.any(reached - below > 1):
        middle = (below + reached) // 2
        product: Float32Array = middle.astype(np.float32) * factor[:, None]
        high_enough = np.rint(product + np.float32(zero_point)) >= levels
        below, reached = np.where(high_enough, below, middle), np.where(high_enough, middle, reached)
    return reached
