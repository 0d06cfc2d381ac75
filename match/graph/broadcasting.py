"""Operators of two tensors, element by element, one of which may be broadcast."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from match.graph.operator import Known, Refused
from match.ir.attributes import Broadcast
from match.ir.graph import Tensor
from match.ir.layer import Layer, Op


@dataclass(frozen=True)
class Pair:
    """The order in which a layer has two operands, and how they are broadcast.

    `extents` are those of the layer, which sees as one axis those along which an operand is not broadcast.
    """

    order: tuple[int, int]
    broadcast: Broadcast
    extents: tuple[int, ...]

    def with_broadcast(self, layer: Layer) -> Layer:
        """The layer with an input that is broadcast to the output."""
        rows, columns = (1, 1) if self.broadcast.kind == "outer" else (layer.iy, layer.ix)
        return replace(layer, attributes=self.broadcast, iy=rows, ix=columns)


def paired(op: Op, result: Tensor, inputs: Sequence[Known], *, symmetric: bool = True) -> Pair | Refused:
    """Two operands in an order that a layer can have, or the reason why there is none.

    The order may be the other one where an operator is `symmetric` once its numbers go with their operands.
    """
    a, b = inputs
    if a.dtype != b.dtype:
        return Refused(op, "its operands have different types")
    pair = _pair(result.shape, (a.shape, b.shape), symmetric=symmetric)
    return pair or Refused(op, "its operands differ in more than one having a single pixel or channel")


def are_paired(whole: tuple[int, ...], shapes: Sequence[tuple[int, ...]], *, symmetric: bool) -> bool:
    """Whether a layer can have two operands of these shapes, and this result."""
    return _pair(whole, shapes, symmetric=symmetric) is not None


def _pair(whole: tuple[int, ...], shapes: Sequence[tuple[int, ...]], *, symmetric: bool) -> Pair | None:
    for order in ((0, 1), (1, 0)) if symmetric else ((0, 1),):
        first, second = (shapes[number] for number in order)
        broadcast = _broadcast(whole, first, second)
        if broadcast is not None:
            return Pair(order, broadcast, whole)
        together = _together(whole, first, second)
        if together is not None:
            return Pair(order, Broadcast("pixel"), together)
        apart = _apart(whole, first, second)
        if apart is not None:
            return Pair(order, Broadcast("channel"), apart)
    return None


def _broadcast(whole: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> Broadcast | None:
    """How two operands are broadcast to a result; None if no layer can do so."""
    *pixels, k = whole or (1,)
    one_pixel, one_channel = _trimmed((k,)), _trimmed((*pixels, 1))
    both = _trimmed(a), _trimmed(b)
    whole = _trimmed(whole)
    if both == (whole, whole):
        return Broadcast()
    if both == (whole, one_pixel):
        return Broadcast("pixel")
    if both == (whole, one_channel):
        return Broadcast("channel")
    return Broadcast("outer") if both == (one_pixel, one_channel) else None


def _together(whole: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, int] | None:
    """Two extents of a result whose last axes are those of its second operand, which is one pixel of it then.

    None if the operands are not broadcast that way.
    """
    whole, pixel = _trimmed(whole), _trimmed(b)
    if _trimmed(a) != whole or not pixel or whole[-len(pixel) :] != pixel:
        return None
    return math.prod(whole[: -len(pixel)]), math.prod(pixel)


def _apart(whole: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, int] | None:
    """Two extents of a result whose first axes are those of its second operand, which has one channel of it then.

    A single number is one channel of one pixel. None if the operands are not broadcast that way.
    """
    rank = len(whole)
    extents = (1,) * (rank - len(b)) + b
    first = next((axis for axis in reversed(range(rank)) if extents[axis] > 1), -1) + 1
    if _trimmed(a) != _trimmed(whole) or extents[:first] != whole[:first]:
        return None
    return math.prod(whole[:first]), math.prod(whole[first:])


def _trimmed(extents: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without leading ones, which do not matter for broadcasting."""
    return tuple(itertools.dropwhile(lambda extent: extent == 1, extents))
