"""Recurrent layers of real numbers, float32, as a quantized network has them before integers stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from match.arithmetic.interface import Float32Array
from match.arithmetic.recurrent import real_states
from match.graph.operator import Array, Operator
from match.graph.reals import REAL
from match.ir.graph import Tensor

LSTM_GATES = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class RealCells(Operator):
    """All steps of a layer of LSTM cells, gates input, forget, output, cell, or GRU cells: update, reset, candidate.

    It is over x (steps, batch, features). States and cells are 0 before the first step. The GRU's reset gate multiplies
    what the candidate remembers after the product with the states, or with `reset_first` the states before it.

    input_weights, state_weights: shapes (gates, units, features) and (gates, units, units).
    biases: shape (2, gates, units), of the sums over x and over states.
    backwards: whether the last step is the first to be computed.
    """

    called: ClassVar[str] = "real_cells"

    input_weights: Float32Array
    state_weights: Float32Array
    biases: Float32Array
    backwards: bool
    reset_first: bool = False

    @property
    def kind(self) -> Literal["LSTM", "GRU"]:
        """As ONNX calls it."""
        return "LSTM" if len(self.input_weights) == LSTM_GATES else "GRU"

    @property
    def units(self) -> int:
        """Cells, and channels of the output."""
        return self.input_weights.shape[1]

    def result(self, *inputs: Tensor) -> Tensor:
        """The states of all steps, shape (steps, batch, units)."""
        steps, batch, _ = inputs[0].shape
        return Tensor((steps, batch, self.units), REAL)

    def compute(self, *inputs: Array) -> Array:
        """The states; runtimes compute their functions and sums each in a way of its own, which changes last bits."""
        x = inputs[0][::-1] if self.backwards else inputs[0]
        weights = self.input_weights, self.state_weights
        states = real_states(x.astype(np.float64), *weights, self.biases, reset_first=self.reset_first)
        return (states[::-1] if self.backwards else states).astype(np.float32)
