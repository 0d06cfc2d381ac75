"""Means of windows, and of whole maps.

onnxruntime computes the mean of a whole map in integers if its input and output have one type, all others in float32.
Those are integers here, too, where float32 is proven to round them alike (`match.arithmetic.window_means`).
"""

from __future__ import annotations

import math

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.arithmetic.window_means import is_mean_of_sum
from match.graph.reals import RealAverage
from match.graph.value import Value
from match.quantized.averages import averaged
from match.rewrites.quantized_groups.quantities import as_type, dequantized


def mean(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """The mean of a map's windows; None for windows that see padding, or whose mean integers may round otherwise."""
    average, source = real.operator, dequantized(real.inputs[0])
    if source is None or not isinstance(average, RealAverage) or any(average.padding):
        return None
    x, count = as_type(source, output.dtype), math.prod(average.window)
    of_map = average.window == x.value.shape[1:3]
    in_integers = average.written_as == "map" and real.exact and source.quantization.dtype == output.dtype
    exact = real.exact and (in_integers or is_mean_of_sum(x.quantization, count, output))
    if not exact and not of_map and average.written_as == "windows":
        return None
    one = OnnxruntimeArithmetic().mean(x.quantization, count, output, clip)
    return averaged(x.value, one, output.dtype, average.window, average.strides, exact=exact)
