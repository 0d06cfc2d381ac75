"""What the graph knows only the type of: constants, and operators that it has no class for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from match.graph.operator import Array, Known, Operator, Range
from match.graph.work import Work
from match.ir.graph import Tensor


class Function(Protocol):
    """What computes an operator that has no class."""

    def __call__(self, *arrays: Array) -> Array:
        """Its result."""
        ...

    @property
    def done(self) -> Work:
        """What the control core does for it."""
        ...

    def written(self) -> str:
        """It as text, of which it can be made again."""
        ...


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

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """The least and the largest integer of each channel."""
        del inputs
        if self.array.dtype.kind not in "iu" or not self.array.size:
            return None
        each = self.array.reshape(-1, result.shape[-1] if result.shape else 1).astype(np.int64)
        return Range(each.min(axis=0), each.max(axis=0))


@dataclass(frozen=True, eq=False, kw_only=True)
class Opaque(Operator):
    """An operator that the control core computes by TVM's C.

    name: what it is called in Relay. tensor: shape and type of its result.
    """

    called: ClassVar[str] = "opaque"

    name: str
    tensor: Tensor
    function: Function

    def result(self, *inputs: Tensor) -> Tensor:
        """The tensor."""
        del inputs
        return self.tensor

    def compute(self, *inputs: Array) -> Array:
        """What the function computes."""
        return self.function(*inputs)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """What is done for it."""
        del result, inputs
        return self.function.done
