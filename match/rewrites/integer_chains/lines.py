"""Requantizations that compute what chains of integer operators compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.line_fit import NoLineError, fit_line
from match.graph.integers import Clip, Elementwise, Saturate
from match.graph.make import array_of
from match.graph.sums import Average
from match.graph.value import Value
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array, Requantization
from match.ir.step_function import StepFunction
from match.rewrites.integer_chains.chain import Chain

Numbers = npt.NDArray[Any]
"""Python's integers, one for each channel, which do not overflow."""

_Operation = tuple[str, Numbers]
"""A function of `match.graph.integers.FUNCTIONS`, and what it takes beside the numbers before it."""

_LARGEST_SUM, _LARGEST, _LARGEST_SHIFT = 1 << 31, 1 << 62, 63


def line_of(chain: Chain, channels: int) -> Requantization | None:
    """``(leaf * M + B) >> S`` per channel, if that is what a chain of one leaf computes for any sum of 32 bits."""
    operations: list[_Operation] = []
    (before,) = chain.leaves
    for step in chain.steps:
        if array_of(step) is not None:
            continue
        if [x for x in step.inputs if array_of(x) is None] != [before]:
            return None
        own = _operations(step, channels)
        if own is None:
            return None
        operations, before = [*operations, *own], step
    return _line(operations, channels, chain.limits)


def _operations(step: Value, channels: int) -> list[_Operation] | None:
    """A step of one tensor, whose other operands are constants; None for those that a line does not have."""
    match step.operator:
        case Clip(limits=(low, high)):
            return _clip(low, high, channels)
        case Saturate(more=more, clip=(low, high)):
            return [("add", _numbers(more, channels)), *_clip(low, high, channels)]
        case Elementwise(function="cast"):
            return []
        case Elementwise(function=function):
            place = next(place for place, x in enumerate(step.inputs) if array_of(x) is not None)
            values = _of_channels(step.inputs[place], channels)
            if values is None:
                return None
            if function == "subtract":
                return [("add", -values)] if place else [("multiply", _numbers(-1, channels)), ("add", values)]
            commutes = function in ("add", "multiply", "maximum", "minimum")
            return [(function, values)] if place or commutes else None
        case _:
            return None


def _clip(low: int, high: int, channels: int) -> list[_Operation]:
    return [("maximum", _numbers(low, channels)), ("minimum", _numbers(high, channels))]


def _numbers(number: int, channels: int) -> Numbers:
    return np.full(channels, number, object)


def _of_channels(x: Value, channels: int) -> Numbers | None:
    """The integers of a constant for each channel, the last axis; None for other constants."""
    values = array_of(x)
    if values is None or values.size not in (1, channels) or values.shape[-1:] not in ((), (values.size,)):
        return None
    return np.broadcast_to(values.reshape(-1).astype(object), (channels,))


def _line(operations: Sequence[_Operation], channels: int, clip: tuple[int, int]) -> Requantization | None:
    """Operations, the first one first, as one line that is clipped at the end."""
    multiplier, bias, shift = (_numbers(number, channels) for number in (1, 0, 0))
    low, high = (_numbers(sign * _LARGEST, channels) for sign in (-1, 1))
    limited = False
    for name, values in operations:
        if name == "multiply" and not np.any(shift) and (not limited or np.all(values > 0)):
            multiplier, bias = multiplier * values, bias * values
            low, high = (low * values, high * values) if limited else (low, high)
        elif name == "add":
            bias = bias + (values << shift)
            low, high = (low + values, high + values) if limited else (low, high)
        elif name == "right_shift":
            shift = shift + values
            low, high = (low >> values, high >> values) if limited else (low, high)
        elif name == "maximum":
            low, high, limited = np.maximum(low, values), np.maximum(high, values), True
        elif name == "minimum":
            low, high, limited = np.minimum(low, values), np.minimum(high, values), True
        else:
            return None
    low, high = np.clip(low, *clip), np.clip(high, *clip)
    small = np.all(np.abs(multiplier) * _LARGEST_SUM + np.abs(bias) < _LARGEST) and np.all(shift < _LARGEST_SHIFT)
    if not small or np.any(low != low[0]) or np.any(high != high[0]):
        return None
    ends = int(low[0]), int(high[0])
    return Requantization(multiplier.astype(np.int64), bias.astype(np.int64), shift.astype(np.int64), ends)


def tabulated(chain: Chain) -> Requantization | None:
    """The requantization of sums of windows whose outputs for all possible sums are those of a uniform chain."""
    (leaf,) = chain.leaves
    if not isinstance(leaf.operator, Average) or not chain.is_uniform:
        return None
    sums, clip = _window_sums(leaf.operator, leaf.inputs[0].dtype), chain.limits
    outputs = chain.outputs({leaf: sums})
    if np.any(np.diff(outputs) < 0):
        return None
    thresholds = sums[0] + np.searchsorted(outputs, np.arange(clip[0] + 1, clip[1] + 1))
    steps = StepFunction(sums[:1], sums[-1:], clip, thresholds[None, :], np.zeros(1, np.bool_))
    inner = thresholds[(thresholds > sums[0]) & (thresholds <= sums[-1])]
    rises = len(inner) > 1 and inner[-1] > inner[0]
    slope = (len(inner) - 1) / (inner[-1] - inner[0]) if rises else 1.0
    try:
        line = fit_line(steps, np.array([slope]))
    except NoLineError:
        return None
    return line.take(np.zeros(leaf.shape[-1], np.intp))


def _window_sums(average: Average, x_dtype: str) -> Int64Array:
    """Every sum that windows of a map can have, ascending."""
    (low, high), count = value_range(x_dtype), average.window[0] * average.window[1]
    return np.arange(low * count, high * count + 1, dtype=np.int64)
