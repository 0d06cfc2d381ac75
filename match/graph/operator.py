"""What every operator of the graph says about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.layer import Layer, Op
from match.ir.requantization import Int64Array

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Range:
    """Smallest and largest value of each channel (the last axis) of a tensor, int64 of shape (channels,)."""

    low: Int64Array
    high: Int64Array

    @property
    def constant(self) -> Any:
        """Boolean array (channels,): whether the channel has one value."""
        return self.low == self.high

    @property
    def ends(self) -> Int64Array:
        """The smallest and the largest value of all channels, shape (2,)."""
        return np.array([self.low.min(), self.high.max()])


def whole_range(tensor: Tensor) -> Range:
    """The range of a tensor of integers of whose values nothing is known."""
    low, high = value_range(tensor.dtype)
    channels = tensor.shape[-1] if tensor.shape else 1
    return Range(np.full(channels, low, np.int64), np.full(channels, high, np.int64))


@dataclass(frozen=True, eq=False)
class Known:
    """An input of an operator: its shape and type, and its values' range, None if its type says all that is known."""

    tensor: Tensor
    values: Range | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.tensor.shape

    @property
    def dtype(self) -> str:
        """The type of its elements."""
        return self.tensor.dtype

    @property
    def range(self) -> Range:
        """The range of its values."""
        return self.values or whole_range(self.tensor)


@dataclass(frozen=True, eq=False)
class Described:
    """An operator as a layer of modules.

    accumulator: smallest and largest int32 accumulator that each channel can reach, for inputs of any value; for an
        addition the range of the sum of its two products; None for an operator that does not requantize.
    order: the operator's inputs, by number, in the order in which the layer has them.
    """

    layer: Layer
    constants: LayerConstants
    accumulator: tuple[Int64Array, Int64Array] | None = None
    order: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Refused:
    """Why an operator cannot be described as a layer; `macs` are its multiply-accumulates."""

    op: Op
    reason: str
    macs: int = 0


class Operator(ABC):
    """An operator without its inputs: its parameters and constants, and all that follows from them."""

    called: ClassVar[str]
    """Its name in the text of a graph."""

    @abstractmethod
    def result(self, *inputs: Tensor) -> Tensor:
        """Shape and type of what it computes from inputs of these shapes and types."""

    @abstractmethod
    def compute(self, *inputs: Array) -> Array:
        """What it computes, in NumPy, bit for bit where integers are."""

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """The range of its result, 8 bits, given what is known of its inputs; None: its type's."""
        del result, inputs

    def in_form(self, constants: LayerConstants, order: tuple[int, ...]) -> Operator:
        """The operator with the requantization of a module's form, which may be only close to its own.

        `constants` are those of its layer, `order` its inputs, by number, in the order in which the layer has them.
        Operators without a requantization have one form.
        """
        del constants, order
        return self

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused | None:
        """What modules are asked about it; None for an operator that no module has a pattern for."""
        del result, inputs
