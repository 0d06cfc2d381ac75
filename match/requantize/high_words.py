"""Lines whose products are taken by their upper halves: ``(high(acc + b, M) + B) >> s``.

``high(a, M)`` is the upper 32 bits of the product of a signed and an unsigned word. So this is exactly the line ``(acc
* M + b * M + B * 2**32) >> (32 + s)``. b moves its bias by multiples of M and B by multiples of 2**32: pairs of them
come as close to any bias as they are many. A channel's steps leave its bias a window, often a thousandth of M wide and
sometimes a millionth, and a pair is sought whose bias lies in it. The lowest five bits of B are s, which spares kernels
a load.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from match.ir.requantization import WORD, Int64Array, Requantization, Requantizer
from match.requantize.lines import uncorrected
from match.requantize.registers import LARGEST_SUM, SHIFT_BITS, executes
from match.requantize.steps import BoolArray, Steps

_LARGEST_SHIFT = 20  # levels times 2**(32 + s) stay below 2**63
_NEIGHBOURS = (0, 1, -1)
"""Multipliers that are tried, beside the one nearest to a channel's factor."""


def high_words(requantization: Requantization, steps: Steps, requantizer: Requantizer) -> Requantization | None:
    """The layer's steps by upper halves of products, with the addends b; None if a channel has no such line.

    Of a layer with corrections or exceptions, which the form does not execute, those of its best line without them. A
    channel whose output is constant gets M = 0.
    """
    requantization = uncorrected(requantization, steps)
    steps = Steps.of(requantization, steps.low, steps.high, steps.clip)
    varies = np.asarray(steps.interior.any(axis=1))
    plain = Requantization(
        multiplier=np.zeros_like(steps.low),
        bias=((steps.lowest << SHIFT_BITS) + SHIFT_BITS) << WORD,
        shift=np.full_like(steps.low, WORD + SHIFT_BITS),
        clip=steps.clip,
        addend=np.zeros_like(steps.low),
    )
    line = _with_slopes(requantization, plain, steps, varies)
    if line is None or np.any(line.multiplier[varies] <= 0):
        return None
    missing = np.flatnonzero(varies)
    for neighbour in _NEIGHBOURS:
        tried = line.take(missing)
        tried.multiplier[:] = np.maximum(1, tried.multiplier + neighbour)
        windows = steps.take(missing).bias_window(tried.multiplier, tried.shift)
        columns = (tried.multiplier, tried.shift - WORD, *windows)
        found = [_pair(*window) for window in zip(*(column.tolist() for column in columns), strict=True)]
        done = np.array([pair is not None for pair in found], np.bool_)
        _write(line, missing[done], tried.multiplier[done], [pair for pair in found if pair is not None])
        missing = missing[~done]
        if not len(missing):
            return line if executes(line, steps.low, steps.high, requantizer) else None
    return None


def _write(
    line: Requantization, channels: npt.NDArray[np.intp], multiplier: Int64Array, pairs: list[tuple[int, int]]
) -> None:
    """Put multipliers and pairs of b and B into some channels of a line."""
    assert line.addend is not None
    addend, word = np.array(pairs, np.int64).reshape(-1, 2).T
    line.multiplier[channels], line.addend[channels] = multiplier, addend
    line.bias[channels] = addend * multiplier + (word << WORD)


def _with_slopes(
    requantization: Requantization, plain: Requantization, steps: Steps, varies: BoolArray
) -> Requantization | None:
    """The layer's factors with the largest shifts at which M, B and sums fit; None where one has none."""
    slope = np.where(varies, requantization.multiplier / np.exp2(requantization.shift), 0.5)
    reach = np.maximum(np.abs(steps.low), np.abs(steps.high))
    outputs = 2 * slope * reach + max(abs(steps.clip[0]), abs(steps.clip[1])) + 2
    by_multiplier: npt.NDArray[np.float64] = -np.log2(np.maximum(slope, 2.0**-60)) - 1e-6
    by_sum = np.log2(LARGEST_SUM) - np.log2(outputs)
    shift = np.floor(np.minimum(np.minimum(by_multiplier, by_sum), _LARGEST_SHIFT)).astype(np.int64)
    if np.any(varies & ((shift < 0) | (reach >= LARGEST_SUM))):
        return None
    plain.multiplier[varies] = np.rint(slope * np.exp2(WORD + shift)).astype(np.int64)[varies]
    plain.shift[varies] = WORD + shift[varies]
    return plain


def _pair(multiplier: int, shift: int, least: int, most: int) -> tuple[int, int] | None:
    """The numbers b and B with ``least <= b * multiplier + B * 2**32 <= most``, B ending in `shift`; or None."""
    if least > most:
        return None
    word = (((least >> WORD) - shift >> SHIFT_BITS) << SHIFT_BITS) + shift
    # Each step of B moves the bias by 2**37, and b takes off what is a multiple of the multiplier.
    ahead = ((word << WORD) - least) % multiplier
    width = min(most - least, multiplier - 1)
    if ahead > width:
        behind = multiplier - ahead
        further = _first((1 << WORD + SHIFT_BITS) % multiplier, multiplier, behind, behind + width)
        if further is None:
            return None
        word += further << SHIFT_BITS
    addend = -(((word << WORD) - least) // multiplier)
    return (addend, word) if max(abs(word), abs(addend)) < LARGEST_SUM else None


def _first(factor: int, modulus: int, low: int, high: int) -> int | None:
    """The smallest n >= 0 with ``low <= factor * n % modulus <= high``, for 0 <= low <= high < modulus.

    By Euclid's algorithm: the first multiple of the factor that passes `low`, unless it passes `high` as well; then how
    often the modulus has to be taken off is the same question about the remainder and the factor.
    """
    if low == 0:
        return 0
    if factor == 0:
        return None
    first = -(-low // factor)
    if first * factor <= high:
        return first
    rounds = _first(modulus % factor, factor, -high % factor, -low % factor)
    return None if rounds is None else -(-(low + modulus * rounds) // factor)
