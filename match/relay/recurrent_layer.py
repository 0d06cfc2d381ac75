"""A recurrent layer in integers: what layers of all kinds of cells have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from match.graph.recurrent import ALL_GATES, Recurrent
from match.ir.dtypes import value_range
from match.relay import integer_form, relay
from match.relay.fixed_point import alone, scaled
from match.relay.gates import sums
from match.relay.integer_form import int64

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
