"""Splits argmax and argmin of the channels of each pixel into layers that modules take.

Max pooling finds the largest channel of a pixel. A subtraction gives the type's largest integer in the channels that
equal it, and less in the others. A table for each channel then marks these channels: with the distance from the last
channel if the first place is wanted, else with the distance from the first channel. The largest mark tells the place.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph import moves
from match.graph.elements import ChannelLookup, Lookup
from match.graph.integers import Elementwise, Place
from match.graph.maximum import Maximum
from match.graph.pairs import Addition
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed
from match.ir.dtypes import value_range
from match.ir.layer import Op, Padding
from match.target.hardware import MatchTarget

_LEAST = 512
"""Fewer integers are left to the control core. It takes some 40 cycles for each, and a group of six layers takes 10,000
and more (predicted, GAP9)."""

_MOST_PLACES = 256

_LAYERS = {Op.MAX_POOL2D, Op.ADD, Op.CHANNEL_LOOKUP, Op.LOOKUP}


def split_argmax(graph: Graph, target: MatchTarget) -> Graph:
    """The graph with layers in place of argmax and argmin of 8-bit integers along the last axis.

    Those of few integers stay as they are, and all do if the target's modules do not take these layers.
    """
    return rewrite(graph, _rule) if target.taken >= _LAYERS else graph


def _rule(value: Value, original: Value) -> Value:
    del original
    place = value.operator
    if not isinstance(place, Place):
        return value
    (x,) = value.inputs
    *pixels, count = x.shape
    if place.axis != len(pixels) or x.tensor.elements < _LEAST or not 1 < count <= _MOST_PLACES:
        return value
    kind = x.dtype
    low, high = clip = value_range(kind)
    if not place.largest:
        x = computed(Lookup(outputs=np.arange(high, low - 1, -1), dtype=kind), x)
    largest = _reshaped(_largest(x), (*pixels, 1))
    below = computed(Addition(multipliers=(1, -1), bias=high, shift=0, clip=clip, dtype=kind), x, largest)
    places = np.arange(count) if place.last else np.arange(count)[::-1]
    tables = np.full((count, high - low + 1), low)
    tables[:, -1] = low + places
    marked = computed(ChannelLookup(outputs=tables, dtype=kind), below)
    at = np.zeros(high - low + 1, np.int64)
    at[places] = np.arange(count)
    found = computed(Lookup(outputs=at, dtype="uint8"), _largest(marked))
    return replace(
        value,
        operator=Elementwise(function="cast", dtype=place.dtype),
        inputs=(_reshaped(found, value.shape),),
    )


def _largest(x: Value) -> Value:
    """The largest number along the last axis: the maximum pooling of a map of one row whose channels are all others."""
    count = x.shape[-1]
    others = x.tensor.elements // count
    flat = _reshaped(x, (others, count))
    turned = computed(moves.transpose(flat.tensor, (1, 0)), flat)
    pooling = Maximum(window=(1, count), strides=(1, 1), padding=Padding(), dilation=(1, 1))
    return computed(pooling, _reshaped(turned, (1, 1, count, others)))


def _reshaped(x: Value, shape: tuple[int, ...]) -> Value:
    return computed(moves.reshape(x.tensor, shape), x)
