"""What follows a layer's outputs that nothing quantizes in front of it, within one step of floating point.

A function of each output, such as ``x * sigmoid(x)`` after sums, is a table of the numbers between which it changes, in
8 bits, or a sum of several (`match.arithmetic.parts_of_functions`): each part is a layer of its own. A quantized tensor
that is added, as quantizers for GPUs write residual connections, is added to the numbers for which the sum is not
clipped, in 8 bits. Leaky ReLU and PReLU are the layer twice, one time with the slopes in its weights, each clipped at
0: one of the two is 0, so that their sum is rounded once.
"""

from __future__ import annotations

import math

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.arithmetic.parts_of_functions import in_parts, in_steps, reach_of
from match.graph.constants import numbers_of
from match.graph.pairs import Addition
from match.graph.real_functions import is_function
from match.graph.reals import RealClip
from match.graph.value import Value, computed
from match.quantized.functions_of_two import function_of_two
from match.quantized.layers import limits
from match.rewrites.quantized_groups.element_functions import Reals, function_after
from match.rewrites.quantized_groups.quantities import dequantized
from match.rewrites.quantized_groups.scaled_layers import ScaledLayer
from match.rewrites.quantized_groups.sums_of_parts import sum_of_parts

Limits = tuple[int, int]

_LEVELS = 256
_MOST_OFF = 0.9
"""Steps of the output that a layer's outputs may be off by when they are rounded before a tensor is added."""


def function_of_sums(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A function of each output of a layer."""
    layer, function = function_after(real, ScaledLayer.of) or (None, None)
    if layer is None or function is None:
        return None
    steps = in_steps(function, output, clip)
    reach = reach_of(steps)
    parted = None if reach is None else in_parts(steps, output, reach)
    if parted is None:
        return None
    maps = [levels for part in parted.parts if (levels := layer.levels(part.low, np.float32(part.step))) is not None]
    return sum_of_parts(parted, maps, clip) if len(maps) == len(parted.parts) else None


def residual(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A layer's outputs, rectified or not, plus a tensor of the same shape."""
    if not is_function(real, "add"):
        return None
    for outputs, tensor in (real.inputs, real.inputs[::-1]):
        x, is_rectified = dequantized(tensor), isinstance(outputs.operator, RealClip) and _is_relu(outputs.operator)
        if x is None or x.value.shape != real.shape:
            continue
        layer = ScaledLayer.of(outputs.inputs[0] if is_rectified else outputs)
        if layer is None:
            continue
        own, scale = x.quantization, np.float64(output.scale)
        least, most = (np.float64(own.scale) * (end - own.zero_point) for end in limits(x.value))
        low = (clip[0] - 0.5 - output.zero_point) * scale - most  # of the layer's outputs that are not clipped
        high = (clip[1] + 0.5 - output.zero_point) * scale - least
        low = max(low, np.float64(0)) if is_rectified else low
        step = np.float32((high - low) / (_LEVELS - 1))
        levels = layer.levels(low, step) if 0 < step <= 2 * _MOST_OFF * scale else None
        if levels is None:
            return None
        numbers = np.arange(_LEVELS).astype(np.float32) * step + np.float32(low)
        sums = quantize(np.add.outer(numbers, own.numbers), output, clip)
        slopes = float(step / scale), float(own.scale / scale)
        return function_of_two(levels, x.value, sums, slopes, clip, output.dtype, exact=False)
    return None


def slopes_of_sums(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A layer's outputs where they are positive, and the rest times slopes of the layer's channels, or one for all."""
    found = sloped(real)
    layer = None if found is None else ScaledLayer.of(found[0])
    if found is None or layer is None or not np.all(found[1] >= 0) or found[1].size not in (1, real.shape[-1]):
        return None
    low, high, zero = *clip, output.zero_point
    if not low <= zero <= high:
        return None
    positive = layer.quantized(output, (zero, high))
    negative = layer.times(found[1].reshape(-1)).quantized(output, (low, zero))
    if positive is None or negative is None:
        return None
    total = Addition(multipliers=(1, 1), bias=-zero, shift=0, clip=clip, dtype=output.dtype)
    return computed(total, positive, negative)


def sloped(real: Value) -> tuple[Value, Reals] | None:
    """What a PReLU or a leaky ReLU is of, and the slopes of what is negative, in a shape that is broadcast to it."""
    if not is_function(real, "where"):
        return None
    condition, x, product = real.inputs
    if not is_function(condition, "greater") or not is_function(product, "multiply") or condition.inputs[0] is not x:
        return None
    border, others = numbers_of(condition.inputs[1]), [factor for factor in product.inputs if factor is not x]
    slopes = numbers_of(others[0]) if len(others) == 1 else None
    if slopes is None or border is None or border.size != 1 or border.item() != 0:
        return None
    return x, slopes.astype(np.float64)


def _is_relu(clip: RealClip) -> bool:
    return clip.low == 0 and math.isinf(clip.high)
