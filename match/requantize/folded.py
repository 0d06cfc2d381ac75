"""Layers for machines whose requantization only shifts: the rest of each factor goes into weights and biases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.ir.requantization import Int64Array, Requantization, Requantizer

Float64Array = npt.NDArray[np.float64]

_LARGEST = 127
"""The largest weight; -128 is left out, so that no weight's rounding depends on its sign."""

_LEAST = 1e-9
"""If the largest weight has fewer steps, all weights are 0."""

_SHIFT = 22
"""The largest shift that is taken: 256 steps of the output are a bias of 30 bits, and sums of 8 bits fit 32 with it."""

_BIAS = 1 << 30
"""The largest magnitude of a bias; what is beyond it saturates the output."""

_LINE = 24
"""The shift of a line with a multiplier: at most 2^31 sums that move the output by less than 2^8 steps fit 63 bits."""


@dataclass(frozen=True, eq=False)
class Folded:
    """Weights (channels, inputs, taps) of 8 bits and the requantization ``clip((acc + B) >> S)`` of their sums."""

    weights: npt.NDArray[np.int8]
    requantization: Requantization


def fold(
    real: Float64Array, bias: Float64Array, inputs: tuple[int, int], clip: tuple[int, int], form: Requantizer
) -> Folded:
    """Integers for ``clip(round(sum(real * x) + bias))`` with the least mean squared error.

    Args:
        real: weights times the factors of their channels, shape (channels, inputs, taps): those that one input channel
            meets at all places of the filter are side by side.
        bias: in steps of the output, shape (channels,).
        inputs: smallest and largest x. All values between them count alike, and those of one sum are independent.
        clip: the output's range.
        form: has the shifts to choose from; one for all channels.
    """
    largest = max(float(np.abs(real).max(initial=0.0)), _LEAST)
    whole = int(np.floor(np.log2(_LARGEST / largest)))
    # A shift more, and the largest weights are clipped while all others come nearer.
    least, most = form.shift
    shifts = sorted({int(np.clip(shift, least, min(most, _SHIFT))) for shift in (whole, whole + 1)})
    attempts = [(shift, _rounded(real * 2.0**shift)) for shift in shifts]
    # Biases take the mean of the error away; its variance is that of the sum of independent inputs.
    shift, weights = min(attempts, key=lambda attempt: float(((attempt[1] * 2.0 ** -attempt[0] - real) ** 2).sum()))
    scale = 2.0**shift
    mean = (real * scale - weights).sum(axis=(1, 2)) * sum(inputs) / 2
    biases = np.clip(np.floor((bias + 0.5) * scale + mean), -_BIAS, _BIAS).astype(np.int64)
    ones = np.ones_like(biases)
    return Folded(weights.astype(np.int8), Requantization(ones, biases, ones * shift, clip))


def _rounded(weights: Float64Array) -> Int64Array:
    """Integers of at most `_LARGEST` near the weights, whose sums over taps and over all are near those of the weights.

    What neighbouring pixels or all inputs have in common then moves the layer's sums little: errors of inputs that
    are far from their mean would add up otherwise.
    """
    down = np.floor(np.clip(weights, -_LARGEST, _LARGEST))
    rest = np.clip(weights, -_LARGEST, _LARGEST) - down
    up = np.diff(np.round(np.cumsum(rest.sum(axis=2), axis=1)), axis=1, prepend=0)
    rank = np.argsort(np.argsort(-rest, axis=2, kind="stable"), axis=2, kind="stable")
    return np.minimum(down + (rank < up[:, :, None]), _LARGEST).astype(np.int64)


def line(slope: Float64Array, bias: Float64Array, clip: tuple[int, int]) -> Requantization:
    """``clip(round(acc * slope + bias))`` for a machine that multiplies; slopes and biases (channels,)."""
    shift = np.full(len(slope), _LINE, np.int64)
    scale = 2.0**_LINE
    multiplier = np.round(slope * scale).astype(np.int64)
    return Requantization(multiplier, np.round((bias + 0.5) * scale).astype(np.int64), shift, clip)
