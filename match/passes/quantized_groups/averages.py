"""Means of windows of a map, of the whole map, and along axes.

onnxruntime computes the mean of a whole map in integers if its input and output have one type, all others in float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.ir.dtypes import value_range
from match.passes.quantized_groups.quantities import as_type, in_type, parameters
from match.relay import integer_form, relay
from match.relay.float_arithmetic import divided, half_to_even
from match.relay.qnn import Dequantized, dequantized
from match.relay.rewrite import New, is_call, scalar, shape
from match.relay.windows_inside import AlikeWindows, alike_windows, pooled_inside


@dataclass(frozen=True, eq=False)
class WholeMap:
    """What a mean is taken of: all pixels of each channel of x, seen as a map of four extents in a layout.

    reduction: the operator reduces axes, and does not pool.
    """

    x: relay.Expr
    extents: tuple[int, ...]
    layout: str
    reduction: bool

    @property
    def window(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.extents[self.layout.index("H")], self.extents[self.layout.index("W")]

    def seen(self, x: relay.Expr) -> relay.Expr:
        """What stands for x, as a map."""
        return x if shape(self.x) == self.extents else relay.reshape(x, self.extents)


def whole_map(expr: relay.Expr) -> WholeMap | None:
    """What an operator takes the mean of, channel by channel; None for other operators and smaller windows."""
    if is_call(expr, "mean"):
        return _reduced(expr)
    if not is_call(expr, "nn.avg_pool2d", "nn.global_avg_pool2d"):
        return None
    found = WholeMap(expr.args[0], shape(expr.args[0]), str(expr.attrs.layout), False)
    if is_call(expr, "nn.avg_pool2d"):
        window, padding = expr.attrs.pool_size, expr.attrs.padding
        if (int(window[0]), int(window[1])) != found.window or any(int(side) for side in padding):
            return None
    return found


def _reduced(expr: relay.Call) -> WholeMap | None:
    """The operand of a mean over all axes but the batch and the channels, which are the second axis or the last."""
    extents = shape(expr.args[0])
    rank = len(extents)
    axes = sorted(int(axis) % rank for axis in expr.attrs.axis or ())
    last = axes == list(range(1, rank - 1))
    if rank < 3 or expr.attrs.exclude or not (last or axes == list(range(2, rank))):
        return None
    batch, pixels = extents[0], tuple(extents[axis] for axis in axes)
    window = pixels if rank == 4 else (math.prod(pixels), 1)
    seen = (batch, *window, extents[-1]) if last else (batch, extents[1], *window)
    return WholeMap(expr.args[0], seen, "NHWC" if last else "NCHW", True)


def map_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The mean of the whole map: pooling or reduction."""
    averaged = whole_map(expr)
    real = None if averaged is None else dequantized(averaged.x)
    if averaged is None or real is None:
        return None
    typed = in_type(real, output.dtype, new)
    pooled = _pooled(Dequantized(averaged.seen(typed.x), typed.quantization), averaged.window, averaged.layout, output)
    if averaged.reduction:
        return relay.reshape(integer_form.real_sums(pooled), shape(expr))
    return pooled if real.quantization.dtype == output.dtype else integer_form.real_sums(pooled)


def close_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Average pooling of smaller windows in integers: onnxruntime's float32 may round a half to the other side.

    Padding that counts as values becomes the zero point around the map. Where other padding is, or a window reaches
    beyond all of it, parts of the map whose windows have as many values are pooled one by one.
    """
    real = _padded(expr, new)
    if real is None or not isinstance(expr, relay.Call):
        return None
    real = as_type(real, output.dtype)
    attrs, layout = expr.attrs, str(expr.attrs.layout)
    if any(int(step) != 1 for step in attrs.dilation):
        return None
    top, left, bottom, right = (int(side) for side in attrs.padding)
    sides, x, extents = {"H": (top, bottom), "W": (left, right)}, real.x, list(shape(expr.args[0]))
    if attrs.count_include_pad and any((top, left, bottom, right)):
        zero = relay.const(real.quantization.zero_point, real.quantization.dtype)
        x = relay.nn.pad(x, [sides.get(axis, (0, 0)) for axis in layout], zero)
        extents = [extent + sum(sides.get(axis, (0, 0))) for axis, extent in zip(layout, extents, strict=True)]
        sides = {"H": (0, 0), "W": (0, 0)}
    axes: dict[int, tuple[int, Sequence[AlikeWindows]]] = {}
    for letter, size, stride in zip("HW", attrs.pool_size, attrs.strides, strict=True):
        axis = layout.index(letter)
        parts = alike_windows(extents[axis], int(size), int(stride), sides[letter][0], shape(expr)[axis])
        if parts is None:
            return None
        axes[axis] = extents[axis], parts

    def pool(x: relay.Expr, size: tuple[int, int], strides: tuple[int, int]) -> relay.Expr:
        scales = *parameters(real.quantization), *parameters(output)
        means = relay.qnn.op.avg_pool2d(x, *scales, size, strides, (0, 0, 0, 0), (1, 1), layout=layout)
        return integer_form.real_sums(means)

    return pooled_inside(x, axes, pool)


def _padded(expr: relay.Expr, new: New) -> Dequantized | None:
    """The integers that average pooling of smaller windows reads, with an operator in front that pads them by zeros."""
    if not is_call(expr, "nn.avg_pool2d"):
        return None
    source = expr.args[0]
    pad = source if is_call(source, "nn.pad") and scalar(source.args[1]) == 0 else None
    real = dequantized(source if pad is None else pad.args[0])
    if real is None or (pad is not None and str(pad.attrs.pad_mode) != "constant"):
        return None
    x = new(real.x)
    if pad is not None:
        zero = relay.const(real.quantization.zero_point, real.quantization.dtype)
        x = relay.nn.pad(x, pad.attrs.pad_width, zero)
    return Dequantized(x, real.quantization)


def _pooled(x: Dequantized, window: tuple[int, int], layout: str, output: QuantizedType) -> relay.Expr:
    """The mean of a map in the output's dtype."""
    scales = *parameters(x.quantization), *parameters(output)
    return relay.qnn.op.avg_pool2d(x.x, *scales, window, (1, 1), (0, 0, 0, 0), (1, 1), layout=layout)


def float_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Average pooling of smaller windows in float32, as onnxruntime does it: the zero point is added before rounding.

    Which way a half goes depends on each value, not on the sum: integers cannot compute the same.
    """
    if _padded(expr, new) is None:
        return None
    mean = divided(new(expr), output.scale)
    low, high = value_range(output.dtype)
    shifted = relay.add(mean, relay.const(np.float32(output.zero_point)))
    return relay.cast(half_to_even(relay.clip(shifted, low, high)), output.dtype)
