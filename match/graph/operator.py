"""What every operator of the graph says about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from match.graph.work import Loop, Work
from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.layer import Layer, Op
from match.ir.requantization import Int64Array, Requantization

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


@dataclass(frozen=True)
class Stored:
    """How a tensor is stored: its values, of type `values`, each larger by `more`, in the type `dtype`.

    Only values of 8 bits are stored in another way than they are, as uint8 (`Operator.unsigned`).
    """

    values: str
    dtype: str
    more: int = 0

    @property
    def as_it_is(self) -> bool:
        """Whether values are stored as they are."""
        return self.values == self.dtype and not self.more

    def by_stored(self, table: Array) -> Array:
        """A table (..., 256) by values of 8 bits in ascending order as one by the numbers stored, in ascending order.

        A number that is stored for no value has the entry of the largest one.
        """
        places = np.arange(256) + value_range(self.dtype)[0] - self.more - value_range(self.values)[0]
        return table[..., np.minimum(places, 255)]


class Operator(ABC):
    """An operator without its inputs: its parameters and constants, and all that follows from them."""

    called: ClassVar[str]
    """Its name in the text of a graph, and in reports where the control core computes it."""

    elementwise: ClassVar[bool] = False
    """Whether each element depends on the elements of its inputs at the same place alone; inputs may be broadcast."""

    loop: ClassVar[Loop] = Loop.OTHER
    """How the control core computes it."""

    hands_on: ClassVar[bool] = False
    """Whether each element is one of its inputs', or lies between such."""

    alike: ClassVar[bool] = False
    """Whether `unsigned` takes inputs only that are all stored as much larger; so do all that hand on elements."""

    converts: ClassVar[bool] = False
    """Whether it reads inputs however they are stored, and a result that is stored in another way costs nothing."""

    of_either_type: ClassVar[bool] = False
    """Whether its result of 8 bits costs as much signed as unsigned: an output of the network keeps its type then."""

    @abstractmethod
    def result(self, *inputs: Tensor) -> Tensor:
        """Shape and type of what it computes from inputs of these shapes and types."""

    @abstractmethod
    def compute(self, *inputs: Array) -> Array:
        """What it computes, in NumPy, bit for bit where integers are."""

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """The range of its result, 8 bits, given what is known of its inputs; None: its type's."""
        del result, inputs

    @property
    def lowest(self) -> int | None:
        """The value that no element of its result is below; None if its type or its inputs say all that is known."""
        return None

    @property
    def padding_value(self) -> int | None:
        """The integer that its input is padded with; None if it is not."""
        return None

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator | None:
        """The operator for machines that multiply unsigned activations.

        Args:
            inputs: how its inputs are stored.
            more: its result of 8 bits is stored as uint8, all values larger by this; None: as it is.

        Returns:
            None if it has no such form. A result that has the same type as before has the same values, too.
        """
        del inputs, more

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

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """What the control core does for it."""
        floating = any(tensor.dtype.startswith("float") for tensor in (result, *inputs))
        combined = sum(x.elements for x in inputs) if self.loop is Loop.REDUCTION else 0
        return Work(self.called, self.loop, combined=combined, floating=floating)


@dataclass(frozen=True, eq=False, kw_only=True)
class Requantized(Operator):
    """An operator whose integers a requantization brings to another type."""

    requantization: Requantization
    dtype: str

    @property
    def lowest(self) -> int | None:
        """The lower end of the clip."""
        return self.requantization.clip[0]

    def in_form(self, constants: LayerConstants, order: tuple[int, ...]) -> Operator:
        """With another requantization."""
        del order
        return replace(self, requantization=constants.requantization)
