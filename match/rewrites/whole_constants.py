"""A constant that an operator of two tensors repeats along a middle axis is written out.

Layers repeat an operand along the first axes or along the last ones. Masks of attention in windows (Swin) are alike for
all heads, whose axis is between those of windows and of tokens.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from match.graph.make import array_of, constant
from match.graph.pairs import ElementWise, FunctionOfTwo
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value


def with_whole_constants(graph: Graph) -> Graph:
    """The graph with such constants that have all elements of the result."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    if not isinstance(value.operator, (ElementWise, FunctionOfTwo)):
        return value
    inputs = tuple(_whole(x, value.shape) for x in value.inputs)
    same = all(one is other for one, other in zip(inputs, value.inputs, strict=True))
    return value if same else replace(value, inputs=inputs)


def _whole(x: Value, extents: tuple[int, ...]) -> Value:
    array = array_of(x)
    if array is None or not _repeated_inside(array.shape, extents):
        return x
    return replace(constant(np.ascontiguousarray(np.broadcast_to(array, extents))), source=x.source)


def _repeated_inside(own: Sequence[int], extents: Sequence[int]) -> bool:
    """Whether axes along which a tensor is repeated are neither the first nor the last ones."""
    aligned = (*[1] * (len(extents) - len(own)), *own)
    repeated = [one < extent for one, extent in zip(aligned, extents, strict=True) if extent > 1]
    return len(list(itertools.groupby(repeated))) > 2
