"""Lines whose multiplier is split into two halves, for accumulators that are clipped first.

With a = acc + b clipped to 0 .. `largest` and M = high * 2**h + low, an output is
``((a * low + c >> h) + a * high) >> 24``. Where the clip does not act, this is exactly the line
``(acc * M + b * M + c) >> (24 + h)``. The clip acts where outputs are clipped. A layer has 2**13 to 2**20 accumulators
whose outputs are not clipped; for n bits of them both products fit words with a multiplier of some 2 * (32 - n) bits. A
processor takes a cycle for each of these products, and five for the upper word of one.

Outputs are the uppermost bits of a word, and the lowest five bits of c are h, which spares kernels a shift and a load.
What double rounding takes off negative accumulators is taken off the word: it is at least 2**h.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.ir.requantization import OUTPUT_SHIFT, UNREACHED, WORD, Int64Array, Requantization, Requantizer
from match.requantize.lines import uncorrected
from match.requantize.registers import LARGEST_SUM, SHIFT_BITS, correction, fits_split
from match.requantize.steps import Steps

_NEIGHBOURS = (0, 1, -1)
"""Multipliers that are tried, beside the one nearest to a channel's factor, with each length of its lower half."""

_LENGTHS = (1, 0, -1)
"""Lengths of the lower half that are tried, beside the one that always fits."""


def split(requantization: Requantization, steps: Steps, requantizer: Requantizer) -> Requantization | None:
    """The layer's steps by halves of multipliers, with addends and clips; None if a channel has no such line.

    Of a layer with corrections or exceptions that the form does not execute, those of its best line without them; with
    exceptions that it executes, those of its line beside them. A channel whose output is constant gets M = 0 and the
    clipped accumulator 1.
    """
    if requantizer.exceptions and requantization.exceptions is not None:
        plain = replace(requantization, exceptions=None)
        line = split(plain, Steps.of(plain, steps.low, steps.high, steps.clip), requantizer)
        return line and replace(line, exceptions=requantization.exceptions)
    own, own_steps = requantization, steps
    if requantization.exceptions is not None or not requantizer.negative_step:
        requantization = uncorrected(requantization, steps)
        steps = Steps.of(requantization, steps.low, steps.high, steps.clip)
    below, step = correction(requantization)
    line = Requantization(
        multiplier=np.zeros_like(steps.low),
        bias=steps.lowest << OUTPUT_SHIFT,
        shift=np.full_like(steps.low, OUTPUT_SHIFT),
        clip=steps.clip,
        negative_below=below.copy(),
        negative_step=np.zeros_like(step),
        addend=np.full_like(steps.low, LARGEST_SUM),
        largest=np.ones_like(steps.low),
    )
    missing = np.flatnonzero(steps.interior.any(axis=1))
    if own.ties_to_even is not None:
        line, missing = _with_ties(line, own, own_steps), missing[~own.ties_to_even[missing]]
    slope = requantization.multiplier / np.exp2(requantization.shift)
    length = _lengths(slope, steps)
    for more, neighbour in itertools.product(_LENGTHS, _NEIGHBOURS):
        if not len(missing):
            break
        shift = OUTPUT_SHIFT + np.clip(length[missing] + more, 0, WORD - 1)
        multiplier = np.rint(slope[missing] * np.exp2(shift)).astype(np.int64) + neighbour
        taken = np.rint(step[missing] * np.exp2(shift - requantization.shift[missing])).astype(np.int64)
        tried = _line(np.maximum(1, multiplier), shift, below[missing], taken, steps.take(missing))
        done = fits_split(tried, steps.low[missing], steps.high[missing])
        _write(line, missing[done], tried.take(done))
        missing = missing[~done]
    if len(missing) or not np.all(fits_split(line, steps.low, steps.high)):
        return None
    return line if np.any(below != UNREACHED) else replace(line, negative_below=None, negative_step=None)


def _with_ties(line: Requantization, own: Requantization, steps: Steps) -> Requantization:
    """The line with those channels as the layer's `own` has them whose halves go to even outputs, and which vary."""
    assert own.ties_to_even is not None
    marked = own.ties_to_even & steps.interior.any(axis=1)
    addend = own.bias - 1
    channels = np.flatnonzero(marked)
    _write(line, channels, replace(own, addend=addend, largest=_last(steps) + addend).take(channels))
    return replace(line, ties_to_even=marked)


def _last(steps: Steps) -> Int64Array:
    """The first accumulator with the largest output of each channel that varies."""
    lowest = np.iinfo(np.int32).min
    return np.where(steps.interior, steps.thresholds, lowest).max(axis=1, initial=lowest)


def _lengths(slope: npt.NDArray[np.float64], steps: Steps) -> Int64Array:
    """How long the lower halves of multipliers can be: a product with one and c, which is below M, fit a word."""
    varies = steps.interior.any(axis=1)
    top = np.where(steps.interior, np.arange(1, len(steps.levels) + 1), 0).max(axis=1, initial=0)
    reach = np.maximum(1.0, top / np.where(varies, slope, 1.0))
    return np.floor(WORD - np.log2(reach + np.exp2(WORD) / reach)).astype(np.int64)


def _line(
    multiplier: Int64Array, shift: Int64Array, below: Int64Array, step: Int64Array, steps: Steps
) -> Requantization:
    """The exact line of each channel with these multipliers and corrections, and its clip: 0 where there is no line."""
    least, most = steps.bias_window(multiplier, shift, below, step)
    h = shift - OUTPUT_SHIFT
    # c is as small as possible, but what is taken off an accumulator that is clipped to 0 leaves nothing negative.
    addend = (most - step) // multiplier
    bias = _ending_in(np.maximum(least - addend * multiplier, step), h)
    missed = bias > most - addend * multiplier
    addend = np.where(missed, (least - step) // multiplier, addend)
    bias = np.where(missed, _ending_in(least - addend * multiplier, h), bias)
    last = _last(steps)
    exact = (least <= most) & (bias <= most - addend * multiplier)
    return Requantization(
        multiplier,
        np.where(exact, addend * multiplier + bias, 0),
        shift,
        steps.clip,
        below,
        step,
        addend=np.where(exact, addend, 0),
        largest=np.where(exact, last + addend, 0),
    )


def _ending_in(bias: Int64Array, shift: Int64Array) -> Int64Array:
    """The smallest numbers from `bias` on that end in `shift`."""
    return bias + (shift - bias) % (1 << SHIFT_BITS)


def _write(line: Requantization, channels: npt.NDArray[np.intp], found: Requantization) -> None:
    """Put what was found for some channels into a line."""
    for name in ("multiplier", "bias", "shift", "negative_step", "addend", "largest"):
        values = getattr(found, name)
        getattr(line, name)[channels] = 0 if values is None else values
