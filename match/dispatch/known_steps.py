"""By how much the outputs of a layer may be off the network's own, for any inputs: in steps, or as real numbers.

An operator in a form of requantization that is not exact is off by at most `RequantizationFit.max_step`. Behind it,
in a chain or a group, another operator reads what is off: an input that is e steps off moves a sum of products by at
most e times the sum of the weights' magnitudes, and the output by as many steps as the requantization makes of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from match.ir.constants import Addends, Filters, LayerConstants, Table
from match.ir.dtypes import value_range
from match.ir.layer import Group, Layer, Op
from match.ir.requantization import Int64Array, Requantization
from match.requantize.form import Form

_MOVED = frozenset({Op.MAX_POOL2D, Op.CONCATENATE, Op.SLICE, Op.TRANSPOSE, Op.GATHER})
"""Operators whose outputs are elements of their inputs."""

_MOST_DIFFERENCE = 255
"""The largest difference of two values of 8 bits."""
_ANYTHING = 1 << 30
"""A bound of real numbers of which nothing is known."""


def known_steps(whole: Layer, forms: Sequence[Form]) -> int:
    """The most that an output of a layer may be off whose operators have these forms; 0: it is exact.

    That is steps of integers, and of real numbers the next integer above.
    """
    links, off = whole.get(Group).links, list[int]()
    for number, (layer, form) in enumerate(zip(whole.operators, forms, strict=True)):
        own = 0 if form.fit is None or form.fit.exact else form.fit.max_step
        read = links[number] if links else (number - 1,)
        inputs = [off[link] if 0 <= link < number else 0 for link in read]
        carried = _carried(layer, form.constants, inputs) if any(inputs) else 0
        off.append(own + carried if layer.output_dtype == "float32" else min(own + carried, _width(layer)))
    return off[-1]


def _width(layer: Layer) -> int:
    """Steps between the smallest and the largest output of integers."""
    low, high = layer.clip if layer.clip[0] < layer.clip[1] else value_range(layer.output_dtype)
    return high - low


def _carried(layer: Layer, constants: LayerConstants, inputs: Sequence[int]) -> int:
    """By how much outputs may be off because inputs are, by so many steps each."""
    most, line = max(inputs), constants.requantization
    if layer.op in _MOVED:
        return most
    if table := constants.get(Table):
        return _of_table(_in_order(table.entries, layer), most)
    if layer.output_dtype == "float32":
        return _ANYTHING
    if line is None:
        return _MOST_DIFFERENCE
    if weights := constants.get(Filters):
        reach = np.abs(weights.values.astype(np.int64)).reshape(len(weights.values), -1).sum(axis=1)
        return _of_line(line, most * reach)
    if addends := constants.get(Addends):
        factors = zip(inputs, addends, strict=False)
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


def _in_order(table: npt.NDArray[Any], layer: Layer) -> npt.NDArray[Any]:
    """The outputs of a table, in the order of the inputs' values."""
    outputs = table if layer.output_dtype == "float32" else table.view(layer.output_dtype).astype(np.int64)
    return np.roll(outputs, 128) if layer.input_dtype == "int8" else outputs


def _of_table(outputs: npt.NDArray[Any], off: int) -> int:
    """How far apart outputs of a table are at most that are at most `off` places apart."""
    apart = (np.abs(outputs[places:] - outputs[:-places]).max() for places in range(1, min(off, 255) + 1))
    return math.ceil(max(apart))
