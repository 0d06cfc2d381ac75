"""What moves or chooses values does it with integers: ``max(dequantize(x)) == dequantize(max(x))``.

Some quantizers leave a pooling, a reshape or a slice in floating point, in front of a layer or after it. Such an
operator gives the same values in 8 bits. Between the dequantize and the quantize then stands the layer alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.graph.elements import Dequantize, Quantize
from match.graph.gathers import Gather
from match.graph.integers import Clip, Extreme, Place
from match.graph.make import array_of, constant, lookup, named
from match.graph.maximum import Maximum
from match.graph.moves import Concatenate, Move
from match.graph.operator import Operator
from match.graph.real_functions import is_function
from match.graph.reals import RealAverage, RealClip, RealConvolution, RealProduct, RealTransposed
from match.graph.reductions import RealReduction
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed, readers
from match.rewrites.quantized_groups.quantities import dequantized

_MOVES = Move | Maximum | Extreme | Concatenate
_LAYERS = RealConvolution | RealTransposed | RealProduct | RealAverage | RealReduction

Readers = Mapping[Value, Sequence[Value | None]]


def with_moves_of_integers(graph: Graph) -> Graph:
    """The graph with moves in front of dequantizes, not behind them.

    Parts are joined, and negative numbers clipped, where layers read what is made: a quantize takes both in, each part
    in its own table.
    """
    read = readers(graph)

    def rule(value: Value, original: Value) -> Value:
        if isinstance(value.operator, Place):
            return _found_in_integers(value)
        if isinstance(value.operator, Gather):
            return _gathered(value) or value
        if is_function(value, "abs") and all(
            x is not None and isinstance(x.operator, RealReduction) for x in read[original]
        ):
            return _magnitude(value) or value
        if not _is_wanted(original, read):
            return value
        return moved_on_integers(value) or value

    return rewrite(graph, rule)


def moved_on_integers(value: Value) -> Value | None:
    """What moves or chooses real numbers, done on the integers that they are dequantized from; None of other tensors.

    All have one quantization.
    """
    reals = [dequantized(x) for x in value.inputs]
    own = {None if x is None else x.quantization for x in reals}
    quantization = own.pop()
    operator = None if own or quantization is None else _on_integers(value.operator, quantization)
    if operator is None or quantization is None:
        return None
    tensors = [x.value for x in reals if x is not None]
    arrays = [array for x in tensors if (array := array_of(x)) is not None]
    moved = constant(operator.compute(*arrays)) if len(arrays) == len(tensors) else computed(operator, *tensors)
    dequantize = Dequantize(scale=quantization.scale, zero_point=quantization.zero_point)
    return named(computed(dequantize, named(moved, value.source)), value.source)


def _is_wanted(value: Value, read: Readers) -> bool:
    """Whether an operator moves values for what reads it."""
    match value.operator:
        case Move() | Maximum() | Extreme():
            return True
        case Concatenate():
            return _is_for_layers(value, read)
        case RealClip(low=0.0, high=math.inf):
            others = [reader for reader in read[value] if reader is None or not isinstance(reader.operator, Quantize)]
            return bool(others) and all(
                reader is None or isinstance(reader.operator, _MOVES | _LAYERS) for reader in others
            )
        case _:
            return False


def _found_in_integers(value: Value) -> Value:
    """The place of an extreme, among integers, which have the order of their real numbers."""
    real = dequantized(value.inputs[0])
    return value if real is None else replace(value, inputs=(real.value,))


def _gathered(value: Value) -> Value | None:
    """Rows of integers in the place of rows of their real numbers; None of other tables."""
    table, indices = value.inputs
    real = dequantized(table)
    if real is None or value.operator is None:
        return None
    rows = named(computed(value.operator, real.value, indices), value.source)
    numbers = Dequantize(scale=real.quantization.scale, zero_point=real.quantization.zero_point)
    return named(computed(numbers, rows), value.source)


def _magnitude(value: Value) -> Value | None:
    """The magnitudes of integers' real numbers, of which uint8 has all; None of other real numbers."""
    real = dequantized(value.inputs[0])
    if real is None:
        return None
    own = real.quantization
    steps = lookup(real.value, np.abs(own.levels - own.zero_point).astype(np.uint8))
    return named(computed(Dequantize(scale=own.scale, zero_point=0), named(steps, value.source)), value.source)


def _is_for_layers(value: Value, read: Readers) -> bool:
    """Whether layers, means or nobody read what is made of a tensor."""
    return all(
        reader is None
        or isinstance(reader.operator, _LAYERS)
        or (isinstance(reader.operator, _MOVES | RealClip) and _is_for_layers(reader, read))
        for reader in read[value]
    )


def _on_integers(operator: Operator | None, own: QuantizedType) -> Operator | None:
    """An operator on integers; None for one that fills with a number that these cannot have."""
    if isinstance(operator, RealClip):
        return Clip(limits=(own.zero_point, own.limits[1]), dtype=own.dtype)
    if not isinstance(operator, Move) or operator.padding_value is None:
        return operator
    (level,) = quantize(np.array([operator.fill], np.float32), own, own.limits)
    if np.float32(level - own.zero_point) * own.scale != np.float32(operator.fill):
        return None
    return replace(operator, fill=int(level))


def without_moves(x: Value) -> tuple[Value, list[Move]]:
    """The tensor before moves that fill nothing, and these, the first one first."""
    moves: list[Move] = []
    while isinstance(x.operator, Move) and x.operator.padding_value is None:
        moves.insert(0, x.operator)
        (x,) = x.inputs
    return x, moves


def moved(x: Value, move: Move) -> Value:
    """A tensor, moved."""
    return computed(move, x)
