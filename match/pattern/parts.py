"""Takes expressions of the integer form apart: operators, constants, and the requantization that ends each layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.relay import relay
from match.requantize import Int64Array, Requantization
from match.transform.rewrite import dtype as dtype_of
from match.transform.rewrite import is_call, value_range

ACTIVATIONS = ("uint8", "int8")


class MismatchError(Exception):
    """The expression is not of the form that is being read."""


class Cover:
    """Takes expressions apart, operator by operator, and remembers the calls it went through."""

    def __init__(self) -> None:
        self._calls: list[relay.Expr] = []

    @property
    def calls(self) -> tuple[relay.Expr, ...]:
        """The calls gone through, the last operator first."""
        return tuple(self._calls)

    def call(self, expr: relay.Expr, op: str) -> relay.Call:
        """`expr`, if it calls the operator `op`; raises MismatchError if not."""
        if not isinstance(expr, relay.Call) or not is_call(expr, op):
            raise MismatchError
        self._calls.append(expr)
        return expr


def array(expr: relay.Expr, dtype: str) -> npt.NDArray[Any]:
    """The value of a constant of a type; raises MismatchError for anything else, as do all readers here."""
    if not isinstance(expr, relay.Constant) or dtype_of(expr) != dtype:
        raise MismatchError
    value: npt.NDArray[Any] = expr.data.numpy()
    return value


def per_channel(expr: relay.Expr, channels: int, dtype: str = "int64") -> Int64Array:
    """A constant with one entry, or one along its last axis for each channel."""
    value = array(expr, dtype)
    if value.size != 1 and (value.size != channels or value.shape[-1] != channels):
        raise MismatchError
    return np.broadcast_to(value.reshape(-1), (channels,)).astype(np.int64)


def scalar(expr: relay.Expr, dtype: str = "int64") -> int:
    """A constant with one entry."""
    return int(per_channel(expr, 1, dtype)[0])


def pair(values: Any) -> tuple[int, int]:
    """Two integers of an attribute."""
    first, second = (int(value) for value in values)
    return first, second


@dataclass(frozen=True)
class Saturated:
    """``cast(clip(right_shift(total, shift), *clip), dtype)``."""

    total: relay.Call
    shift: relay.Expr
    clip: tuple[int, int]
    dtype: str


def saturated_sum(cover: Cover, root: relay.Expr) -> Saturated:
    """The end that all requantizing layers share."""
    cast = cover.call(root, "cast")
    clip = cover.call(cast.args[0], "clip")
    shift = cover.call(clip.args[0], "right_shift")
    total = cover.call(shift.args[0], "add")
    dtype = str(cast.attrs.dtype)
    bounds = int(clip.attrs.a_min), int(clip.attrs.a_max)
    if dtype not in ACTIVATIONS or dtype_of(total) != "int64":
        raise MismatchError
    if bounds[0] < value_range(dtype)[0] or bounds[1] > value_range(dtype)[1] or bounds[0] > bounds[1]:
        raise MismatchError
    return Saturated(total, shift.args[1], bounds, dtype)


def widened(cover: Cover, expr: relay.Expr, dtype: str) -> relay.Expr:
    """The x of ``cast(x, dtype)``."""
    cast = cover.call(expr, "cast")
    if str(cast.attrs.dtype) != dtype:
        raise MismatchError
    return cast.args[0]


@dataclass(frozen=True)
class Requantized:
    """REQ of the integer form, with its accumulator and the parameters still to be read once that is understood."""

    accumulator: relay.Expr
    saturated: Saturated
    multiplier: relay.Expr
    bias: relay.Expr
    negative: tuple[relay.Expr, relay.Expr] | None

    def parameters(self, low: Int64Array, high: Int64Array) -> Requantization:
        """The requantization, for accumulators from `low` to `high`."""
        channels = len(low)
        bias = per_channel(self.bias, channels)
        below, step = None, 0
        if self.negative is not None:
            below = per_channel(self.negative[0], channels, "int32")
            steps = (bias - per_channel(self.negative[1], channels))[low < below]
            if len(np.unique(steps)) > 1:
                raise MismatchError
            step = int(steps[0]) if len(steps) else 0
            below = below if step else None
        return Requantization(
            per_channel(self.multiplier, channels),
            bias,
            per_channel(self.saturated.shift, channels),
            self.saturated.clip,
            below,
            step,
        )


def requantized(cover: Cover, root: relay.Expr) -> Requantized:
    """REQ, down to its accumulator."""
    saturated = saturated_sum(cover, root)
    product = cover.call(saturated.total.args[0], "multiply")
    accumulator = widened(cover, product.args[0], "int64")
    bias, negative = saturated.total.args[1], None
    if is_call(bias, "where"):
        condition, below_bias, bias = cover.call(bias, "where").args
        less = cover.call(condition, "less")
        if less.args[0] != accumulator:
            raise MismatchError
        negative = less.args[1], below_bias
    if dtype_of(accumulator) != "int32":
        raise MismatchError
    return Requantized(accumulator, saturated, product.args[1], bias, negative)
