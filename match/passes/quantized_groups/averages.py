"""Means of windows of a map, of the whole map, and along axes; sums along axes, which are means of a finer scale.

onnxruntime computes the mean of a whole map in integers if its input and output have one type, all others in float32.
Those are integers here, too, where float32 is proven to round them alike (`match.arithmetic.window_means`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.window_means import is_mean_of_sum
from match.passes.quantized_groups.inside import pooled_inside
from match.passes.quantized_groups.quantities import as_type, in_type, parameters
from match.quantized.windows_inside import AlikeWindows, alike_windows
from match.relay import integer_form, relay
from match.relay.float_averages import quantized_mean
from match.relay.qnn import Dequantized, dequantized
from match.relay.rewrite import New, is_call, scalar, shape


@dataclass(frozen=True, eq=False)
class Mean:
    """What a mean is taken of: windows of x, seen as a map of four extents in a layout.

    window: its rows and columns; windows lie side by side, without padding.
    reduction: the operator reduces axes, and does not pool.
    summed: it is a sum and no mean, so that it is not divided.
    """

    x: relay.Expr
    extents: tuple[int, ...]
    layout: str
    window: tuple[int, int]
    reduction: bool
    summed: bool = False

    @property
    def count(self) -> int:
        """Elements of a window."""
        return math.prod(self.window)

    @property
    def whole(self) -> bool:
        """Whether each channel has one window."""
        return self.window == (self.extents[self.layout.index("H")], self.extents[self.layout.index("W")])

    def seen(self, x: relay.Expr) -> relay.Expr:
        """What stands for x, as a map."""
        return x if shape(self.x) == self.extents else relay.reshape(x, self.extents)


def mean_of(expr: relay.Expr) -> Mean | None:
    """What an operator takes the mean or sum of; None for others, and for windows that overlap or see padding."""
    if is_call(expr, "mean", "sum"):
        return _reduced(expr)
    if not is_call(expr, "nn.avg_pool2d", "nn.global_avg_pool2d"):
        return None
    layout, extents = str(expr.attrs.layout), shape(expr.args[0])
    sides = extents[layout.index("H")], extents[layout.index("W")]
    if is_call(expr, "nn.global_avg_pool2d"):
        return Mean(expr.args[0], extents, layout, sides, False)
    attrs = expr.attrs
    window, strides = (int(attrs.pool_size[0]), int(attrs.pool_size[1])), (int(attrs.strides[0]), int(attrs.strides[1]))
    spaced = any(int(side) for side in attrs.padding) or any(int(step) != 1 for step in attrs.dilation)
    beside = window in (strides, sides) and all(side % size == 0 for side, size in zip(sides, window, strict=True))
    return None if spaced or not beside else Mean(expr.args[0], extents, layout, window, False)


def _reduced(expr: relay.Call) -> Mean | None:
    """The operand of a mean or a sum along neighbouring axes; None where a product with ones is less to do.

    That is along the last axis, unless it is that of a sequence's mean, and along the channels of a map.
    """
    extents = shape(expr.args[0])
    rank, summed = len(extents), is_call(expr, "sum")
    axes = sorted(int(axis) % rank for axis in expr.attrs.axis or ())
    if not axes or axes != list(range(axes[0], axes[-1] + 1)) or expr.attrs.exclude:
        return None
    first, last, pixels = axes[0], axes[-1] + 1, extents[axes[0] : axes[-1] + 1]
    alone = rank > 2 and extents[0] == 1
    window = (pixels[0], pixels[1]) if rank == 4 and len(pixels) == 2 else (math.prod(pixels), 1)
    if alone and (first, last) == (2, rank) and not (summed and rank == 3):
        seen, layout = (*extents[:2], *window), "NCHW"
    elif alone and rank == 4 and axes == [2]:
        seen, layout = extents, "NCHW"
    elif alone and (first, last) == (1, rank - 1):
        seen, layout = (1, *window, extents[-1]), "NHWC"
    elif last < rank and not (alone and rank == 4 and axes == [1]):
        window = 1, math.prod(pixels)
        seen, layout = (1, math.prod(extents[:first]), window[1], math.prod(extents[last:])), "NHWC"
    else:
        return None
    return Mean(expr.args[0], seen, layout, window, True, summed)


def map_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The mean of the whole map by pooling, or the mean or the sum along some of its axes."""
    expr, output, close = _read(expr, output)
    mean = mean_of(expr)
    real = None if mean is None else dequantized(mean.x)
    if mean is None or real is None or not (mean.whole or mean.reduction):
        return None
    typed = in_type(real, output.dtype, new)
    scaled = replace(output, scale=output.scale / np.float32(mean.count)) if mean.summed else output
    pooled = _pooled(Dequantized(mean.seen(typed.x), typed.quantization), mean.window, mean.layout, scaled)
    pooling = is_call(expr, "nn.global_avg_pool2d") and not real.real
    in_integers = pooling and real.quantization.dtype == output.dtype
    proven = not mean.summed and (in_integers or is_mean_of_sum(typed.quantization, mean.count, output))
    if close or not proven:
        pooled = integer_form.real_sums(pooled)
    return relay.reshape(pooled, shape(expr)) if mean.reduction else pooled


def close_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Average pooling of smaller windows in integers: onnxruntime's float32 may round a half to the other side."""
    return _windows(expr, output, new, exact=False)


def exact_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The same where that cannot be, as every sum is far enough from a half."""
    return _windows(expr, output, new, exact=True)


def _windows(expr: relay.Expr, output: QuantizedType, new: New, *, exact: bool) -> relay.Expr | None:
    """Average pooling of smaller windows in integers; None if all is to be `exact` and not all is proven to be.

    Of a marked tensor the reference adds up in an order that is not known, so that no other form is exact either.
    Padding that counts as values becomes the zero point around the map. Where other padding is, or a window reaches
    beyond all of it, parts of the map whose windows have as many values are pooled one by one.
    """
    expr, output, close = _read(expr, output)
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
        x = _zeros_around(real, layout, (top, left, bottom, right)).x
        extents = [extent + sum(sides.get(axis, (0, 0))) for axis, extent in zip(layout, extents, strict=True)]
        sides = {"H": (0, 0), "W": (0, 0)}
    axes: dict[int, tuple[int, Sequence[AlikeWindows]]] = {}
    for letter, size, stride in zip("HW", attrs.pool_size, attrs.strides, strict=True):
        axis = layout.index(letter)
        parts = alike_windows(extents[axis], int(size), int(stride), sides[letter][0], shape(expr)[axis])
        if parts is None:
            return None
        axes[axis] = extents[axis], parts
    rows, columns = ({part.size for part in axes[layout.index(letter)][1]} for letter in "HW")
    counts = {height * width for height in rows for width in columns}
    close = close or real.real
    proven = {count: not close and is_mean_of_sum(real.quantization, count, output) for count in counts}
    if exact and not real.real and not all(proven.values()):
        return None

    def pool(x: relay.Expr, size: tuple[int, int], strides: tuple[int, int]) -> relay.Expr:
        scales = *parameters(real.quantization), *parameters(output)
        means = relay.qnn.op.avg_pool2d(x, *scales, size, strides, (0, 0, 0, 0), (1, 1), layout=layout)
        return means if proven[math.prod(size)] else integer_form.real_sums(means)

    return pooled_inside(x, axes, pool)


def _read(expr: relay.Expr, output: QuantizedType) -> tuple[relay.Expr, QuantizedType, bool]:
    """An average, what it is quantized to, and whether it is not exact: it is marked, or multiplied by a number.

    The number, with which some quantizers follow the division of their hardware, goes into the scale.
    """
    if is_call(expr, "multiply"):
        for factor, average in (expr.args, reversed(expr.args)):
            number = scalar(factor)
            if number is not None and number > 0 and shape(average) == shape(expr):
                return average, replace(output, scale=np.float32(output.scale / number)), True
    if isinstance(expr, relay.Call) and integer_form.is_real_sums(expr):
        return expr.args[0], output, True
    return expr, output, False


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
    return replace(real, x=x)


def _pooled(x: Dequantized, window: tuple[int, int], layout: str, output: QuantizedType) -> relay.Expr:
    """The mean of a map in the output's dtype."""
    scales = *parameters(x.quantization), *parameters(output)
    return relay.qnn.op.avg_pool2d(x.x, *scales, window, (1, 1), (0, 0, 0, 0), (1, 1), layout=layout)


def float_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Average pooling of smaller windows in float32, as onnxruntime does it (`match.relay.float_averages`).

    It stays where which way a half goes depends on each value, not on the sum: integers cannot compute the same.
    """
    real = _padded(expr, new)
    if real is None or not isinstance(expr, relay.Call):
        return None
    attrs = expr.attrs
    sides, counted = [int(side) for side in attrs.padding], bool(attrs.count_include_pad)
    if counted and any(sides) and not attrs.ceil_mode:
        real, sides = _zeros_around(real, str(attrs.layout), sides), [0, 0, 0, 0]
    pooled = relay.nn.avg_pool2d(
        relay.qnn.op.dequantize(real.x, *parameters(real.quantization)),
        attrs.pool_size,
        attrs.strides,
        attrs.dilation,
        sides,
        attrs.layout,
        ceil_mode=attrs.ceil_mode,
        count_include_pad=counted and any(sides),
    )
    return quantized_mean(pooled, output)


def _zeros_around(real: Dequantized, layout: str, padding: Sequence[int]) -> Dequantized:
    """A map with so many rows and columns of its zero point before and after it."""
    top, left, bottom, right = padding
    sides = {"H": (top, bottom), "W": (left, right)}
    zero = relay.const(real.quantization.zero_point, real.quantization.dtype)
    return replace(real, x=relay.nn.pad(real.x, [sides.get(axis, (0, 0)) for axis in layout], zero))
