"""Fits a layer's requantization into the form that a module's hardware executes, and proves how close it comes.

A wide form takes the layer's integers as they are, but for corrections that it has no room for. A narrow one has a few
bits of multiplier, or a sum that must fit a short register. It gets the largest shift that its sum has room for and,
per channel, the line ``(acc * M + B) / 2**S`` that steps where the layer steps. For a fixed M and S, output v begins
exactly at accumulator T[v] while B is in ``[v * 2**S - T[v] * M, v * 2**S - (T[v] - 1) * M)``: the best B is sought
among the left ends of these intervals, and one that lies in all of them makes the channel exact. A form without a
multiplier has one choice, the shift, and every shift near the layer's factors is tried. What comes out is compared with
the layer on the thresholds of both step functions over all reachable accumulators, so that "exact" is a proof.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from match.ir.exception_lists import visible
from match.ir.requantization import Int64Array, Products, Requantization, RequantizationFit, Requantizer
from match.ir.step_function import step_function
from match.requantize.high_words import high_words
from match.requantize.lines import narrow, same_slope
from match.requantize.registers import executes
from match.requantize.shifts import shifted
from match.requantize.split import split
from match.requantize.steps import Steps

_SHORT_SUM = 32
_Fitter = Callable[[Requantization, Steps, Requantizer], Requantization | None]


def fit(
    requantization: Requantization, low: Int64Array, high: Int64Array, requantizer: Requantizer
) -> tuple[Requantization, RequantizationFit] | None:
    """The requantization closest to the layer's own that `requantizer` can execute.

    Args:
        requantization: the layer's arithmetic.
        low: smallest reachable accumulator of each channel, shape (channels,).
        high: largest reachable accumulator of each channel, shape (channels,).
        requantizer: the form to fit into.

    Returns:
        The parameters in that form and how they compare over all accumulators from `low` to `high`, or None if the form
        cannot express them at all: no output range that holds the layer's, or a sum that overflows whatever the shift.
    """
    clip = _clip(requantization.clip, requantizer)
    if clip is None:
        return None
    requantization = visible(requantization, low, high)
    if executes(requantization, low, high, requantizer) and clip == requantization.clip:
        return requantization, RequantizationFit(True)
    if np.any(requantization.multiplier < 0):
        return None
    steps = Steps.of(requantization, low, high, clip)
    closest: tuple[Requantization, RequantizationFit] | None = None
    for fitter in _fitters(requantizer):
        if closest is not None and fitter is narrow and requantizer.sum_bits > _SHORT_SUM:
            break  # a long sum that has room for the layer's own multipliers comes no closer with others
        fitted = fitter(requantization, steps, requantizer)
        if fitted is not None:
            verdict = compare(steps, requantization.clip, fitted)
            if verdict.exact:
                return fitted, verdict
            if closest is None or verdict.share < closest[1].share:
                closest = fitted, verdict
    return closest


def _fitters(requantizer: Requantizer) -> tuple[_Fitter, ...]:
    match requantizer.products:
        case Products.UPPER:
            return (high_words,)
        case Products.SPLIT:
            return (split,)
        case Products.ROWS:  # no function of the accumulator: `match.requantize.rows` fits it to pairs of bytes
            return ()
        case Products.WHOLE:
            return same_slope, narrow if requantizer.multiplier_bits else shifted


def compare(steps: Steps, clip: tuple[int, int], fitted: Requantization) -> RequantizationFit:
    """How `fitted` differs from a layer over its accumulators, by the thresholds of both.

    `steps` are the layer's, seen through the output range of `fitted`; `clip` is the layer's own range.
    """
    wanted, got = steps.thresholds, step_function(fitted, steps.low, steps.high).thresholds
    distance = int(np.abs(wanted - got).sum())
    if distance == 0:
        return RequantizationFit(True)
    first = clip[0] - fitted.clip[0]
    last = clip[1] - fitted.clip[0] - 1
    between = int((wanted[:, last] - wanted[:, first]).sum())
    # The functions are m steps apart somewhere if one reaches a level before the other is within m of it.
    max_step, levels = 1, wanted.shape[1]
    while max_step < levels and bool(
        np.any(got[:, max_step:] < wanted[:, : levels - max_step])
        or np.any(wanted[:, max_step:] < got[:, : levels - max_step])
    ):
        max_step += 1
    return RequantizationFit(False, min(1.0, distance / max(1, between)), max_step)


def _clip(clip: tuple[int, int], requantizer: Requantizer) -> tuple[int, int] | None:
    """The tightest range of the form that holds `clip`."""
    if requantizer.lowest is not None and clip[0] != requantizer.lowest:
        return None
    if not requantizer.clips:
        return clip
    holding = [c for c in requantizer.clips if c[0] <= clip[0] and clip[1] <= c[1]]
    return min(holding, key=lambda c: c[1] - c[0], default=None)
