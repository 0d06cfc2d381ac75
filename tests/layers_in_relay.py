"""Layers in integer form as Relay (docs/integer-form.md)."""

from __future__ import annotations

from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.relay import integer_form, relay


def conv2d(
    x: relay.Expr,
    weights: integer_form.Int8Array,
    requantization: Requantization,
    dtype: str,
    *,
    x_dtype: str = "uint8",
    strides: tuple[int, int] = (1, 1),
    padding: Padding = integer_form.NO_PADDING,
    dilation: tuple[int, int] = (1, 1),
    groups: int = 1,
    kernel_layout: integer_form.KernelLayout = "HWIO",
    pad_value: int = 0,
    real: bool = False,
) -> relay.Expr:
    """Convolution, requantized: see `convolution` and `real_sums`."""
    accumulator = integer_form.convolution(
        x,
        weights,
        x_dtype=x_dtype,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        kernel_layout=kernel_layout,
        pad_value=pad_value,
    )
    return integer_form.requantize(integer_form.real_sums(accumulator) if real else accumulator, requantization, dtype)


def dense(x: relay.Expr, weights: integer_form.Weights, requantization: Requantization, dtype: str) -> relay.Expr:
    """Product of x (N, C) with weights (K, C), transposed, requantized."""
    return integer_form.requantize(integer_form.product(x, weights), requantization, dtype)


def avg_pool2d(
    x: relay.Expr,
    requantization: Requantization,
    dtype: str,
    *,
    window: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    whole_map: bool = False,
    real: bool = False,
) -> relay.Expr:
    """Average pooling of x (N, H, W, C): the window's sum, requantized; see `real_sums`."""
    sums = integer_form.window_sum(x, window, strides, whole_map)
    return integer_form.requantize(integer_form.real_sums(sums) if real else sums, requantization, dtype)
