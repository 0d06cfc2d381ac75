"""Chains of integer operators: what 8 bits are computed from, step by step, in 32 or 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.graph.integers import Clip, Difference, Elementwise, Saturate
from match.graph.make import array_of
from match.graph.operator import Array, Operator
from match.graph.value import Value
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array

NARROW = "int8", "uint8"

WIDE = "int32", "int64"
_FUNCTIONS = frozenset(
    {"add", "subtract", "multiply", "right_shift", "floor_divide", "maximum", "minimum", "cast"},
)


@dataclass(frozen=True, eq=False)
class Chain:
    """How 8 bits are computed from `leaves`.

    steps: what computes them, and the constants that it reads, each after its inputs; the last one has 8 bits.
    leaves: tensors of 8 bits, products of two tensors, and what no step computes.
    """

    steps: tuple[Value, ...]
    leaves: tuple[Value, ...]

    @property
    def root(self) -> Value:
        """What the chain ends in."""
        return self.steps[-1]

    @property
    def is_uniform(self) -> bool:
        """Whether its constants are single numbers."""
        return all(array is None or array.size == 1 for array in map(array_of, self.steps))

    @property
    def limits(self) -> tuple[int, int]:
        """The limits that its outputs are clipped to at the end, or those of their type."""
        value = self.root
        while isinstance(value.operator, Elementwise) and value.operator.function == "cast":
            (value,) = value.inputs
        least, most = value_range(self.root.dtype)
        match value.operator:
            case Saturate(clip=(low, high)) | Clip(limits=(low, high)):
                return max(low, least), min(high, most)
            case _:
                return least, most

    def outputs(self, leaves: Mapping[Value, Int64Array]) -> Int64Array:
        """What a uniform chain computes, in 64 bits; `leaves` may be broadcast."""
        return self._computed(leaves, lambda operator, inputs: operator.of_integers(*inputs)).astype(np.int64)

    def smooth(self, leaves: Mapping[Value, Int64Array]) -> npt.NDArray[np.float64]:
        """What a uniform chain would compute without rounding and clipping, in real numbers."""
        return self._computed(leaves, _smooth).astype(np.float64)

    def _computed(self, leaves: Mapping[Value, Array], compute: Callable[[Step, list[Any]], Any]) -> Array:
        known: dict[Value, Any] = dict(leaves)
        for step in self.steps:
            array = array_of(step)
            if array is not None:
                known[step] = array.reshape(())
            else:
                assert isinstance(step.operator, Step), "what is computed in a chain is a step"
                known[step] = compute(step.operator, [known[x] for x in step.inputs])
        return np.asarray(known[self.root])


Step = Elementwise | Clip | Saturate | Difference
"""The operators that are steps of chains."""


def chain_of(root: Value) -> Chain | None:
    """The chain that ends in a tensor; None if it has not 8 bits, or is not made of more by a step."""
    if not ends_a_chain(root):
        return None
    leaves: dict[Value, None] = {}
    steps: dict[Value, None] = {}
    pending = [(root, False)]
    while pending:
        value, ready = pending.pop()
        if ready or array_of(value) is not None:
            steps[value] = None
        elif value is root or _is_step(value):
            pending.append((value, True))
            pending += [(x, False) for x in reversed(value.inputs) if x not in steps]
        else:
            leaves[value] = None
    return Chain(tuple(steps), tuple(leaves))


def ends_a_chain(value: Value) -> bool:
    """Whether a step makes 8 bits of more."""
    operator = value.operator
    if isinstance(operator, Elementwise) and operator.function == "cast":
        return value.dtype in NARROW and value.inputs[0].dtype in WIDE
    return isinstance(operator, Saturate)


def is_product(value: Value) -> bool:
    """Whether a tensor is the product of two tensors that are not constant."""
    operator = value.operator
    if not isinstance(operator, Elementwise) or operator.function != "multiply":
        return False
    return all(array_of(x) is None for x in value.inputs)


def _is_step(value: Value) -> bool:
    if value.dtype not in WIDE or is_product(value):
        return False
    operator = value.operator
    return isinstance(operator, Clip | Difference) or (
        isinstance(operator, Elementwise) and operator.function in _FUNCTIONS
    )


def _smooth(operator: Operator, inputs: list[Any]) -> Any:
    """A step of real numbers: without rounding and limits, so that slopes are those of the plane near it."""
    match operator:
        case Elementwise(function="right_shift"):
            return inputs[0] / 2.0 ** inputs[1]
        case Elementwise(function="floor_divide"):
            return inputs[0] / inputs[1]
        case Elementwise(function="maximum" | "minimum"):
            return max(inputs, key=np.ndim)
        case Clip():
            return inputs[0]
        case Saturate(more=more):
            return inputs[0] + more
        case _:
            assert isinstance(operator, Step), "what is computed in a chain is a step"
            return operator.of_integers(*inputs)
