"""What the graph knows only the type of: constants, and operators that it has no class for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from match.graph.operator import Array, Operator
from match.ir.graph import Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class Constant(Operator):
    """A tensor of constants."""

    called: ClassVar[str] = "constant"

    array: Array

    def result(self, *inputs: Tensor) -> Tensor:
        """The array's shape and type."""
        del inputs
        return Tensor(self.array.shape, str(self.array.dtype))

    def compute(self, *inputs: Array) -> Array:
        """The array."""
        del inputs
        return self.array


@dataclass(frozen=True, eq=False, kw_only=True)
class Opaque(Operator):
    """An operator that the control core computes by TVM's C.

    name: what it is called in Relay. tensor: shape and type of its result. function: what computes it.
    """

    called: ClassVar[str] = "opaque"

    name: str
    tensor: Tensor
    function: Callable[..., Array]

    def result(self, *inputs: Tensor) -> Tensor:
        """The tensor."""
        del inputs
        return self.tensor

    def compute(self, *inputs: Array) -> Array:
        """What the function computes."""
        return self.function(*inputs)
