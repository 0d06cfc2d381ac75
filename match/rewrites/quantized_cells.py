"""Recurrent layers of real numbers become integers, which makes another network: weights and states of 8 bits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from match.errors import OptionError
from match.graph.cells import RealCells
from match.graph.elements import Dequantize
from match.graph.make import taken
from match.graph.moves import Concatenate, Move
from match.graph.recurrent import Gru, Lstm
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.quantized.recurrent_layers import STATES, quantized_cells
from match.rewrites.quantized_groups.moves import moved_on_integers
from match.rewrites.quantized_groups.quantities import dequantized

_FOR = "quantize_recurrent is for the LSTM and GRU of ONNX networks whose inputs are quantized tensors"
NONE_TO_QUANTIZE = f"{_FOR}, and this network has no plain LSTM or GRU in floating point; leave it out."
"""The error about a network without a layer that can be quantized."""


def with_quantized_cells(graph: Graph) -> Graph:
    """The graph with integers in the place of recurrent layers whose inputs are quantized.

    States have the quantization `STATES`, and so has what only moves them. Other layers are left as they are.

    Raises:
        OptionError: there is no layer that can be quantized.
    """
    quantizing = _Quantizing()
    changed = rewrite(graph, quantizing.rule)
    if not quantizing.layers:
        what = "give samples (--calibrate), quantize that, too, or leave the option out"
        left = f"{_FOR}, and this network has {quantizing.left}; {what}."
        raise OptionError(left if quantizing.left else NONE_TO_QUANTIZE)
    return changed


@dataclass(frozen=True, eq=False)
class QuantizedLayer:
    """A layer of integers in the place of one of real numbers: what the model calls it, and its input."""

    source: str
    operator: Lstm | Gru
    x: Tensor


def quantized_layers(graph: Graph) -> list[QuantizedLayer]:
    """The layers that `with_quantized_cells` makes; two of a layer in both directions."""
    quantizing = _Quantizing()
    rewrite(graph, quantizing.rule)
    return quantizing.layers


class _Quantizing:
    """The layers that were quantized so far; `left` is one that is not, and why."""

    def __init__(self) -> None:
        self.layers: list[QuantizedLayer] = []
        self.left = ""

    def rule(self, value: Value, original: Value) -> Value:
        """Makes a layer integers, and moves its states as integers."""
        del original
        match value.operator:
            case RealCells() as cells:
                return self._states(value, cells)
            case Move() | Concatenate():
                return moved_on_integers(value) or value
            case _:
                return value

    def _states(self, value: Value, cells: RealCells) -> Value:
        source = dequantized(value.inputs[0])
        if source is None:
            self.left = f"one ({cells.kind} of {cells.units} units) whose input the model does not quantize"
            return value
        steps = value.shape[0]
        layer = quantized_cells(cells, source.quantization, steps)
        x = taken(source.value, 0, np.arange(steps)[::-1]) if cells.backwards else source.value
        states = replace(computed(layer, x, exact=False), source=value.source, deviation=layer.deviation)
        self.layers.append(QuantizedLayer(value.source, layer, x.tensor))
        forwards = taken(states, 0, np.arange(steps)[::-1]) if cells.backwards else states
        numbers = Dequantize(scale=STATES.scale, zero_point=STATES.zero_point)
        return replace(computed(numbers, forwards), source=value.source)
