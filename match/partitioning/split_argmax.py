"""Splits argmax and argmin of the channels of each pixel into layers that modules take.

Max pooling finds the largest channel of a pixel. A subtraction gives the type's largest integer in the channels that
equal it, and less in the others. A table for each channel then marks these channels: with the distance from the last
channel if the first place is wanted, else with the distance from the first channel. The largest mark tells the place.
"""

from __future__ import annotations

import math

import numpy as np

from match.ir.dtypes import value_range
from match.ir.layer import Op
from match.relay import integer_form, relay, tvm
from match.relay.largest import pooled_largest
from match.relay.rewrite import New, dtype, is_8bit, is_call, rewrite, shape
from match.target.hardware import MatchTarget

_LEAST = 512
"""Fewer integers are left to the control core. It takes some 40 cycles for each, and a group of six layers takes 10,000
and more (predicted, GAP9)."""

_MOST_PLACES = 256

_LAYERS = {Op.MAX_POOL2D, Op.ADD, Op.CHANNEL_LOOKUP, Op.LOOKUP}


def split_argmax(module: tvm.IRModule, target: MatchTarget) -> tvm.IRModule:
    """The network with layers in place of argmax and argmin of widened 8-bit integers along the last axis.

    Those of few integers stay as they are, and all do if the target's modules do not take these layers.
    """
    taken = {op for pattern in target.patterns for op in pattern.ops}
    return rewrite(module, _rule) if taken >= _LAYERS else module


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "argmax", "argmin") or call.attrs.exclude or not is_call(call.args[0], "cast"):
        return None
    integers = call.args[0].args[0]
    extents = shape(integers)
    axes = [int(axis) % len(extents) for axis in call.attrs.axis or ()]
    if not is_8bit(integers) or axes != [len(extents) - 1] or math.prod(extents) < _LEAST:
        return None
    count, kind = extents[-1], dtype(integers)
    if not 1 < count <= _MOST_PLACES:
        return None
    low, high = clip = value_range(kind)
    x = new(integers)
    if is_call(call, "argmin"):
        x = integer_form.lookup(x, np.arange(high, low - 1, -1), kind, kind)
    pixels = (*extents[:-1], 1)
    largest = relay.reshape(pooled_largest(x, extents, axes), pixels)
    below = integer_form.add(x, largest, (1, -1), high, 0, clip, kind)
    places = np.arange(count) if call.attrs.select_last_index else np.arange(count)[::-1]
    tables = np.full((count, high - low + 1), low)
    tables[:, -1] = low + places
    marked = integer_form.channel_lookup(below, tables, kind, kind, 0)
    found = pooled_largest(marked, extents, axes)
    at = np.zeros(high - low + 1, np.int64)
    at[places] = np.arange(count)
    place = integer_form.lookup(found, at, kind, "uint8")
    return relay.cast(relay.reshape(place, shape(call)), dtype(call))
