"""Sums and means along axes, of numbers, of their squares and of what is left of them; running sums.

onnxruntime adds up in float32. Means are exact where that is proven to round as integers do; sums are of finer scales.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.arithmetic import real_numbers
from match.arithmetic.interface import QuantizedType
from match.arithmetic.line_fit import NoLineError
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.arithmetic.window_means import is_mean_of_sum
from match.graph.make import named, reshaped, transposed
from match.graph.maps import channels_first, channels_last
from match.graph.real_functions import is_function
from match.graph.reductions import RealReduction, RunningSum
from match.graph.value import Value, computed
from match.quantized.averages import averaged
from match.quantized.layers import Filters, Sums, convolution_sums, dense_sums
from match.quantized.matrices import matrices_of
from match.quantized.scaled import scaled
from match.rewrites.quantized_groups.quantities import Dequantized, as_type, dequantized

_LONGEST = 256
"""Numbers along an axis whose running sums are a product: its weights take as many bytes squared."""

_MOST_CENTRED = 128
"""The most numbers that are compared with their mean: a weight is their number less 1, in int8."""

Limits = tuple[int, int]


@dataclass(frozen=True)
class WindowsOfAxes:
    """Reduced axes of a tensor seen as the windows of a map (1, H, W, C), side by side.

    shape: the map with its axes in the tensor's order. turned: its channels come first there. window: rows and columns.
    """

    shape: tuple[int, ...]
    turned: bool
    window: tuple[int, int]

    @classmethod
    def of(cls, extents: Sequence[int], axes: Sequence[int]) -> WindowsOfAxes | None:
        """The windows of neighbouring axes; None where a product with ones is less to do.

        That is along the last axis, unless it is that of a sequence's mean, and along the channels of a map.
        """
        rank, pixels = len(extents), [extents[axis] for axis in axes]
        if list(axes) != list(range(axes[0], axes[-1] + 1)):
            return None
        first, last, alone = axes[0], axes[-1] + 1, rank > 2 and extents[0] == 1
        window = (pixels[0], pixels[1]) if rank == 4 and len(pixels) == 2 else (math.prod(pixels), 1)
        if alone and (first, last) == (2, rank):
            return cls((*extents[:2], *window), True, window)
        if alone and rank == 4 and list(axes) == [2]:
            return cls(tuple(extents), True, window)
        if alone and (first, last) == (1, rank - 1):
            return cls((1, *window, extents[-1]), False, window)
        if last < rank and not (alone and rank == 4 and list(axes) == [1]):
            window = 1, math.prod(pixels)
            return cls((1, math.prod(extents[:first]), window[1], math.prod(extents[last:])), False, window)
        return None

    def seen(self, x: Value) -> Value:
        """The tensor as the map, channels last."""
        map_ = reshaped(x, self.shape)
        return channels_last(map_) if self.turned else map_

    def back(self, outputs: Value, shape: Sequence[int]) -> Value:
        """What the map's windows became, in the shape of the reduction."""
        return reshaped(channels_first(outputs) if self.turned else outputs, shape)


def reduction(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A sum or a mean along axes; None of numbers that no integers stand for."""
    operator, x = real.operator, real.inputs[0]
    if not isinstance(operator, RealReduction) or operator.function == "prod":
        return None
    source = dequantized(x)
    if source is None:
        return _squares(real, operator, output, clip)
    windows = None if _is_row_of_sums(operator, x.shape) else WindowsOfAxes.of(x.shape, operator.axes)
    if windows is None:
        return _product_with_ones(real, operator, source, output, clip)
    typed, count = as_type(source, output.dtype), math.prod(windows.window)
    summed = operator.function == "sum"
    steps = replace(output, scale=output.scale / np.float32(count)) if summed else output
    one = OnnxruntimeArithmetic().mean(typed.quantization, count, steps, clip)
    exact = not summed and is_mean_of_sum(typed.quantization, count, output)
    means = averaged(windows.seen(typed.value), one, output.dtype, windows.window, windows.window, exact=exact)
    return windows.back(named(means, real.source), real.shape)


def _is_row_of_sums(operator: RealReduction, extents: Sequence[int]) -> bool:
    """Whether rows of a sequence are summed up."""
    return operator.function == "sum" and len(extents) == 3 and operator.axes == (2,)


def _product_with_ones(
    real: Value, operator: RealReduction, source: Dequantized, output: QuantizedType, clip: Limits
) -> Value:
    """The sums of rows, for which axes are put last, as a dense layer; of a map's channels as a convolution."""
    extents, axes, own = real.inputs[0].shape, operator.axes, source.quantization
    count = math.prod(extents[axis] for axis in axes)
    if len(extents) == 4 and extents[0] == 1 and axes == (1,):
        map_ = channels_last(source.value)
        filters = Filters(kernel=np.ones((1, 1, count, 1), np.int8), layout="HWIO")
        sums = convolution_sums(map_, filters, own.zero_point)
    else:
        order = [*(axis for axis in range(len(extents)) if axis not in axes), *axes]
        rows = reshaped(transposed(source.value, order), (-1, count))
        sums = dense_sums(rows, np.ones((1, count), np.int8))
    share = np.float32(1) / np.float32(count if operator.function == "mean" else 1)
    return reshaped(named(_requantized(sums, own, share, output, clip), real.source), real.shape)


def _requantized(sums: Sums, inputs: QuantizedType, factor: np.float32, output: QuantizedType, clip: Limits) -> Value:
    """Integer sums times a factor, in the quantization of the outputs; the reference computes in floating point."""
    no_bias = np.zeros(len(sums.weights), np.int64)
    accumulator = sums.accumulator(inputs, np.array([factor], np.float32), no_bias)
    return scaled(sums, accumulator, output, clip, real_numbers, exact=False)


def _squares(real: Value, operator: RealReduction, output: QuantizedType, clip: Limits) -> Value | None:
    """The sums or the means of the squares of rows, as products of each row with itself."""
    square = real.inputs[0]
    if (
        not is_function(square, "multiply")
        or square.inputs[0] is not square.inputs[1]
        or operator.axes != (len(square.shape) - 1,)
    ):
        return None
    source, width = dequantized(square.inputs[0]), square.shape[-1]
    if source is None:
        return None
    own, rows = source.quantization, reshaped(source.value, (-1, 1, width))
    share = np.float32(own.scale / np.float32(width if operator.function == "mean" else 1))
    try:
        product = matrices_of(width, (own, replace(own, scale=share)), output, clip, OnnxruntimeArithmetic())
    except NoLineError:
        return None
    return reshaped(computed(product, rows, rows, exact=False), real.shape)


def running_sum(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """Running sums as a product with a triangle of ones."""
    operator, source = real.operator, dequantized(real.inputs[0])
    if source is None or not isinstance(operator, RunningSum):
        return None
    count = real.shape[operator.axis]
    if count > _LONGEST:
        return None
    ones = np.tri(count, k=-1 if operator.exclusive else 0, dtype=np.int8)
    weights = np.ascontiguousarray(ones[::-1, ::-1]) if operator.backwards else ones
    return _rows_times(real, source, [operator.axis], weights, np.float32(1), output, clip)


def centred(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A tensor less its means along axes: of n numbers each is n times itself less their sum, over n."""
    if not is_function(real, "subtract"):
        return None
    x, mean = real.inputs
    operator, source = mean.operator, dequantized(x)
    if source is None or not isinstance(operator, RealReduction) or mean.inputs != (x,) or operator.function != "mean":
        return None
    count = operator.count(x.tensor)
    if not operator.keepdims or count > _MOST_CENTRED:
        return None
    weights = (count * np.eye(count, dtype=np.int64) - 1).astype(np.int8)
    share = np.float32(1) / np.float32(count)
    return _rows_times(real, source, operator.axes, weights, share, output, clip)


def _rows_times(
    real: Value,
    source: Dequantized,
    axes: Sequence[int],
    weights: npt.NDArray[np.int8],
    factor: np.float32,
    output: QuantizedType,
    clip: Limits,
) -> Value:
    """Rows along axes times weights (K, C), transposed, and a factor; results lie where the rows were."""
    order = [*(axis for axis in range(len(real.shape)) if axis not in axes), *axes]
    rows = reshaped(transposed(source.value, order), (-1, weights.shape[1]))
    products = _requantized(dense_sums(rows, weights), source.quantization, factor, output, clip)
    turned = reshaped(products, [real.shape[axis] for axis in order])
    return transposed(turned, np.argsort(order).tolist())
