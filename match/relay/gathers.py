"""The Relay of `match.graph.gathers`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match.graph.gathers import Gather, GatherElements, GatherPoints, UpdateSlice
from match.graph.operator import Operator
from match.ir.graph import Tensor
from match.relay import relay


def gathered(operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor]) -> relay.Expr | None:
    """An operator of `match.graph.gathers`; None for others."""
    match operator:
        case Gather(axis=axis):
            indices = _from_front(inputs[1], tensors[0].shape[axis], tensors[1]) if operator.from_end else inputs[1]
            return relay.take(inputs[0], indices, axis=axis, batch_dims=operator.batches, mode="clip")
        case GatherElements(axis=axis):
            return relay.gather(inputs[0], axis, _from_front(inputs[1], tensors[0].shape[axis], tensors[1]))
        case GatherPoints():
            rank = len(tensors[1].shape)
            return relay.gather_nd(inputs[0], relay.transpose(inputs[1], [rank - 1, *range(rank - 1)]))
        case UpdateSlice():
            x, update, place = inputs
            return _updated(x, update, place, tensors[0].shape, tensors[1].shape)
        case _:
            return None


def _from_front(indices: relay.Expr, extent: int, own: Tensor) -> relay.Expr:
    """Indices counted from the front of an axis."""
    after = relay.add(indices, relay.const(extent, own.dtype))
    return relay.where(relay.less(indices, relay.const(0, own.dtype)), after, indices)


def _updated(
    x: relay.Expr, update: relay.Expr, place: relay.Expr, shape: tuple[int, ...], size: tuple[int, ...]
) -> relay.Expr:
    """Along each axis the update's element for each place of the whole, and whether the place is inside."""
    starts = relay.maximum(relay.cast(place, "int32"), relay.const(np.zeros(len(shape), np.int32)))
    starts = relay.minimum(starts, relay.const(np.array(shape, np.int32) - np.array(size, np.int32)))
    inside = None
    for axis, (extent, length) in enumerate(zip(shape, size, strict=True)):
        start = relay.strided_slice(starts, [axis], [axis + 1])
        position = relay.subtract(relay.const(np.arange(extent, dtype=np.int32)), start)
        bounded = relay.maximum(relay.minimum(position, relay.const(length - 1)), relay.const(0))
        update = relay.take(update, bounded, axis=axis)
        here = relay.reshape(relay.equal(position, bounded), (-1, *[1] * (len(shape) - axis - 1)))
        inside = here if inside is None else relay.logical_and(inside, here)
    return relay.where(inside, update, x)
