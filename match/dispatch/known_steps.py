"""By how many steps the outputs of a layer may be off the network's own integers, for any inputs.

An operator in a form of requantization that is not exact is off by at most `RequantizationFit.max_step`. Behind it,
in a chain or a group, another operator reads what is off: an input that is e steps off moves a sum of products by at
most e times the sum of the weights' magnitudes, and the output by as many steps as the requantization makes of that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.layer import Layer, Op
from match.ir.requantization import Int64Array, Requantization
from match.requantize.form import Form

_MOVED = frozenset({Op.MAX_POOL2D, Op.CONCATENATE, Op.SLICE, Op.TRANSPOSE, Op.GATHER})
"""Operators whose outputs are elements of their inputs."""

_MOST_DIFFERENCE = 255
"""Of two values of 8 bits."""


def known_steps(whole: Layer, forms: Sequence[Form]) -> int:
    """The most steps that an output of a layer may be off whose operators have these forms; 0: it is exact."""
    links, off = whole.links, list[int]()
    for number, (layer, form) in enumerate(zip(whole.operators, forms, strict=True)):
        own = 0 if form.fit is None or form.fit.exact else form.fit.max_step
        read = links[number] if links else (number - 1,)
        inputs = [off[link] if 0 <= link < number else 0 for link in read]
        low, high = layer.clip or value_range(layer.output_dtype)
        off.append(min(own + (_carried(layer, form.constants, inputs) if any(inputs) else 0), high - low))
    return off[-1]


def _carried(layer: Layer, constants: LayerConstants, inputs: Sequence[int]) -> int:
    """By how much outputs may be off because inputs are, by so many steps each."""
    most, line = max(inputs), constants.requantization
    if layer.op in _MOVED:
        return most
    if layer.op is Op.LOOKUP and constants.table is not None:
        return _of_table(constants.table.astype(np.int64), layer, most)
    if line is None:
        return _MOST_DIFFERENCE
    if constants.weights is not None:
        reach = np.abs(constants.weights.astype(np.int64)).reshape(len(constants.weights), -1).sum(axis=1)
        return _of_line(line, most * reach)
    if layer.op is Op.ADD and constants.addend_multipliers is not None:
        factors = zip(inputs, constants.addend_multipliers, strict=False)
        return _of_line(line, np.array([sum(off * abs(factor) for off, factor in factors)]))
    if layer.op is Op.MULTIPLY:
        first, second = (*inputs, 0)[:2]
        return _of_line(line, np.array([_MOST_DIFFERENCE * (first + second) + first * second]))
    if layer.op is Op.AVG_POOL2D:
        return _of_line(line, np.array([most * layer.fy * layer.fx]))
    return _MOST_DIFFERENCE


def _of_line(line: Requantization, moved: Int64Array) -> int:
    """How many steps apart outputs are at most whose accumulators are `moved` apart, by channel."""
    corrected = line.negative_step is not None or line.exceptions is not None or line.ties_to_even is not None
    steps = -(-(moved * np.abs(line.multiplier)) >> line.shift)
    return int(steps.max()) + corrected


def _of_table(table: Int64Array, layer: Layer, off: int) -> int:
    """How far apart entries of a table are at most that are at most `off` places apart; bytes in the order of uint8."""
    signed = layer.input_dtype == "int8", layer.output_dtype == "int8"
    entries = np.roll(table.reshape(-1), 128) if signed[0] else table.reshape(-1)
    if signed[1]:
        entries = np.where(entries > 127, entries - 256, entries)
    return max(int(np.abs(entries[places:] - entries[:-places]).max()) for places in range(1, min(off, 255) + 1))
