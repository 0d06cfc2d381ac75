"""Operands of operators of two tensors that are repeated along a middle axis are written out, as far as layers need it.

Layers repeat an operand along the first axes or along the last ones. A gain for each row of maps with channels first
is repeated along both, and masks of attention in windows (Swin) along the heads, between windows and tokens.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from match.graph.broadcasting import are_paired
from match.graph.make import array_of, constant, repeated, reshaped
from match.graph.pairs import ElementWise
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value
from match.ir.layer import Op
from match.target.hardware import MatchTarget


def with_repeated_operands(graph: Graph, target: MatchTarget) -> Graph:
    """The graph with operands written out that layers could not repeat, with the fewest elements that do.

    Operators that no module has a pattern for are the control core's, which repeats operands along any axes.
    """
    return rewrite(graph, partial(_rule, target.taken))


def _rule(taken: Collection[Op], value: Value, original: Value) -> Value:
    del original
    operator = value.operator
    if not isinstance(operator, ElementWise) or operator.op not in taken:
        return value
    shapes = itertools.product(*(_written_out(x.shape, value.shape) for x in value.inputs))
    fitting = [both for both in shapes if are_paired(value.shape, both, symmetric=operator.symmetric)]
    least = min(fitting, key=lambda both: sum(map(math.prod, both)))
    inputs = tuple(_repeated(x, shape) for x, shape in zip(value.inputs, least, strict=True))
    same = all(one is other for one, other in zip(inputs, value.inputs, strict=True))
    return value if same else replace(value, inputs=inputs)


def _written_out(own: tuple[int, ...], whole: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shapes that a tensor may be repeated to: its own, all axes after the first or before the last it has, and all."""
    aligned = (*[1] * (len(whole) - len(own)), *own)
    kept = [axis for axis, extent in enumerate(aligned) if extent > 1]
    yield own
    if kept:
        yield (*aligned[: kept[0]], *whole[kept[0] :])
        yield (*whole[: kept[-1]], *aligned[kept[-1] :])
    yield whole


def _repeated(x: Value, shape: tuple[int, ...]) -> Value:
    array = array_of(x)
    if math.prod(shape) == x.tensor.elements:
        return x
    if array is not None:
        return replace(constant(np.ascontiguousarray(np.broadcast_to(array, shape))), source=x.source)
    x = reshaped(x, (*[1] * (len(shape) - len(x.shape)), *x.shape))
    for axis in sorted(range(len(shape)), key=shape.__getitem__):  # one after the other, as modules take them
        if x.shape[axis] != shape[axis]:
            x = repeated(x, [shape[axis] if own == axis else 1 for own in range(len(shape))])
    return x
