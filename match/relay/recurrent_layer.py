"""A recurrent layer in integers: what layers of all kinds of cells have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from match.graph.recurrent import ALL_GATES, Recurrent
from match.ir.deviation import Deviation
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay, tvm
from match.relay.fixed_point import alone, scaled
from match.relay.gates import sums
from match.relay.integer_form import int64
from match.relay.rewrite import constant, dtype, is_call

_NO_DEVIATION = Deviation(-1.0, -1.0)


LayerT = TypeVar("LayerT", bound=Recurrent)


@dataclass(frozen=True, eq=False)
class Steps(ABC, Generic[LayerT]):
    """The steps of a layer, each by operators of its own, over inputs of type `x_dtype`."""

    layer: LayerT
    x_dtype: str

    @abstractmethod
    def step(self, fed: relay.Expr, state: relay.Expr | None, memory: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
        """What cells remember and the states after a step, as operators.

        `fed` are the scaled sums of all gates over the step's input, shape (batch, gates * units); `state` and `memory`
        are those after the step before. In the first step there is no state, and `memory` is zero.
        """

    def unrolled(self, x: relay.Expr, steps: int, batch: int) -> relay.Expr:
        """The states of all steps for an input, each by operators of its own."""
        fed = self.sums(relay.reshape(x, (steps * batch, -1)), 0)
        state: relay.Expr | None = None
        memory: relay.Expr = int64(np.zeros((batch, self.layer.units)))
        states: list[relay.Expr] = []
        for step in range(steps):
            now = relay.strided_slice(fed, [step * batch], [(step + 1) * batch], axes=[0])
            memory, state = self.step(now, state, memory)
            states.append(state)
        return relay.stack(states, 0)

    def sums(self, vectors: relay.Expr, part: int, gates: slice = ALL_GATES) -> relay.Expr:
        """The sums of these gates over inputs (part 0) or states (1), side by side, in steps of 2**-12."""
        return alone(sums(vectors, *self.layer.part(part, gates), int16=self.x_dtype == "int16"))

    def shown(self, outputs: relay.Expr) -> relay.Expr:
        """Outputs of cells, scaled."""
        levels = relay.cast(relay.add(scaled(outputs, *self.layer.scales[-1]), int64(self.layer.zero)), "int32")
        return alone(integer_form.saturate(levels, value_range(self.layer.dtype), self.layer.dtype))


def call(operator: str, layer: Recurrent, x: relay.Expr, own: Int64Array) -> relay.Expr:
    """The operator of this name that computes a layer: the states of all steps, shape (steps, batch, units).

    `own` are the constants that this kind of cells alone has.
    """
    weights = (relay.const(values) for values in (layer.input_weights, layer.state_weights))
    numbers = (relay.const(values.astype(np.int32)) for values in (layer.scales, own))
    apart = layer.deviation or _NO_DEVIATION
    deviation = relay.const(np.array([apart.largest, apart.mean], np.float32))
    zero = relay.const(layer.zero, layer.dtype)
    return relay.Call(tvm.ir.Op.get(operator), [x, *weights, int64(layer.offsets), *numbers, deviation, zero])


@dataclass(frozen=True, eq=False)
class Operands:
    """The arguments of a recurrent operator: its input, what all layers have, and `own`, those of a kind of cells."""

    x: relay.Expr
    common: dict[str, Any]
    own: Int64Array


def read_operands(expr: relay.Expr, operator: str) -> Operands | None:
    """Those of a typed expression that calls the operator with constants; None for others."""
    if not is_call(expr, operator):
        return None
    arrays = [value for value in map(constant, expr.args[1:]) if value is not None]
    if len(arrays) < len(expr.args) - 1:
        return None
    input_weights, state_weights, offsets, scales, own, deviation, zero = arrays
    common = {
        "input_weights": input_weights,
        "state_weights": state_weights,
        "offsets": offsets.astype(np.int64),
        "scales": scales.astype(np.int64),
        "zero": int(zero),
        "dtype": dtype(expr),
        "deviation": None if deviation[0] < 0 else Deviation(float(deviation[0]), float(deviation[1])),
    }
    return Operands(expr.args[0], common, own.astype(np.int64))
