"""Whether a chain of integer operators stays within its types: only then it computes what exact integers would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from match.ir.step_function import reachable_sums
from match.relay import relay
from match.relay.readers import output_range
from match.relay.rewrite import constant, dtype, is_8bit, is_call, operator_name, shape

Bounds = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Smallest and largest value of each channel, or of all in arrays of one; Python's integers, which do not overflow."""


def stays_within(chain: relay.Expr, leaves: Sequence[relay.Expr]) -> bool:
    """Whether no operator of a chain that begins with `leaves` can leave the range of its type."""
    known: dict[relay.Expr, Bounds | None] = {leaf: _of_leaf(leaf) for leaf in leaves}

    def bounds(expr: relay.Expr) -> Bounds | None:
        if expr not in known:
            found = _of_constant(expr) if isinstance(expr, relay.Constant) else _of_step(expr, *map(bounds, expr.args))
            limits = np.iinfo(dtype(expr))
            fits = found is not None and found[0].min() >= limits.min and found[1].max() <= limits.max
            known[expr] = found if fits else None
        return known[expr]

    return bounds(chain) is not None


def channel_values(number: relay.Expr, channels: int) -> npt.NDArray[Any] | None:
    """The integers of a constant for each channel, the last axis; None for other constants and expressions."""
    values = constant(number)
    if values is None or values.dtype.kind not in "iu" or values.size not in (1, channels):
        return None
    if values.size > 1 and values.shape[-1] != channels:
        return None
    return np.broadcast_to(values.reshape(-1).astype(object), (channels,))


def _of_constant(expr: relay.Expr) -> Bounds | None:
    values = constant(expr)
    if values is None or values.dtype.kind not in "iu" or not values.size:
        return None
    numbers = values.reshape(-1).astype(object)
    along = numbers if values.ndim and values.shape[-1] == values.size else np.array([numbers.min(), numbers.max()])
    return (along, along) if along is numbers else (along[:1], along[1:])


def _of_leaf(leaf: relay.Expr) -> Bounds | None:
    if is_8bit(leaf):
        return _whole(output_range(leaf, dtype(leaf)))
    if is_call(leaf, "multiply"):
        factors = [_of_leaf(factor.args[0]) if is_call(factor, "cast") else None for factor in leaf.args]
        return None if None in factors else _of_step(leaf, *factors)
    weights = _weights_by_channel(leaf)
    if weights is not None:
        low, high = output_range(leaf.args[0], dtype(leaf.args[0]))
        ends = reachable_sums(weights, (min(low, 0), max(high, 0)))
        return ends[0].astype(object), ends[1].astype(object)
    count = _summed(leaf)
    if count:
        x = leaf.args[0].args[0]
        low, high = output_range(x, dtype(x))
        return _whole((count * low, count * high))
    limits = np.iinfo("int32")
    return _whole((int(limits.min), int(limits.max)))


def _whole(ends: tuple[int, int]) -> Bounds:
    return np.array([ends[0]], object), np.array([ends[1]], object)


def _weights_by_channel(leaf: relay.Expr) -> npt.NDArray[Any] | None:
    """The weights of each output channel of a convolution or dense layer of 8 bits; None for other expressions."""
    if not is_call(leaf, "nn.conv2d", "nn.dense") or not is_8bit(leaf.args[0]):
        return None
    weights = constant(leaf.args[1])
    if weights is None or is_call(leaf, "nn.dense"):
        return weights
    layout, groups = str(leaf.attrs.kernel_layout), int(leaf.attrs.groups)
    if str(leaf.attrs.data_layout) != "NHWC" or layout not in ("HWIO", "HWOI"):
        return None
    if layout == "HWIO":
        return weights.reshape(-1, weights.shape[3]).T
    return weights.reshape(-1, weights.shape[2] * weights.shape[3]).T if groups == weights.shape[2] else None


def _summed(leaf: relay.Expr) -> int:
    """How many 8-bit values an int32 sum adds; 0 for other expressions."""
    if not is_call(leaf, "sum") or not is_call(leaf.args[0], "cast") or not is_8bit(leaf.args[0].args[0]):
        return 0
    return int(np.prod(shape(leaf.args[0])) // np.prod(shape(leaf)))


def _of_step(expr: relay.Expr, *operands: Bounds | None) -> Bounds | None:
    """What an operator makes of what its operands can be."""
    known = [operand for operand in operands if operand is not None]
    if len(known) < len(operands) or not isinstance(expr, relay.Call):
        return None
    (low, high), *others = known
    match operator_name(expr):
        case "cast":
            return low, high
        case "clip":
            ends = int(expr.attrs.a_min), int(expr.attrs.a_max)
            return np.clip(low, *ends), np.clip(high, *ends)
        case "nn.relu":
            return np.maximum(low, 0), np.maximum(high, 0)
        case "maximum":
            return np.maximum(low, others[0][0]), np.maximum(high, others[0][1])
        case "add":
            return low + others[0][0], high + others[0][1]
        case "nn.bias_add" if int(expr.attrs.axis) % len(shape(expr)) == len(shape(expr)) - 1:
            return low + others[0][0], high + others[0][1]
        case "subtract":
            return low - others[0][1], high - others[0][0]
        case "multiply":
            ends = [first * second for first in (low, high) for second in others[0]]
            return np.minimum.reduce(ends), np.maximum.reduce(ends)
        case "right_shift" if np.all(others[0][0] >= 0) and np.all(others[0][1] < np.iinfo(dtype(expr)).bits):
            ends = [first >> second for first in (low, high) for second in others[0]]
            return np.minimum.reduce(ends), np.maximum.reduce(ends)
        case "floor_divide" if np.all(others[0][0] > 0):
            ends = [first // second for first in (low, high) for second in others[0]]
            return np.minimum.reduce(ends), np.maximum.reduce(ends)
        case _:
            return None
