"""Recurrent layers in floating point: a Relay operator for all steps of a direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.graph.cells import RealCells
from match.relay import FLOAT_CELLS, relay, tvm
from match.relay.rewrite import constant, is_call


@dataclass(frozen=True, eq=False)
class FloatCells:
    """A layer of recurrent cells, and its input x, float32, shape (steps, batch, features)."""

    x: relay.Expr
    cells: RealCells

    def build(self) -> relay.Expr:
        """The states of all steps, shape (steps, batch, units)."""
        cells = self.cells
        arrays = (cells.input_weights, cells.state_weights, cells.biases)
        constants = [relay.const(array) for array in (*arrays, np.array(cells.backwards), np.array(cells.reset_first))]
        return relay.Call(tvm.ir.Op.get(FLOAT_CELLS), [self.x, *constants])


def read_cells(expr: relay.Expr) -> FloatCells | None:
    """The layer that an expression is."""
    values = [constant(argument) for argument in expr.args[1:]] if is_call(expr, FLOAT_CELLS) else []
    arrays = [value for value in values if value is not None]
    if not arrays or len(arrays) < len(values):
        return None
    input_weights, state_weights, biases, backwards, reset_first = arrays
    cells = RealCells(
        input_weights=input_weights,
        state_weights=state_weights,
        biases=biases,
        backwards=bool(backwards),
        reset_first=bool(reset_first),
    )
    return FloatCells(expr.args[0], cells)
