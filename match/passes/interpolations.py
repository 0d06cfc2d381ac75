"""Groups of dequantize, a bilinear resize, and quantize, as ONNX files have them, become a resize of integers.

The reference computes in floating point. The outputs are within one step of the reference's: an interpolation of
integers is off by less than 1/4 of a step before it is rounded (`match.relay.resize`), and what is rounded before or
behind that, to change the scale, by half a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.ir.dtypes import value_range
from match.relay import relay, tvm
from match.relay.qnn import dequantized, quantized
from match.relay.resize import ONE, Between, Resize
from match.relay.rewrite import New, is_call, rewrite, shape


@dataclass(frozen=True)
class FuseInterpolations:
    """Resizes of maps in NHWC, between two pixels along rows and columns."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    output = quantized(call)
    if output is None or not is_call(call.args[0], "image.resize2d"):
        return None
    attrs, source = call.args[0].attrs, dequantized(call.args[0].args[0])
    if source is None or shape(call)[0] != 1:
        return None
    if str(attrs.layout) != "NHWC" or str(attrs.method) != "linear":
        return None
    extents = zip(shape(source.x)[1:3], shape(call)[1:3], strict=True)
    mode = str(attrs.coordinate_transformation_mode)
    rows, columns = (_between(size, outputs, mode) for size, outputs in extents)
    if rows is None or columns is None:
        return None
    own, x = source.quantization, new(source.x)
    first = _has_room(own, output)
    if not first and own.scale * _MOST_OFF >= output.scale:
        return None
    x = _rescaled(x, own, output) if first else x
    kept = output if first else own
    return _rescaled(Resize(x, rows, columns, 0, kept.dtype, real=True).build(x), kept, output)


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


def _between(size: int, outputs: int, mode: str) -> Between | None:
    """The pixels below and above each output's position on the input; None for other ways to find that."""
    index = np.arange(outputs)
    match mode:
        case "half_pixel" | "pytorch_half_pixel":
            position = (index + 0.5) * size / outputs - 0.5
            if outputs == 1 and mode == "pytorch_half_pixel":
                position = np.zeros(1)
        case "asymmetric":
            position = index * size / outputs
        case "align_corners":
            position = index * (size - 1) / max(outputs - 1, 1)
        case _:
            return None
    position = position.clip(0, size - 1)
    below = np.floor(position).astype(np.int64)
    return Between(below, np.minimum(below + 1, size - 1), np.rint((position - below) * ONE).astype(np.int64))
