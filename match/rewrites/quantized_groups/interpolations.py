"""Linear resizes of integers, within one step of floating point.

An interpolation of integers is off by less than 1/4 of a step before it is rounded (`match.relay.resize`). Where the
scale changes before or after it, that rounding adds half a step.
"""

from __future__ import annotations

import math

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.graph.integers import Clip
from match.graph.make import lookup, reshaped, transposed
from match.graph.maps import TO_LAST
from match.graph.resize import Between, RealInterpolation, Resize
from match.graph.value import Value, computed
from match.rewrites.quantized_groups.quantities import dequantized

Limits = tuple[int, int]

_MOST_OFF = 0.75
"""Steps of an interpolation that an output in them may be off by."""


def interpolation(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A resize along one axis or two, of a tensor of any rank; None where integers are too coarse."""
    steps: dict[int, RealInterpolation] = {}
    x = real
    while isinstance(x.operator, RealInterpolation) and x.operator.axis not in steps:
        steps[x.operator.axis] = x.operator
        (x,) = x.inputs
    source = dequantized(x)
    if source is None or len(steps) not in (1, 2):
        return None
    own = source.quantization
    first = _has_room(own, output)
    if not first and own.scale * _MOST_OFF >= output.scale:
        return None
    kept = output if first else own
    before = _rescaled(source.value, own, kept, kept.limits)
    between = {axis: step.between for axis, step in steps.items()}
    return _rescaled(_resized(before, between, kept.dtype, real.source), kept, output, clip)


def _resized(x: Value, steps: dict[int, Between], dtype: str, source: str) -> Value:
    """A tensor resized along one axis or two, which become the rows and columns of a map.

    `source` is what the model calls the operator, which stands between moves here.
    """
    extents, axes = x.shape, sorted(steps)
    others = [axis for axis in range(len(extents)) if axis not in steps]
    if len(extents) == 4 and extents[0] == 1 and axes[0] > 1:  # a map, channels first
        order, seen = [*TO_LAST], [extents[0], extents[2], extents[3], extents[1]]
        rows, columns = (steps.get(axis, _same(extents[axis])) for axis in (2, 3))
    else:
        missing, order = [1] * (2 - len(axes)), [*axes, *others]
        seen = [1, *missing, *(extents[axis] for axis in axes), math.prod(extents[axis] for axis in others)]
        rows, columns = (*(_same(1) for _ in missing), *(steps[axis] for axis in axes))
    map_ = reshaped(transposed(x, order), seen)
    made = computed(Resize(rows=rows, columns=columns, zero=0, dtype=dtype), map_, exact=False, source=source)
    sizes = [len(steps[axis].weight) if axis in steps else extents[axis] for axis in order]
    return transposed(reshaped(made, sizes), np.argsort(order).tolist())


def _same(extent: int) -> Between:
    """Elements that stay as they are."""
    index = np.arange(extent)
    return Between(index, index, np.zeros(extent, np.int64))


def _has_room(inputs: QuantizedType, output: QuantizedType) -> bool:
    """Whether a quantization has all numbers of another one, to half a step."""
    steps = (inputs.levels - inputs.zero_point) * (float(inputs.scale) / float(output.scale)) + output.zero_point
    low, high = output.limits
    return bool(low - 0.5 <= steps.min() and steps.max() <= high + 0.5)


def _rescaled(x: Value, inputs: QuantizedType, output: QuantizedType, clip: Limits) -> Value:
    if inputs != output:
        return lookup(x, OnnxruntimeArithmetic().requantize(inputs, output, clip).astype(output.dtype))
    return x if clip == output.limits else computed(Clip(limits=clip, dtype=output.dtype), x)
