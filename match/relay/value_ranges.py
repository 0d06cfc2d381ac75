"""Which values each channel of each tensor of the integer form can have, from the inputs' types down to the outputs."""

from __future__ import annotations

import numpy as np

from match.graph.operator import Known, Range, whole_range
from match.ir.graph import Tensor
from match.relay import relay, tvm
from match.relay.objects import expressions, main_function
from match.relay.readers import read_addition, read_layer, read_lookup
from match.relay.rewrite import dtype, is_8bit, is_call, shape


def value_ranges(module: tvm.IRModule) -> dict[relay.Expr, Range]:
    """The range of every 8-bit tensor with a channel axis in "main"."""
    ranges: dict[relay.Expr, Range] = {}

    for node in expressions(main_function(module)):
        if isinstance(node, (relay.Call, relay.Var)) and is_8bit(node) and len(shape(node)) > 1:
            ranges[node] = _range(node, ranges)
    return ranges


def _range(node: relay.Expr, ranges: dict[relay.Expr, Range]) -> Range:
    tensor = Tensor(shape(node), dtype(node))
    read = read_layer(node) or read_addition(node) or read_lookup(node)
    if read is not None:
        inputs = [Known(Tensor(shape(x), dtype(x)), ranges.get(x)) for x in read.operands]
        return read.values(tensor, inputs) or whole_range(tensor)
    if is_call(node, "nn.max_pool2d") and node.args[0] in ranges:
        return ranges[node.args[0]]
    if is_call(node, "reshape") and node.args[0] in ranges:
        copies = channel_copies(node)
        if copies:
            x = ranges[node.args[0]]
            return Range(np.tile(x.low, copies), np.tile(x.high, copies))
    return whole_range(tensor)


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
