"""Groups of dequantize, a bilinear resize, and quantize, as ONNX files have them, become a resize of integers.

The reference computes in floating point. The outputs are within one step of the reference's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.relay import relay, tvm
from match.relay.qnn import dequantized, quantized
from match.relay.resize import ONE, Between, Resize
from match.relay.rewrite import New, is_call, rewrite, shape


@dataclass(frozen=True)
class FuseInterpolations:
    """Resizes of maps in NHWC within one quantization, between two pixels along rows and columns."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    output = quantized(call)
    if output is None or not is_call(call.args[0], "image.resize2d"):
        return None
    attrs, source = call.args[0].attrs, dequantized(call.args[0].args[0])
    if source is None or source.quantization != output or shape(call)[0] != 1:
        return None
    if str(attrs.layout) != "NHWC" or str(attrs.method) != "linear":
        return None
    extents = zip(shape(source.x)[1:3], shape(call)[1:3], strict=True)
    mode = str(attrs.coordinate_transformation_mode)
    rows, columns = (_between(size, outputs, mode) for size, outputs in extents)
    if rows is None or columns is None:
        return None
    return Resize(source.x, rows, columns, 0, output.dtype, real=True).build(new(source.x))


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
