"""Groups of dequantize, a linear resize, and quantize, as ONNX files have them, become a resize of integers.

The reference computes in floating point. The outputs are within one step of the reference's. An interpolation of
integers is off by less than 1/4 of a step before it is rounded (`match.relay.resize`). Where the scale changes before
or after it, that rounding adds half a step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.graph.resize import ONE, Between, Resize
from match.ir.dtypes import value_range
from match.relay import relay, tvm
from match.relay.qnn import dequantized, quantized
from match.relay.resampling import Interpolated, read_interpolated
from match.relay.resize import resized
from match.relay.rewrite import New, rewrite, shape

_MAP = (1, 2)
"""Axes of rows and columns in NHWC."""


@dataclass(frozen=True)
class FuseInterpolations:
    """Resizes along one axis or two, of tensors of any rank: a map has its rows and columns in these axes."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    output = quantized(call)
    if output is None:
        return None
    expr, steps = call.args[0], dict[int, Interpolated]()
    while (step := read_interpolated(expr)) is not None and step.axis not in steps:
        steps[step.axis], expr = step, step.x
    source = dequantized(expr)
    if source is None or len(steps) not in (1, 2):
        return None
    own, x = source.quantization, new(source.x)
    first = _has_room(own, output)
    if not first and own.scale * _MOST_OFF >= output.scale:
        return None
    x = _rescaled(x, own, output) if first else x
    kept = output if first else own
    return _rescaled(_resized(x, shape(source.x), steps, kept.dtype), kept, output)


def _resized(x: relay.Expr, extents: tuple[int, ...], steps: Mapping[int, Interpolated], dtype: str) -> relay.Expr:
    """A tensor of these extents, resized along the axes of the steps."""
    if len(extents) == 4 and extents[0] == 1 and steps.keys() <= {*_MAP}:
        rows, columns = (_between(steps[axis]) if axis in steps else _same(extents[axis]) for axis in _MAP)
        return resized(Resize(rows=rows, columns=columns, zero=0, dtype=dtype), x, exact=False)
    axes = sorted(steps)
    behind = [axis for axis in range(len(extents)) if axis not in steps]
    between = [*(_same(1) for _ in range(2 - len(axes))), *(_between(steps[axis]) for axis in axes)]
    rest = [extents[axis] for axis in behind]
    seen = [1, *(1 for _ in range(2 - len(axes))), *(extents[axis] for axis in axes), math.prod(rest)]
    x = relay.reshape(relay.transpose(x, [*axes, *behind]), seen)
    x = resized(Resize(rows=between[0], columns=between[1], zero=0, dtype=dtype), x, exact=False)
    x = relay.reshape(x, [*(len(steps[axis].below) for axis in axes), *rest])
    return relay.transpose(x, [int(axis) for axis in np.argsort([*axes, *behind])])


def _between(step: Interpolated) -> Between:
    weights = np.rint(step.weight.astype(np.float64) * ONE).astype(np.int64)
    return Between(step.below.astype(np.int64), step.above.astype(np.int64), weights)


def _same(extent: int) -> Between:
    """Elements that stay as they are."""
    index = np.arange(extent)
    return Between(index, index, np.zeros(extent, np.int64))


_MOST_OFF = 0.75
"""Steps of an interpolation that an output in them may be off by."""


def _has_room(inputs: QuantizedType, output: QuantizedType) -> bool:
    """Whether a quantization has all numbers of another one, to half a step."""
    steps = (inputs.levels - inputs.zero_point) * (float(inputs.scale) / float(output.scale)) + output.zero_point
    low, high = value_range(output.dtype)
    return bool(low - 0.5 <= steps.min() and steps.max() <= high + 0.5)


def _rescaled(x: relay.Expr, inputs: QuantizedType, output: QuantizedType) -> relay.Expr:
    if inputs == output:
        return x
    scales = (relay.const(inputs.scale), relay.const(inputs.zero_point, "int32"))
    others = (relay.const(output.scale), relay.const(output.zero_point, "int32"))
    return relay.qnn.op.requantize(x, *scales, *others, out_dtype=output.dtype)
