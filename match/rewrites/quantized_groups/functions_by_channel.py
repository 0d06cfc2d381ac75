"""Functions of a layer's outputs that are quantized with a scale for each channel, as inputs of depthwise layers are.

The layer's outputs become 8 bits for each part that the function is cut into (`match.arithmetic.parts_of_functions`). A
table for each channel has what a part adds, in whole steps. Outputs are within one step of what the reference computes
in floating point.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from match.arithmetic.element_functions import ElementFunction
from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.arithmetic.parts_of_functions import LEVELS, Levels, Reals, parts_of, reach_of
from match.graph.constants import numbers_of
from match.graph.elements import ChannelLookup
from match.graph.moves import Move
from match.graph.real_functions import is_function
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.quantized.functions_of_two import function_of_two
from match.rewrites.quantized_groups.element_functions import function_after
from match.rewrites.quantized_groups.scaled_layers import ScaledLayer


def function_by_channel(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """A function of each output of a convolution, divided by a scale for each channel, the last axis.

    A number for each channel may be added after that, and the function may be padded with zero.
    """
    if output.scale != 1 or len(real.shape) != 4 or clip != output.limits:
        return None
    channels = real.shape[-1]
    addend = _of_channels(real, "add", channels)
    quotients = real if addend is None else real.inputs[0]
    scales = _of_channels(quotients, "divide", channels)
    if scales is None:
        return None
    inner = quotients.inputs[0]
    padding = inner.operator if isinstance(inner.operator, Move) and inner.operator.padding_value == 0 else None
    layer, function = function_after(inner if padding is None else inner.inputs[0], ScaledLayer.of) or (None, None)
    if layer is None or function is None or (padding is not None and function(np.zeros(1, np.float32)) != 0):
        return None
    zero_points = output.zero_point + (np.zeros(channels, np.int64) if addend is None else addend.astype(np.int64))
    divided = _Divided(function, scales, zero_points, output.dtype)
    reach = reach_of(divided.strictest)
    parts = None if reach is None else parts_of(divided.strictest, reach)
    if parts is None:
        return None
    low, high = output.limits
    *lower, last = divided.tables(parts)
    types = [replace(output, zero_point=low - int(table.min())) for table in lower]
    if any(table.max() + own.zero_point > high for table, own in zip(lower, types, strict=True)):
        return None
    tables = [*(table + own.zero_point for table, own in zip(lower, types, strict=True)), last]
    added: list[Value] = []
    for part, table in zip(parts, tables, strict=True):
        levels = layer.levels(part.low, np.float32(part.step))
        if levels is None:
            return None
        x = levels if padding is None else _padded(levels, padding, part)
        added.append(computed(ChannelLookup(outputs=table, dtype=output.dtype), x, exact=False))
    total = added.pop()
    for own in reversed(types):  # from above, so that each sum is an output
        sums = OnnxruntimeArithmetic().add(own, output, output, clip, 1)
        total = function_of_two(added.pop(), total, sums, (1.0, 1.0), clip, output.dtype)
    return total


def _of_channels(real: Value, function: str, channels: int) -> Float32Array | None:
    """The numbers, shape (channels,), that a function has as its second operand; None for other functions."""
    if not is_function(real, function):
        return None
    numbers = numbers_of(real.inputs[1])
    if numbers is None or numbers.size != channels or numbers.shape[-1] != channels:
        return None
    return numbers.reshape(-1).astype(np.float32)


def _padded(x: Value, padding: Move, part: Levels) -> Value:
    """The levels of a part, padded with that nearest to zero, whose outputs are within a step of the zero points."""
    level = int(np.rint(-part.low / part.step).clip(0, LEVELS - 1))
    return computed(replace(padding, fill=level), x)


@dataclass(frozen=True, eq=False)
class _Divided:
    """A function of real numbers, divided by the scales of channels, and quantized with their zero points.

    scales, zero_points: of shape (channels,).
    """

    function: ElementFunction
    scales: Float32Array
    zero_points: Int64Array
    dtype: str

    def strictest(self, numbers: Reals) -> Reals:
        """Steps from zero to the function of numbers: between any two at least as many as any channel has.

        A channel clips numbers of a magnitude that all channels of larger scales still tell apart. Where it does not,
        its scale is at least the magnitude by the largest number of steps, so that the integral of what one step is
        there, by the smallest scale, is the logarithm of the magnitude.
        """
        values = self.function(numbers.reshape(-1).astype(np.float32)).astype(np.float64).reshape(numbers.shape)
        most = max(float(np.abs(end - self.zero_points).max()) for end in value_range(self.dtype))
        least, bend = float(self.scales.min()), float(self.scales.min()) * most
        magnitude = np.minimum(np.abs(values), float(self.scales.max()) * most)
        steps = np.minimum(magnitude, bend) / least + most * np.log(np.maximum(magnitude, bend) / bend)
        return np.copysign(steps, values)

    def tables(self, parts: Sequence[Levels]) -> list[Int64Array]:
        """What each part adds to the outputs of each channel, shape (channels, 256); the last one has the outputs.

        Those below it add nothing to numbers beyond them.
        """
        clip, found = value_range(self.dtype), list[Int64Array]()
        for part in parts:
            quotients = self.function(part.numbers.astype(np.float32)) / self.scales[:, None]
            found.append((np.rint(quotients).astype(np.int64) + self.zero_points[:, None]).clip(*clip))
        for below, above in itertools.pairwise(found):
            above[:, 0] = below[:, -1]  # the same number, which float32 may put on either side of a half
        return [*(own - own[:, -1:] for own in found[:-1]), found[-1]]
