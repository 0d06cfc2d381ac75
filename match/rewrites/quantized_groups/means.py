"""Means of windows, and of whole maps.

onnxruntime computes the mean of a whole map in integers if its input and output have one type, all others in float32.
Those are integers here, too, where float32 is proven to round them alike (`match.arithmetic.window_means`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.arithmetic.window_means import is_mean_of_sum
from match.graph.float_average import FloatAverage
from match.graph.integers import Clip
from match.graph.make import padded
from match.graph.reals import RealAverage
from match.graph.reductions import RealReduction
from match.graph.value import Value, computed
from match.ir.float_border import FloatQuantization
from match.ir.layer import Padding
from match.quantized.averages import averaged
from match.quantized.window_means import are_means_of_sums, parts_of, window_means
from match.rewrites.quantized_groups.element_functions import with_constant
from match.rewrites.quantized_groups.moves import moved, without_moves
from match.rewrites.quantized_groups.quantities import Dequantized, as_type, dequantized
from match.rewrites.quantized_groups.reductions import reduction


def mean(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """The mean of a map's windows; None where these are of no tensor of 8 bits."""
    average, source = real.operator, dequantized(real.inputs[0])
    if source is None or not isinstance(average, RealAverage):
        return None
    x, count = as_type(source, output.dtype), math.prod(average.window)
    whole = average.window == x.value.shape[1:3] and not any(average.padding)
    if not whole and average.written_as == "windows":
        return _of_windows(real, average, source, output, clip)
    in_integers = average.written_as == "map" and source.quantization.dtype == output.dtype and real.exact
    exact = in_integers or is_mean_of_sum(x.quantization, count, output)
    one = OnnxruntimeArithmetic().mean(x.quantization, count, output, clip)
    return averaged(x.value, one, output.dtype, average.window, average.strides, exact=exact)


def _of_windows(
    real: Value, average: RealAverage, source: Dequantized, output: QuantizedType, clip: tuple[int, int]
) -> Value:
    """Means that float32 may round otherwise than integers.

    They are integers where it is proven not to, or where the reference adds up in an order that is not known.
    """
    x, own, padding = source.value, source.quantization, average.padding
    _, rows, columns, _ = real.shape
    if average.counts_padding and any(padding):
        widths = [(0, 0), (padding.top, padding.bottom), (padding.left, padding.right), (0, 0)]
        x, padding = padded(x, widths, own.zero_point), Padding()
    parts = parts_of(x, average.window, average.strides, padding, (rows, columns))
    typed = as_type(Dequantized(x, own), output.dtype)
    if parts is not None and (not real.exact or are_means_of_sums(parts, typed.quantization, output)):
        return window_means(typed.value, typed.quantization, output, clip, parts, exact=real.exact)
    function = FloatQuantization(output.scale, output.zero_point, output.dtype, half_to_even=True, zero_first=True)
    means = FloatAverage(
        scale=own.scale,
        zero=own.zero_point,
        function=function,
        window=average.window,
        strides=average.strides,
        padding=padding,
    )
    levels = computed(means, x, exact=real.exact)
    return levels if clip == output.limits else computed(Clip(limits=clip, dtype=output.dtype), levels)


def multiplied_mean(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """A mean times a positive number, with which some quantizers follow the division of their hardware; else None."""
    product = with_constant(real, "multiply")
    if product is None or product[1].size != 1 or product[0].shape != real.shape or product[1].item() <= 0:
        return None
    average, moves = without_moves(product[0])
    scaled = replace(output, scale=np.float32(output.scale / np.float32(product[1].item())))
    if isinstance(average.operator, RealAverage):
        made = mean(replace(average, exact=False), scaled, clip)
    else:
        made = reduction(average, scaled, clip) if isinstance(average.operator, RealReduction) else None
    return None if made is None else reduce(moved, moves, replace(made, exact=False))
