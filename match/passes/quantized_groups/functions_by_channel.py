"""Functions of a layer's outputs that are quantized with a scale for each channel, as inputs of depthwise layers are.

The layer's outputs become 8 bits for each part that the function is cut into (`match.arithmetic.parts_of_functions`). A
table for each channel has what a part adds, in whole steps. Outputs are within one step of what the reference computes
in floating point.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.parts_of_functions import LEVELS, Levels, Reals, parts_of, reach_of
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.passes.element_functions import ElementFunction, function_behind
from match.passes.quantized_groups.linear import LEVEL_DTYPE, layer_itself, linear_levels
from match.passes.quantized_groups.quantities import parameters
from match.relay import integer_form, relay
from match.relay.rewrite import New, constant, is_call, scalar, shape

_CHANNELS = 1
"""The axis of channels in NCHW."""


def function_by_channel(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A function of each output of a convolution, divided by a scale for each channel.

    A number for each channel may be added after that, and the function may be padded with zero.
    """
    if output.scale != 1 or len(shape(expr)) != 4:
        return None
    channels = shape(expr)[_CHANNELS]
    addend = _of_channels(expr, "add", channels)
    quotients = expr if addend is None else expr.args[0]
    scales = _of_channels(quotients, "divide", channels)
    if scales is None:
        return None
    real = quotients.args[0]
    padding = real if _pads_with_zero(real) else None
    layer, function = function_behind(real if padding is None else padding.args[0], layer_itself) or (None, None)
    if layer is None or function is None or (padding is not None and function(np.zeros(1, np.float32)) != 0):
        return None
    zero_points = output.zero_point + (np.zeros(channels, np.int64) if addend is None else addend.astype(np.int64))
    divided = _Divided(function, scales, zero_points, output.dtype)
    reach = reach_of(divided.strictest)
    parts = None if reach is None else parts_of(divided.strictest, reach)
    if parts is None:
        return None
    low, high = value_range(output.dtype)
    *lower, last = divided.tables(parts)
    types = [replace(output, zero_point=low - int(table.min())) for table in lower]
    if any(table.max() + own.zero_point > high for table, own in zip(lower, types, strict=True)):
        return None
    tables = [*(table + own.zero_point for table, own in zip(lower, types, strict=True)), last]
    added: list[relay.Expr] = []
    for part, table in zip(parts, tables, strict=True):
        levels = linear_levels(layer, part.low, np.float32(part.step), new)
        if levels is None:
            return None
        x = levels.x if padding is None else _padded(levels.x, padding, part)
        behind = len(shape(expr)) - 1 - _CHANNELS
        added.append(integer_form.channel_lookup(x, table, LEVEL_DTYPE, output.dtype, behind, real=True))
    total = added.pop()
    for own in reversed(types):  # from above, so that each sum is an output
        total = relay.qnn.op.add(added.pop(), total, *parameters(own), *parameters(output), *parameters(output))
    return total


def _of_channels(expr: relay.Expr, operator: str, channels: int) -> Float32Array | None:
    """The numbers, shape (channels,), that an operator has as its second operand; None for other expressions."""
    numbers = constant(expr.args[1]) if is_call(expr, operator) else None
    return None if numbers is None or numbers.shape != (channels, 1, 1) else numbers.reshape(-1)


def _pads_with_zero(expr: relay.Expr) -> TypeGuard[relay.Call]:
    return is_call(expr, "nn.pad") and str(expr.attrs.pad_mode) == "constant" and scalar(expr.args[1]) == 0


def _padded(x: relay.Expr, padding: relay.Call, part: Levels) -> relay.Expr:
    """The levels of a part, padded with that nearest to zero, whose outputs are within a step of the zero points."""
    level = int(np.rint(-part.low / part.step).clip(0, LEVELS - 1))
    return relay.nn.pad(x, padding.attrs.pad_width, relay.const(level, LEVEL_DTYPE))


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
