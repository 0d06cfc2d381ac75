"""Recurrent cells in NumPy: in floating point, and in integers as `match.relay.lstm` and `match.relay.gru` define them.

Arrays of weights have shape (gates, units, depth), those of inputs (steps, batch, features), states (steps, batch,
units). An LSTM has the gates input, forget, output, cell, a GRU update, reset, candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.arithmetic.tflite import multiply_by, reduced
from match.arithmetic.tflite_functions import logistic_of_16_bits
from match.ir.requantization import Int64Array

Reals = npt.NDArray[np.float64]
"""float64."""

ONNX_GATES: Mapping[str, tuple[int, ...]] = MappingProxyType({"LSTM": (0, 2, 1, 3), "GRU": (0, 1, 2)})
"""For each gate, in the order above, its number in ONNX, whose LSTM has input, output, forget, cell."""


def logistic(x: Reals) -> Reals:
    """Without overflow far from 0."""
    return 0.5 * (1 + np.tanh(0.5 * x))


def real_states(
    x: Reals,
    input_weights: Float32Array,
    state_weights: Float32Array,
    biases: Float32Array,
    *,
    reset_first: bool = False,
) -> Reals:
    """States of all steps in floating point; `biases` (2, gates, units) of the sums over inputs and over states.

    With `reset_first` the reset gate of a GRU multiplies the states before their product with weights, else the
    product.
    """
    state = memory = np.zeros((x.shape[1], input_weights.shape[1]))
    found: list[Reals] = []
    for inputs in x:
        fed = _products(inputs, input_weights) + biases[0][:, None]
        back = _products(state, state_weights) + biases[1][:, None]
        if len(fed) == 3:
            update, reset = logistic(fed[:2] + back[:2])
            left = (reset * state) @ state_weights[2].T + biases[1, 2] if reset_first else reset * back[2]
            fresh = np.tanh(fed[2] + left)
            state = fresh + update * (state - fresh)
        else:
            let_in, forget, let_out = logistic(fed[:3] + back[:3])
            memory = forget * memory + let_in * np.tanh(fed[3] + back[3])
            state = let_out * np.tanh(memory)
        found.append(state)
    return np.stack(found)


def logistic_in_16_bits(x: Int64Array) -> Int64Array:
    """The logistic function of 16-bit numbers in steps of 2**-12, in steps of 2**-15."""
    return logistic_in_table(3 * x)


def logistic_in_table(x: Int64Array) -> Int64Array:
    """The logistic function of numbers in steps of a third of 2**-12, in steps of 2**-15."""
    positive = _interpolated(np.abs(x), 9, 0x7FFF << 10)
    return np.where(x < 0, (1 << 25) + (1 << 9) - 1 - positive, positive + (1 << 9)) >> 10


def tanh_in_table(x: Int64Array) -> Int64Array:
    """The hyperbolic tangent of numbers in steps of a third of 2**-12, in steps of 2**-15."""
    positive = _interpolated(np.abs(x), 8, 0xFFFF << 8)
    below, above = (1 << 23) + (1 << 7) - 1 - positive, positive - (1 << 23) + (1 << 7)
    return np.where(x < 0, below, above) >> 8


def narrow(x: Int64Array) -> Int64Array:
    """Clipped to 16 bits."""
    return x.clip(-(1 << 15), (1 << 15) - 1)


def scaled_sums(
    vectors: Int64Array, weights: npt.NDArray[np.int8], offsets: Int64Array, scales: Int64Array, *, int16: bool
) -> Int64Array:
    """The sums of all gates over vectors (batch, depth), shape (gates, batch, units), in steps of 2**-12.

    offsets: (gates, units). scales: (gates, 2), mantissas and exponents of TFLite's multipliers. int16: whether vectors
    have 16 bits, whose sums are multiplied by 15 bits of a mantissa and rounded once.
    """
    sums, factors = _products(vectors, weights.astype(np.int64)) + offsets[:, None], scales.T.reshape(2, -1, 1, 1)
    if not int16:
        return multiply_by(sums, *factors)
    multiplier, shift = reduced(*factors)
    return (sums * multiplier + (np.int64(1) << (shift - 1))) >> shift


def _products(vectors: npt.NDArray[Any], weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The products of vectors (batch, depth) with weights (gates, units, depth), shape (gates, batch, units)."""
    return vectors @ weights.transpose(0, 2, 1)


def _interpolated(magnitude: Int64Array, bits: int, most: int) -> Int64Array:
    """Between two entries of the logistic function's table, `bits` below the index."""
    table, index = logistic_of_16_bits(), magnitude >> bits
    low, high = (table[np.minimum(index, 254) + more] for more in (0, 1))
    between = (low << bits) + (magnitude & ((1 << bits) - 1)) * (high - low)
    return np.where(index < 255, between, most)
