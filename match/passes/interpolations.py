"""dequantize → bilinear resize → quantize groups, as ONNX writes them, in integers.

The reference computes in floating point; outputs are within one step of its.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.relay import relay, tvm
from match.relay.qnn import quantization
from match.relay.resize import ONE, Between, Resize
from match.relay.rewrite import New, dtype, is_8bit, is_call, rewrite, shape


@dataclass(frozen=True)
class FuseInterpolations:
    """Resizes of maps in NHWC within one quantization, between two pixels along rows and columns."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "qnn.quantize") or not is_8bit(call):
        return None
    resize = call.args[0]
    if not is_call(resize, "image.resize2d") or not is_call(resize.args[0], "qnn.dequantize"):
        return None
    source, attrs = resize.args[0], resize.attrs
    x = source.args[0]
    if not is_8bit(x) or shape(x)[0] != 1 or str(attrs.layout) != "NHWC" or str(attrs.method) != "linear":
        return None
    own = quantization(source.args[1], source.args[2], dtype(x))
    if own is None or own != quantization(call.args[1], call.args[2], dtype(call)):
        return None
    extents = zip(shape(x)[1:3], shape(call)[1:3], strict=True)
    mode = str(attrs.coordinate_transformation_mode)
    rows, columns = (_between(size, outputs, mode) for size, outputs in extents)
    if rows is None or columns is None:
        return None
    return Resize(x, rows, columns, 0, own.dtype, real=True).build(new(x))


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
