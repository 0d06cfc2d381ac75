"""Operators of two activations as layers."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.layer import Broadcast, Layer, Op
from match.ir.requantization import Int64Array
from match.partitioning.pattern.layers import (
    UNSCALED,
    Ranges,
    covered,
    element_wise,
    range_of,
    rejected,
    scaling_words,
    without_idle_parts,
    words_of_line,
)
from match.partitioning.pattern.types import Match, Rejection
from match.relay import relay
from match.relay.int16_addition import LEFT_SHIFT, Int16Addition
from match.relay.integer_form import largest_square
from match.relay.operators import (
    AbsoluteDifference,
    Addition,
    LookupLine,
    LookupSum,
    Matrices,
    Multiplication,
    SquaredDifference,
)
from match.relay.rewrite import dtype, shape

_PRODUCT = 31
"""Bits of a product of two numbers of 16 bits."""


def addition(root: relay.Expr, found: Addition, ranges: Ranges) -> Match | Rejection:
    """A sum of two tensors, element by element."""
    pair = _paired(root, Op.ADD, found.operands, found.multipliers)
    if isinstance(pair, Rejection):
        return pair
    (a, b), multipliers = pair.operands, pair.numbers
    low, high = 0, 0
    spans = [_ends(x, ranges) for x in (a, b)]
    for span, multiplier in zip(spans, multipliers, strict=True):
        low, high = low + int((multiplier * span).min()), high + int((multiplier * span).max())
    layer = replace(
        element_wise(Op.ADD, pair.extents, dtype(a), found.dtype),
        clip=found.clip,
        input_range=(int(min(span[0] for span in spans)), int(max(span[1] for span in spans))),
    )
    layer = _with_broadcast(layer, pair.broadcast)
    constants = LayerConstants(None, found.requantization, multipliers)
    accumulator = np.array([low], np.int64), np.array([high], np.int64)
    return Match(root, (a, b), covered(root, (a, b)), layer, constants, accumulator, reference=not found.real)


def int16_addition(root: relay.Expr, found: Int16Addition) -> Match | Rejection:
    """A sum or difference of two tensors of 16 bits, element by element."""
    pair = _paired(root, Op.ADD, found.operands, (0, 1), symmetric=False)
    if isinstance(pair, Rejection):
        return pair
    layer = replace(element_wise(Op.ADD, pair.extents, "int16", "int16"), clip=found.clip)
    shifts = np.array([LEFT_SHIFT, LEFT_SHIFT, 0])
    words = scaling_words(found.scales[:, 0], found.scales[:, 1], shifts)
    table = np.append(words.reshape(-1), found.sign).astype(np.int32)
    constants = LayerConstants(None, None, table=table)
    return Match(
        root, pair.operands, covered(root, pair.operands), _with_broadcast(layer, pair.broadcast), constants, None
    )


def multiplication(root: relay.Expr, found: Multiplication, ranges: Ranges) -> Match | Rejection:
    """A product of two tensors, element by element."""
    pair = _paired(root, Op.MULTIPLY, found.operands, found.zero_points)
    if isinstance(pair, Rejection):
        return pair
    (a, b), zero_points = pair.operands, pair.numbers
    products = np.multiply.outer(*(_ends(x, ranges) - zero for x, zero in zip((a, b), zero_points, strict=True)))
    layer = element_wise(Op.MULTIPLY, pair.extents, dtype(a), found.dtype)
    layer = _with_broadcast(replace(layer, clip=found.requantization.clip), pair.broadcast)
    accumulator = products.min().reshape(1), products.max().reshape(1)
    parameters = without_idle_parts(found.requantization, *accumulator)
    constants = LayerConstants(None, parameters, zero_points=zero_points)
    return Match(root, (a, b), covered(root, (a, b)), layer, constants, accumulator, reference=not found.real)


def int16_multiplication(root: relay.Expr, found: Multiplication) -> Match | Rejection:
    """A product of two tensors of 16 bits, element by element."""
    pair = _paired(root, Op.MULTIPLY, found.operands, (0, 1))
    if isinstance(pair, Rejection):
        return pair
    line = found.requantization
    table = words_of_line(line, _PRODUCT)
    if table is None:
        return rejected(root, pair.operands, Op.MULTIPLY, UNSCALED)
    layer = replace(element_wise(Op.MULTIPLY, pair.extents, "int16", "int16"), clip=line.clip)
    constants = LayerConstants(None, None, table=table)
    return Match(
        root, pair.operands, covered(root, pair.operands), _with_broadcast(layer, pair.broadcast), constants, None
    )


def squared_difference(root: relay.Expr, found: SquaredDifference) -> Match | Rejection:
    """The square of the difference of two tensors, element by element."""
    pair = _paired(root, Op.SQUARED_DIFFERENCE, found.operands, (0, 1))
    if isinstance(pair, Rejection):
        return pair
    steps = found.steps[list(pair.numbers)]
    layer = element_wise(Op.SQUARED_DIFFERENCE, pair.extents, dtype(pair.operands[0]), found.dtype)
    layer = _with_broadcast(replace(layer, clip=found.requantization.clip), pair.broadcast)
    accumulator = np.zeros(1, np.int64), np.array([largest_square(steps)])
    parameters = without_idle_parts(found.requantization, *accumulator)
    constants = LayerConstants(None, parameters, table=_by_byte(steps, layer).astype(np.int16))
    return Match(root, pair.operands, covered(root, pair.operands), layer, constants, accumulator)


def lookup_sum(root: relay.Expr, found: LookupSum) -> Match | Rejection:
    """A sum of two tensors through a table each, element by element."""
    return _sum_of_tables(root, Op.LOOKUP_SUM, found, reference=not found.real)


def lookup_line(root: relay.Expr, found: LookupLine) -> Match | Rejection:
    """A line of the first tensor that the second one chooses, element by element."""
    pair = _paired(root, Op.LOOKUP_LINE, found.operands, (0, 1), symmetric=False)
    if isinstance(pair, Rejection):
        return pair
    layer = element_wise(Op.LOOKUP_LINE, pair.extents, dtype(pair.operands[0]), found.dtype)
    layer = _with_broadcast(replace(layer, clip=found.clip), pair.broadcast)
    constants = LayerConstants(None, None, table=_by_byte(found.lines, layer).astype(np.int32))
    return Match(root, pair.operands, covered(root, pair.operands), layer, constants, None, reference=not found.real)


def absolute_difference(root: relay.Expr, found: AbsoluteDifference) -> Match | Rejection:
    """The difference of two tensors through a table each, without its sign, element by element."""
    return _sum_of_tables(root, Op.ABSOLUTE_DIFFERENCE, found, reference=True)


def _sum_of_tables(
    root: relay.Expr, op: Op, found: LookupSum | AbsoluteDifference, *, reference: bool
) -> Match | Rejection:
    pair = _paired(root, op, found.operands, (0, 1))
    if isinstance(pair, Rejection):
        return pair
    layer = element_wise(op, pair.extents, dtype(pair.operands[0]), found.dtype)
    layer = _with_broadcast(replace(layer, clip=found.clip), pair.broadcast)
    tables = _by_byte(found.tables[list(pair.numbers)], layer).astype(np.int32)
    constants = LayerConstants(None, None, table=tables)
    return Match(root, pair.operands, covered(root, pair.operands), layer, constants, None, reference=reference)


def _by_byte(tables: Int64Array, layer: Layer) -> Int64Array:
    """Tables (2, 256) of a layer's inputs by the byte that stores a value, from those by values in ascending order."""
    return np.roll(tables, 128, axis=1) if layer.input_dtype == "int8" else tables


def matrices(root: relay.Expr, found: Matrices) -> Match | Rejection:
    """Products of pairs of matrices."""
    a, b = found.operands
    (batch, rows, c), (_, columns, _) = shape(a), shape(b)
    macs = batch * rows * columns * c
    if dtype(a) != dtype(b):
        return rejected(root, (a, b), Op.MATRICES, "its operands have different types", macs)
    layer = Layer(
        name=Op.MATRICES.value,
        op=Op.MATRICES,
        k=columns,
        c=c,
        oy=batch,
        ox=rows,
        iy=batch,
        ix=rows,
        input_dtype=dtype(a),
        weight_dtype="",
        output_dtype=found.dtype,
        clip=found.requantization.clip,
    )
    ends = (np.array(value_range(dtype(x))) - zero for x, zero in zip((a, b), found.zero_points, strict=True))
    products = c * np.multiply.outer(*ends).astype(np.int64)
    accumulator = products.min().reshape(1), products.max().reshape(1)
    parameters = without_idle_parts(found.requantization, *accumulator)
    constants = LayerConstants(None, parameters, zero_points=found.zero_points)
    return Match(root, (a, b), covered(root, (a, b)), layer, constants, accumulator, reference=not found.real)


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two operands in the order of a layer's inputs, with a number for each, and how they are broadcast.

    `extents` are those of the layer, which sees as one axis those along which an operand is not broadcast.
    """

    operands: tuple[relay.Expr, relay.Expr]
    numbers: tuple[int, int]
    broadcast: Broadcast
    extents: tuple[int, ...]


def _paired(
    root: relay.Expr,
    op: Op,
    operands: tuple[relay.Expr, relay.Expr],
    numbers: tuple[int, int],
    *,
    symmetric: bool = True,
) -> _Pair | Rejection:
    """Two operands in the order that a layer needs, with a number for each, or the reason why no layer has them.

    The order may be the other one where an operator is symmetric once the numbers go with their operands.
    """
    a, b = operands
    if dtype(a) != dtype(b):
        return rejected(root, operands, op, "its operands have different types")
    orders = (operands, numbers), ((b, a), (numbers[1], numbers[0]))
    for ordered in orders if symmetric else orders[:1]:
        broadcast = _broadcast(root, *ordered[0])
        if broadcast is not None:
            return _Pair(*ordered, broadcast, shape(root))
        together = _together(root, *ordered[0])
        if together is not None:
            return _Pair(*ordered, "pixel", together)
        apart = _apart(root, *ordered[0])
        if apart is not None:
            return _Pair(*ordered, "channel", apart)
    return rejected(root, operands, op, "its operands differ in more than one having a single pixel or channel")


def _with_broadcast(layer: Layer, broadcast: Broadcast) -> Layer:
    """The layer with an input that is broadcast to the output."""
    rows, columns = (1, 1) if broadcast == "outer" else (layer.iy, layer.ix)
    return replace(layer, broadcast=broadcast, iy=rows, ix=columns)


def _broadcast(root: relay.Expr, a: relay.Expr, b: relay.Expr) -> Broadcast | None:
    """How two operands are broadcast to a result; None if no layer can do so."""
    *pixels, k = shape(root) or (1,)
    one_pixel, one_channel = _trimmed((k,)), _trimmed((*pixels, 1))
    both = _extents(a), _extents(b)
    whole = _extents(root)
    if both == (whole, whole):
        return ""
    if both == (whole, one_pixel):
        return "pixel"
    if both == (whole, one_channel):
        return "channel"
    return "outer" if both == (one_pixel, one_channel) else None


def _together(root: relay.Expr, a: relay.Expr, b: relay.Expr) -> tuple[int, int] | None:
    """Two extents of a result whose last axes are those of its second operand, which is one pixel of it then.

    None if the operands are not broadcast that way.
    """
    whole, pixel = _extents(root), _extents(b)
    if _extents(a) != whole or not pixel or whole[-len(pixel) :] != pixel:
        return None
    return math.prod(whole[: -len(pixel)]), math.prod(pixel)


def _apart(root: relay.Expr, a: relay.Expr, b: relay.Expr) -> tuple[int, int] | None:
    """Two extents of a result whose first axes are those of its second operand, which has one channel of it then.

    A single number is one channel of one pixel. None if the operands are not broadcast that way.
    """
    whole, rank = shape(root), len(shape(root))
    extents = (1,) * (rank - len(shape(b))) + shape(b)
    first = next((axis for axis in reversed(range(rank)) if extents[axis] > 1), -1) + 1
    if _extents(a) != _trimmed(whole) or extents[:first] != whole[:first]:
        return None
    return math.prod(whole[:first]), math.prod(whole[first:])


def _extents(x: relay.Expr) -> tuple[int, ...]:
    """The shape without leading ones, which do not matter for broadcasting."""
    return _trimmed(shape(x))


def _trimmed(extents: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(itertools.dropwhile(lambda extent: extent == 1, extents))


def _ends(x: relay.Expr, ranges: Ranges) -> Int64Array:
    """The smallest and the largest value of a tensor."""
    values = range_of(x, shape(x)[-1] if shape(x) else 1, ranges)
    return np.array([values.low.min(), values.high.max()])
