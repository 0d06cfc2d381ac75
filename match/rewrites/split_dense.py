"""Splits large dense layers by their outputs, so that each part brings its own constants into main memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph.moves import Concatenate
from match.graph.rewrite import rewrite
from match.graph.sums import Dense
from match.graph.value import Graph, Value, computed

_MOST = 64 << 10
"""Bytes of the weights of a part. Smaller parts fill main memory better, and each costs the offload of a layer."""


def split_dense(graph: Graph) -> Graph:
    """The graph with each large dense layer split into parts whose outputs are concatenated.

    A layer is large if it is on one row and has more than `_MOST` bytes of weights.
    """
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    """A dense layer by some of its outputs at a time."""
    del original
    dense = value.operator
    if not isinstance(dense, Dense) or value.shape[0] != 1 or not value.exact or dense.weights.nbytes <= _MOST:
        return value
    count = -(-dense.weights.nbytes // _MOST)
    parts = [
        replace(
            computed(
                Dense(
                    weights=dense.weights[channels],
                    requantization=dense.requantization.take(channels),
                    dtype=dense.dtype,
                ),
                *value.inputs,
            ),
            source=value.source,
            parts=count,
        )
        for channels in np.array_split(np.arange(len(dense.weights)), count)
    ]
    return replace(value, operator=Concatenate(axis=1), inputs=tuple(parts), parts=count)
