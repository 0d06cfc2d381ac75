"""Builders of the integer form: the Relay that `match.passes` ends in and `match.relay.graph_reader` recognises.

docs/integer-form.md is the contract. Tensors are NHWC, accumulators int32, parameters int64 with one
entry per output channel. The forms are plain Relay operators, so that TVM computes the same integers for layers that no
module takes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.ir.constants import LOOKUP_LINE_FRACTION, LOOKUP_SUM_FRACTION
from match.ir.layer import Padding
from match.ir.requantization import Int64Array, Requantization
from match.relay import relay
from match.relay.rewrite import is_call

NO_PADDING = Padding()

Int8Array = npt.NDArray[np.int8]
Weights = npt.NDArray[np.int8 | np.int16]
KernelLayout = Literal["HWIO", "HWOI"]
SumType = Literal["int32", "int64"]


def int64(values: npt.ArrayLike) -> relay.Constant:
    """An int64 constant; `relay.const` alone would narrow it to int32."""
    return relay.const(np.asarray(values, np.int64), dtype="int64")


def saturate(value: relay.Expr, clip: tuple[int, int], dtype: str) -> relay.Expr:
    """Clip to the closed range `clip`, written out even where it is the whole range of `dtype`, and narrow."""
    return relay.cast(relay.clip(value, clip[0], clip[1]), dtype)


def requantize(
    accumulator: relay.Expr, requantization: Requantization, dtype: str, sums: SumType = "int32"
) -> relay.Expr:
    """REQ of the contract: an accumulator (..., K) of type `sums` to `dtype` ("uint8", "int8", "int16")."""
    bias: relay.Expr = int64(requantization.bias)
    if requantization.negative_below is not None and requantization.negative_step is not None:
        below = relay.const(np.asarray(requantization.negative_below, sums), dtype=sums)
        negative = int64(requantization.bias - requantization.negative_step)
        bias = relay.where(relay.less(accumulator, below), negative, bias)
    if requantization.exceptions is not None:
        one_less = requantization.bias - (np.int64(1) << requantization.shift)
        bias = relay.where(_is_exception(accumulator, requantization.exceptions, sums), int64(one_less), bias)
    scaled = relay.add(relay.multiply(relay.cast(accumulator, "int64"), int64(requantization.multiplier)), bias)
    return saturate(_shifted(scaled, requantization.shift, requantization.ties_to_even), requantization.clip, dtype)


def _shifted(total: relay.Expr, shift: npt.ArrayLike, ties_to_even: npt.NDArray[np.bool_] | None) -> relay.Expr:
    """``total >> shift``, one less at ties (`match.ir.requantization.ties`); arrays of shape (channels,) or ()."""
    if ties_to_even is not None:
        one = np.int64(1) << np.asarray(shift, np.int64)
        lowest = relay.bitwise_and(total, int64(np.where(ties_to_even, 2 * one - 1, 0)))
        tie = relay.equal(lowest, int64(np.where(ties_to_even, one, -1)))
        total = relay.subtract(total, relay.cast(tie, "int64"))
    return relay.right_shift(total, int64(shift))


def _is_exception(accumulator: relay.Expr, exceptions: Int64Array, sums: SumType) -> relay.Expr:
    """Whether an accumulator is one of its channel's exceptions, an array (channels, n)."""
    columns = [relay.const(column.astype(sums), dtype=sums) for column in exceptions.T]
    found = relay.equal(accumulator, columns[0])
    for column in columns[1:]:
        found = relay.logical_or(found, relay.equal(accumulator, column))
    return found


def real_sums(accumulator: relay.Expr) -> relay.Expr:
    """A mark: the reference computes in floating point, and outputs in integers are within one step of its outputs.

    The mark changes no number; the report reads it. It stands around

    - the sums of a layer;
    - a QNN operator that requantizes: the outputs of that operator are meant;
    - the places of entries in a table: the entries are meant;
    - a dequantize: the operators that read the dequantized tensor are meant.
    """
    return relay.annotation.stop_fusion(accumulator)


def is_real_sums(expr: relay.Expr) -> bool:
    """Whether it is `real_sums`."""
    return is_call(expr, "annotation.stop_fusion")


def unmarked(expr: relay.Expr) -> relay.Expr:
    """An expression without the mark `real_sums` around it, if it has one."""
    return expr.args[0] if isinstance(expr, relay.Call) and is_real_sums(expr) else expr


def convolution(
    x: relay.Expr,
    weights: Weights,
    *,
    x_dtype: str = "uint8",
    strides: tuple[int, int] = (1, 1),
    padding: Padding = NO_PADDING,
    dilation: tuple[int, int] = (1, 1),
    groups: int = 1,
    kernel_layout: KernelLayout = "HWIO",
    pad_value: int = 0,
    sums: SumType = "int32",
) -> relay.Expr:
    """Sums of x (N, H, W, C) and weights (FY, FX, C / groups, K), in the layout HWIO.

    Depthwise, where `groups` is C > 1, weights are (FY, FX, C, K / C), in the layout HWOI. The layout is an argument
    since the two shapes are alike where C is the square of `groups`.

    `x_dtype` is x's type and `pad_value` the integer in the padding; other than 0 it becomes an `nn.pad` before the
    convolution, and so does padding that some window may lie in alone.
    """
    depthwise = kernel_layout == "HWOI"
    seen = [(extent - 1) * step for extent, step in zip(weights.shape[:2], dilation, strict=True)]
    alone = any(side > most for side, most in zip(padding, (*seen, *seen), strict=True))
    if any(padding) and (pad_value != 0 or alone):
        rows, columns = (padding.top, padding.bottom), (padding.left, padding.right)
        x = relay.nn.pad(x, ((0, 0), rows, columns, (0, 0)), relay.const(pad_value, x_dtype))
        padding = Padding()
    return relay.nn.conv2d(
        x,
        relay.const(weights),
        strides=strides,
        padding=tuple(padding),
        dilation=dilation,
        groups=groups,
        channels=weights.shape[2] * weights.shape[3] if depthwise else weights.shape[3],
        kernel_size=weights.shape[:2],
        data_layout="NHWC",
        kernel_layout=kernel_layout,
        out_dtype=sums,
    )


def product(x: relay.Expr, weights: Weights, sums: SumType = "int32") -> relay.Expr:
    """Products of x (N, C) with weights (K, C), transposed."""
    return relay.nn.dense(x, relay.const(weights), units=len(weights), out_dtype=sums)


def window_sum(
    x: relay.Expr,
    window: tuple[int, int],
    strides: tuple[int, int],
    whole_map: bool,
) -> relay.Expr:
    """int32 sums of x (N, H, W, C) over windows without padding; `whole_map` when one window is all of H x W."""
    wide = relay.cast(x, "int32")
    if whole_map:
        return relay.sum(wide, axis=(1, 2), keepdims=True)
    # The mean of values multiplied by the window's size is their sum: the integer division leaves no remainder.
    scaled = relay.multiply(wide, relay.const(window[0] * window[1], "int32"))
    return relay.nn.avg_pool2d(scaled, pool_size=window, strides=strides, layout="NHWC", out_layout="NHWC")


def max_pool2d(
    x: relay.Expr,
    *,
    window: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    padding: Padding = NO_PADDING,
    dilation: tuple[int, int] = (1, 1),
) -> relay.Expr:
    """Maximum pooling of x (N, H, W, C); padding never wins against a value."""
    return relay.nn.max_pool2d(
        x,
        pool_size=window,
        strides=strides,
        dilation=dilation,
        padding=tuple(padding),
        layout="NHWC",
        out_layout="NHWC",
    )


def add(
    a: relay.Expr,
    b: relay.Expr,
    multipliers: tuple[int, int],
    bias: int,
    shift: int,
    clip: tuple[int, int],
    dtype: str,
    *,
    ties_to_even: bool = False,
    real: bool = False,
) -> relay.Expr:
    """``clip((a * multipliers[0] + b * multipliers[1] + bias) >> shift)`` of two tensors; one may be broadcast.

    `ties_to_even`: see `match.ir.requantization.Requantization`. `real`: see `real_sums`.
    """
    first, second = (
        relay.multiply(relay.cast(operand, "int64"), int64(multiplier))
        for operand, multiplier in zip((a, b), multipliers, strict=True)
    )
    both = relay.add(first, second)
    total = relay.add(real_sums(both) if real else both, int64(bias))
    return saturate(_shifted(total, shift, np.array(True) if ties_to_even else None), clip, dtype)


def multiply(
    a: relay.Expr,
    b: relay.Expr,
    zero_points: tuple[int, int],
    requantization: Requantization,
    dtype: str,
    *,
    real: bool = False,
) -> relay.Expr:
    """Product of two tensors less their zero points, requantized as one channel; one of them may be broadcast.

    `real`: see `real_sums`.
    """
    first, second = _less_zero_points((a, b), zero_points)
    product = relay.multiply(first, second)
    return requantize(real_sums(product) if real else product, requantization, dtype)


def _less_zero_points(
    operands: tuple[relay.Expr, relay.Expr], zero_points: tuple[int, int], sums: SumType = "int32"
) -> list[relay.Expr]:
    """Two tensors as wider numbers, each less its zero point."""
    return [
        relay.subtract(relay.cast(operand, sums), relay.const(np.asarray(zero_point, sums), dtype=sums))
        for operand, zero_point in zip(operands, zero_points, strict=True)
    ]


def squared_difference(
    a: relay.Expr,
    b: relay.Expr,
    x_dtypes: tuple[str, str],
    steps: Int64Array,
    requantization: Requantization,
    dtype: str,
) -> relay.Expr:
    """Square of the difference of two tensors through a table each, `steps` (2, 256), requantized as one channel."""
    first, second = _taken((a, b), x_dtypes, steps)
    difference = relay.subtract(first, second)
    return requantize(relay.multiply(difference, difference), requantization, dtype)


def lookup_sum(
    a: relay.Expr,
    b: relay.Expr,
    x_dtypes: tuple[str, str],
    tables: Int64Array,
    clip: tuple[int, int],
    dtype: str,
    *,
    real: bool = False,
) -> relay.Expr:
    """Sum of two tensors through a table each, `tables` (2, 256) with `LOOKUP_SUM_FRACTION` bits after the point.

    One tensor may be broadcast. Sums are rounded down and clipped. `real`: see `real_sums`.
    """
    first, second = _taken((a, b), x_dtypes, tables)
    total = relay.add(first, second)
    shift = relay.const(LOOKUP_SUM_FRACTION, "int32")
    return saturate(relay.right_shift(real_sums(total) if real else total, shift), clip, dtype)


def lookup_line(
    a: relay.Expr,
    b: relay.Expr,
    x_dtypes: tuple[str, str],
    lines: Int64Array,
    clip: tuple[int, int],
    dtype: str,
    *,
    real: bool = False,
) -> relay.Expr:
    """A line of each value of a that the value of b chooses: slopes and biases, `lines` (2, 256) by b's values rising.

    They have `LOOKUP_LINE_FRACTION` bits after the point. One tensor may be broadcast. Outputs are rounded down and
    clipped. `real`: see `real_sums`.
    """
    slopes, biases = _taken((b, b), (x_dtypes[1], x_dtypes[1]), lines)
    total = relay.add(relay.multiply(relay.cast(a, "int32"), slopes), biases)
    shift = relay.const(LOOKUP_LINE_FRACTION, "int32")
    return saturate(relay.right_shift(real_sums(total) if real else total, shift), clip, dtype)


def absolute_difference(
    a: relay.Expr,
    b: relay.Expr,
    x_dtypes: tuple[str, str],
    tables: Int64Array,
    clip: tuple[int, int],
    dtype: str,
) -> relay.Expr:
    """Difference of two tensors without its sign, the sum of a table of each, `tables` as of `lookup_sum`.

    One tensor may be broadcast. Sums are rounded down before they lose their signs. Outputs begin at the lower end of
    `clip`.
    """
    difference = relay.add(*_taken((a, b), x_dtypes, tables))
    distance = relay.abs(relay.right_shift(difference, relay.const(LOOKUP_SUM_FRACTION, "int32")))
    return saturate(relay.add(distance, relay.const(clip[0], "int32")), clip, dtype)


def _taken(operands: tuple[relay.Expr, relay.Expr], x_dtypes: tuple[str, str], tables: Int64Array) -> list[relay.Expr]:
    """Each operand through its table of int32 numbers; `tables` (2, 256) are in ascending order of the values."""
    return [
        relay.take(relay.const(table.astype(np.int32)), _index(x, x_dtype))
        for table, x, x_dtype in zip(tables, operands, x_dtypes, strict=True)
    ]


def matrices(
    a: relay.Expr,
    b: relay.Expr,
    zero_points: tuple[int, int],
    requantization: Requantization,
    dtype: str,
    sums: SumType = "int32",
    *,
    real: bool = False,
) -> relay.Expr:
    """Products of a (batch, rows, C) with b (batch, columns, C), transposed, less their zero points, requantized.

    `real`: see `real_sums`.
    """
    first, second = _less_zero_points((a, b), zero_points, sums)
    product = relay.nn.batch_matmul(first, second, out_dtype=sums)
    return requantize(real_sums(product) if real else product, requantization, dtype, sums)


def lookup(x: relay.Expr, outputs: Int64Array, x_dtype: str, dtype: str, *, real: bool = False) -> relay.Expr:
    """Any function of one 8-bit value: `outputs` has 256 entries, in ascending order of x.

    `real`: see `real_sums`, which then is around the place in the table.
    """
    return _entries(outputs, _index(x, x_dtype), dtype, real)


def channel_lookup(
    x: relay.Expr, outputs: Int64Array, x_dtype: str, dtype: str, axes_behind: int = 0, *, real: bool = False
) -> relay.Expr:
    """Any function of an 8-bit value and its channel: `outputs` (channels, 256), each row in ascending order of x.

    `axes_behind`: number of axes after the channels' axis; the integer form has none. `real` as for a `lookup`.
    """
    first = 256 * np.arange(len(outputs), dtype=np.int32).reshape(-1, *[1] * axes_behind)
    return _entries(outputs, relay.add(_index(x, x_dtype), relay.const(first)), dtype, real)


def lookup_pair(
    a: relay.Expr, b: relay.Expr, outputs: Int64Array, dtypes: tuple[str, str], dtype: str, *, real: bool = False
) -> relay.Expr:
    """Any function of two 8-bit values: `outputs` has shape (256, 256), in ascending order of a and b.

    `real` as for a `lookup`.
    """
    row = relay.multiply(_index(a, dtypes[0]), relay.const(256, "int32"))
    return _entries(outputs, relay.add(row, _index(b, dtypes[1])), dtype, real)


def real_lookup(x: relay.Expr, numbers: Float32Array, x_dtype: str, *, real: bool = False) -> relay.Expr:
    """A function of one 8-bit value in float32: `numbers` (256,), in ascending order of x; `real` as for a `lookup`."""
    return _entries(numbers, _index(x, x_dtype), "float32", real)


def _entries(outputs: Int64Array | Float32Array, index: relay.Expr, dtype: str, real: bool) -> relay.Expr:
    return relay.take(relay.const(outputs.astype(dtype).reshape(-1)), real_sums(index) if real else index)


def _index(x: relay.Expr, dtype: str) -> relay.Expr:
    """Position of an 8-bit value among all values of its type."""
    wide = relay.cast(x, "int32")
    return wide if dtype == "uint8" else relay.add(wide, relay.const(128, "int32"))
