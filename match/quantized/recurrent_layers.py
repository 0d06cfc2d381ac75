"""Recurrent layers in floating point as layers in integers, and how far that moves their outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from match.arithmetic import recurrent
from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.recurrent import Reals
from match.arithmetic.tflite import quantize_multiplier
from match.graph.cells import RealCells
from match.graph.recurrent import FUNCTION_POWER, GATE_POWER, MOST, POWERS, Gru, Int8Array, Lstm
from match.ir.deviation import Deviation
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array

STATES = QuantizedType(np.float32(2.0**-7), 0, "int8")
"""The quantization of states, which lie between -1 and 1.

A finer scale, that of what reads them, would clip states on the way to the next step: outside of what a network was
calibrated with, outputs then differ several times as much.
"""

_COARSEST_POWER = -9
"""Exponent of the steps, a power of two, of an LSTM's cells that might leave -64 to 64."""

_FORGET = 1
"""Gate of an LSTM."""

_CANDIDATE = 2
"""The gate of a GRU that makes its candidate."""

_MOST_BIAS = 1 << 24
"""In steps of a gate's sums: weights that are so much smaller than biases have larger steps than they could."""

_SAMPLES = 16
"""Sequences that a layer is measured with."""


def quantized_cells(cells: RealCells, inputs: QuantizedType, steps: int) -> Lstm | Gru:
    """The layer of so many steps on inputs of 8 bits, with `STATES` as its outputs.

    A gate's weights of the input have one scale, and so have those of the states, the largest weight being 127 steps.
    """
    input_weights, input_scales = _weights(cells.input_weights, _biases(cells) / float(inputs.scale))
    state_weights, state_scales = _weights(cells.state_weights)
    fed, back = input_scales * float(inputs.scale), state_scales * float(STATES.scale)
    offsets = np.stack([_offsets(input_weights, inputs), _offsets(state_weights, STATES)])
    offsets[0] += np.rint(_biases(cells) / fed.reshape(-1, 1)).astype(np.int64)
    common: dict[str, Any] = {
        "input_weights": input_weights,
        "state_weights": state_weights,
        "offsets": offsets,
        "zero": STATES.zero_point,
        "dtype": STATES.dtype,
    }
    sums = [*fed / 2.0**GATE_POWER, *back / 2.0**GATE_POWER]
    shown = 2.0**FUNCTION_POWER / float(STATES.scale)
    if cells.kind == "GRU":
        biases = np.rint(cells.biases[1, _CANDIDATE].astype(np.float64) / 2.0**GATE_POWER).astype(np.int64)
        layer: Lstm | Gru = Gru(**common, scales=_scales([*sums, shown]), biases=biases, reset_first=cells.reset_first)
    else:
        power = _cell_power(cells, inputs, steps)
        added = 2.0 ** (2 * FUNCTION_POWER - power)
        scales = _scales([*sums, added, shown * 2.0**FUNCTION_POWER])
        layer = Lstm(**common, scales=scales, power=power, limit=MOST)
    return replace(layer, deviation=_deviation(cells, layer, inputs, steps))


def _biases(cells: RealCells) -> Reals:
    """Those of all gates that are added to sums over the input: of a GRU's candidate, not that of the states."""
    biases = cells.biases.astype(np.float64)
    if cells.kind == "GRU":
        biases[1, _CANDIDATE] = 0
    return biases.sum(axis=0)


def _weights(weights: Float32Array, biases: Reals | None = None) -> tuple[Int8Array, Reals]:
    """Weights (gates, units, depth) as integers, and each gate's scale; `biases` in steps of the vector's."""
    scales = np.abs(weights).max(axis=(1, 2)).astype(np.float64) / 127
    if biases is not None:
        scales = np.maximum(scales, np.abs(biases).max(axis=1) / _MOST_BIAS)
    scales[scales == 0] = 1
    return np.rint(weights / scales.reshape(-1, 1, 1)).astype(np.int8), scales


def _offsets(weights: Int8Array, own: QuantizedType) -> Int64Array:
    """What frees sums over vectors of that quantization of its zero point."""
    return -own.zero_point * weights.sum(axis=2, dtype=np.int64)


def _scales(factors: Sequence[float]) -> Int64Array:
    return np.stack(quantize_multiplier(factors), axis=1)


def _cell_power(cells: RealCells, inputs: QuantizedType, steps: int) -> int:
    """Exponent of the steps with which 16 bits hold all that cells can be, but for the finest that is worth it.

    A step adds at most 1 to a cell and keeps at most the forget gate's largest value of it.
    """
    reals = (inputs.levels[[0, -1]] - inputs.zero_point) * float(inputs.scale)
    ends = [cells.input_weights[_FORGET].astype(np.float64) * real for real in reals]
    most = np.maximum(*ends).sum(axis=1) + np.abs(cells.state_weights[_FORGET]).sum(axis=1, dtype=np.float64)
    kept = recurrent.logistic((most + cells.biases[:, _FORGET].sum(axis=0)).max())
    largest = sum(kept**step for step in range(steps))
    needed = math.ceil(math.log2(largest)) - 15
    return min(max(needed, POWERS[0]), _COARSEST_POWER)


def _deviation(cells: RealCells, layer: Lstm | Gru, inputs: QuantizedType, steps: int) -> Deviation:
    """By how much the layer's outputs differ from those in floating point, for random inputs."""
    features = cells.input_weights.shape[2]
    levels = np.random.default_rng(0).choice(inputs.levels, (steps, _SAMPLES, features))
    real = (levels - inputs.zero_point) * float(inputs.scale)
    weights = cells.input_weights, cells.state_weights
    exact = recurrent.real_states(real, *weights, cells.biases, reset_first=cells.reset_first)
    low, high = value_range(STATES.dtype)
    wanted = (exact / float(STATES.scale) + STATES.zero_point).clip(low, high)
    difference = np.abs(layer.states(levels) - wanted)
    return Deviation(float(difference.max()), float(difference.mean()))
