"""8 bits for what recurrent layers read where the model does not quantize it, in the ranges that samples have there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from match.errors import OptionError
from match.frontend.model import Model
from match.graph.cells import RealCells
from match.graph.elements import Dequantize, Quantize
from match.graph.evaluate import evaluate
from match.graph.moves import Concatenate, Move
from match.graph.operator import Array
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization
from match.rewrites.quantized_groups.quantities import dequantized

Ranges = Mapping[str, tuple[float, float]]
"""The smallest and the largest number that a layer reads, by the layer's name in the model."""

_KIND = "int8"


def unquantized_cells(model: Model) -> list[Value]:
    """Recurrent layers that read what the model does not quantize; two of a layer in both directions."""
    if not isinstance(model.network, Graph):
        return []
    cells = (value for value in model.network.values if isinstance(value.operator, RealCells))
    return [value for value in cells if any(map(_is_real, _parts(value.inputs[0])))]


def ranges_of(model: Model, samples: Sequence[Sequence[Array]]) -> Ranges:
    """The ranges in some samples of the model's inputs.

    Raises:
        OptionError: the model quantizes what its recurrent layers read, or has none.
    """
    found = unquantized_cells(model)
    if not found or not isinstance(model.network, Graph):
        raise OptionError(
            f"calibrate is for recurrent layers whose inputs the model does not quantize, and {model.name} has none; "
            "leave it out."
        )
    part = Graph(model.network.inputs, tuple(value.inputs[0] for value in found))
    ends: dict[str, list[float]] = {value.source: [] for value in found}
    for sample in samples:
        for value, numbers in zip(found, evaluate(part, sample), strict=True):
            ends[value.source] += [float(numbers.min()), float(numbers.max())]
    return {name: (min(numbers), max(numbers)) for name, numbers in ends.items()}


def with_ranges(model: Model, ranges: Ranges) -> Model:
    """The model with 8 bits in front of these layers, which the range of the numbers and 0 fill."""
    if not ranges:
        return model
    assert isinstance(model.network, Graph), "layers were found in it"
    quantized: dict[Value, Value] = {}

    def rule(value: Value, original: Value) -> Value:
        if not isinstance(original.operator, RealCells) or original.source not in ranges:
            return value
        moves, base = list[Value](), value.inputs[0]
        while isinstance(base.operator, Move):
            moves.append(base)
            (base,) = base.inputs
        if base not in quantized:
            quantized[base] = _in_bytes(base, *ranges[original.source])
        return replace(value, inputs=(reduce(_on, reversed(moves), quantized[base]),))

    return replace(model, network=rewrite(model.network, rule), ranges=ranges)


def _on(value: Value, move: Value) -> Value:
    return replace(move, inputs=(value,))


def _in_bytes(real: Value, low: float, high: float) -> Value:
    """Real numbers as 8 bits, dequantized again."""
    least, most = value_range(_KIND)
    scale = np.float32((max(high, 0) - min(low, 0)) / (most - least)) or np.float32(1)
    zero_point = round(least - min(low, 0) / float(scale))
    function = FloatQuantization(scale, zero_point, _KIND, half_to_even=True)
    return computed(Dequantize(scale=scale, zero_point=zero_point), computed(Quantize(function=function), real))


def _parts(value: Value) -> Iterator[Value]:
    """The tensors that another one has elements of."""
    if isinstance(value.operator, Move | Concatenate):
        for x in value.inputs:
            yield from _parts(x)
    else:
        yield value


def _is_real(value: Value) -> bool:
    """Whether numbers stay real where recurrent layers become integers."""
    return not isinstance(value.operator, RealCells) and dequantized(value) is None
