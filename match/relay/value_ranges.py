"""Which values each channel of each tensor of the integer form can have, from the inputs' types down to the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import relay, tvm
from match.relay.objects import expressions, main_function
from match.relay.operators import Accumulation, Average, Dense
from match.relay.readers import read_addition, read_layer, read_lookup
from match.relay.rewrite import dtype, is_8bit, is_call, shape


@dataclass(frozen=True, eq=False)
class Range:
    """Smallest and largest value of each channel (the last axis) of a tensor, int64 of shape (channels,)."""

    low: Int64Array
    high: Int64Array

    @property
    def constant(self) -> Any:
        """Boolean array (channels,): whether the channel has one value."""
        return self.low == self.high


def value_ranges(module: tvm.IRModule) -> dict[relay.Expr, Range]:
    """The range of every 8-bit tensor with a channel axis in "main"."""
    ranges: dict[relay.Expr, Range] = {}

    for node in expressions(main_function(module)):
        if isinstance(node, (relay.Call, relay.Var)) and is_8bit(node) and len(shape(node)) > 1:
            ranges[node] = _range(node, ranges)
    return ranges


def accumulator_range(layer: Accumulation, x: Range) -> tuple[Int64Array, Int64Array]:
    """Smallest and largest accumulator of each output channel for inputs in `x`, padding included."""
    if isinstance(layer, Average):
        count = layer.window[0] * layer.window[1]
        return count * x.low, count * x.high
    if isinstance(layer, Dense):
        return _weighted(layer.weights.T.astype(np.int64), x)
    taps = layer.weights.shape[0] * layer.weights.shape[1]
    if any(layer.padding):
        x = Range(np.minimum(x.low, layer.pad_value), np.maximum(x.high, layer.pad_value))
    weights = layer.weights.reshape(taps, *layer.weights.shape[2:]).astype(np.int64)
    if layer.grouped:
        return _in_groups(weights, x, layer.groups)
    if not layer.depthwise:
        return _weighted(weights.reshape(-1, weights.shape[2]), Range(np.tile(x.low, taps), np.tile(x.high, taps)))
    positive, negative = np.maximum(weights, 0).sum(axis=0), np.minimum(weights, 0).sum(axis=0)
    low = positive * x.low[:, None] + negative * x.high[:, None]
    high = positive * x.high[:, None] + negative * x.low[:, None]
    return low.reshape(-1), high.reshape(-1)


def _in_groups(weights: Int64Array, x: Range, groups: int) -> tuple[Int64Array, Int64Array]:
    """Bounds of the sums of a grouped convolution, weights (taps, inputs of a group, outputs of all groups)."""
    taps, inputs, outputs = weights.shape
    each = weights.reshape(taps * inputs, groups, outputs // groups)
    low, high = (np.tile(ends.reshape(groups, inputs), taps) for ends in (x.low, x.high))
    bounds = [_weighted(each[:, group], Range(low[group], high[group])) for group in range(groups)]
    return np.concatenate([first for first, _ in bounds]), np.concatenate([last for _, last in bounds])


def _weighted(weights: Int64Array, x: Range) -> tuple[Int64Array, Int64Array]:
    """Bounds of ``x @ weights`` for weights (inputs, outputs)."""
    positive, negative = np.maximum(weights, 0), np.minimum(weights, 0)
    return x.low @ positive + x.high @ negative, x.high @ positive + x.low @ negative


def _range(node: relay.Expr, ranges: dict[relay.Expr, Range]) -> Range:
    layer = read_layer(node)
    if layer is not None and layer.x in ranges:
        ends = [layer.requantization(end) for end in accumulator_range(layer, ranges[layer.x])]
        return Range(np.minimum(*ends), np.maximum(*ends))
    addition = read_addition(node)
    if addition is not None and all(operand in ranges for operand in addition.operands):
        low, high = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for operand, multiplier in zip(addition.operands, addition.multipliers, strict=True):
            ends = multiplier * ranges[operand].low, multiplier * ranges[operand].high
            low, high = low + np.minimum(*ends), high + np.maximum(*ends)
        return Range(addition.requantization(low), addition.requantization(high))
    lookup = read_lookup(node)
    if lookup is not None and lookup.x in ranges:
        first, x = value_range(lookup.x_dtype)[0], ranges[lookup.x]
        ends, own = np.unique(np.stack([x.low, x.high]) - first, axis=1, return_inverse=True)
        spans = [lookup.outputs[low : high + 1] for low, high in ends.T]
        return Range(np.array([span.min() for span in spans])[own], np.array([span.max() for span in spans])[own])
    if is_call(node, "nn.max_pool2d") and node.args[0] in ranges:
        return ranges[node.args[0]]
    if is_call(node, "reshape") and node.args[0] in ranges:
        copies = channel_copies(node)
        if copies:
            x = ranges[node.args[0]]
            return Range(np.tile(x.low, copies), np.tile(x.high, copies))
    channels = shape(node)[-1]
    low, high = value_range(dtype(node))
    return Range(np.full(channels, low, np.int64), np.full(channels, high, np.int64))


def channel_copies(reshape: relay.Call) -> int:
    """How often the channels of a reshape's input follow one another in its last axis; 0 if they are torn apart."""
    before, after = shape(reshape.args[0]), shape(reshape)
    if not before or not after:  # a single number
        return 0
    if before[-1] == after[-1]:
        return 1
    if len(after) == 2 and before[0] == after[0] and len(before) > 2:
        return after[-1] // before[-1]
    return 0
