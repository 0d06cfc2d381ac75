"""Splits large dense layers by their outputs, so that each part brings its own constants into main memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from match.ir.layer import Op
from match.partitioning.graph import Row
from match.partitioning.pattern import Match
from match.relay import integer_form, relay, tvm
from match.relay.places import in_parts, placed
from match.relay.rewrite import New, rewrite

_MOST = 64 << 10
"""Bytes of the weights of a part. Smaller parts fill main memory better, and each costs the offload of a layer."""


def split_dense(main: relay.Function, found: Iterable[Row]) -> tvm.IRModule | None:
    """The network with each large dense layer split into parts whose outputs are concatenated; None without any.

    A layer is large if it is on one row and has more than `_MOST` bytes of weights. `found` are the layers of `main`.
    """
    large = {row.root: row for row in found if isinstance(row, Match) and _is_large(row)}
    if not large:
        return None

    def rule(call: relay.Call, new: New) -> relay.Expr | None:
        if call not in large:
            return None
        parts = _parts(large[call], new)
        joined = relay.concatenate(parts, 1)
        return placed(joined, in_parts(call.span, len(parts))) if call.span else joined

    return rewrite(tvm.IRModule.from_expr(main), rule)


def _is_large(match: Match) -> bool:
    layer, weights = match.layer, match.constants.weights
    alone = layer.op is Op.DENSE and layer.ox == 1 and match.reference
    return alone and weights is not None and weights.nbytes > _MOST


def _parts(match: Match, new: New) -> list[relay.Expr]:
    """A dense layer by some of its outputs at a time."""
    layer, constants = match.layer, match.constants
    assert constants.weights is not None, "a dense layer has weights"
    x, weights = new(match.inputs[0]), constants.weights.reshape(layer.k, layer.c)

    def part(channels: np.ndarray) -> relay.Expr:
        if constants.requantization is None:
            return integer_form.product(x, weights[channels])
        requantization = constants.requantization.take(channels)
        return integer_form.dense(x, weights[channels], requantization, layer.output_dtype)

    count = -(-weights.nbytes // _MOST)
    return [part(channels) for channels in np.array_split(np.arange(layer.k), count)]
