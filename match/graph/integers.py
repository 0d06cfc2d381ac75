"""Operators on integers that the control core alone computes: arithmetic, comparisons, places of extremes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from match.arithmetic.element_functions import OF_ANY_TYPE
from match.graph.elements import OfElements
from match.graph.operator import Array, Known, Operator, Range, Stored
from match.graph.work import Loop, Work
from match.ir.dtypes import value_range
from match.ir.graph import Tensor

FUNCTIONS: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {
        **OF_ANY_TYPE,
        "left_shift": np.left_shift,
        "right_shift": np.right_shift,
        "floor_divide": np.floor_divide,
        "bitwise_and": np.bitwise_and,
    }
)
"""The functions of `Elementwise`."""

_RISES_OR_FALLS = frozenset(
    {"add", "subtract", "multiply", "maximum", "minimum", "negative", "cast", "right_shift", "floor_divide"}
)
"""Those that rise or fall with each operand, if shifts are by 0 and more, and divisions by 1 and more."""

TYPES = frozenset({"int8", "uint8", "int16", "int32", "int64", "bool"})
"""The types of `Elementwise`, its inputs and its result."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Elementwise(Operator):
    """One of `FUNCTIONS` of integers, element by element; inputs are broadcast."""

    called: ClassVar[str] = "elementwise"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS

    function: str
    dtype: str

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape that all inputs are broadcast to."""
        return Tensor(np.broadcast_shapes(*(x.shape for x in inputs)), self.dtype)

    def of_integers(self, *inputs: Array) -> Array:
        """The function of integers of any size, which are never cut off."""
        return np.asarray(FUNCTIONS[self.function](*inputs))

    def compute(self, *inputs: Array) -> Array:
        """The function."""
        return self.of_integers(*inputs).astype(self.dtype)

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """The range at the ends of its operands' ranges; None where it may leave its type, and then has any value."""
        types = {self.dtype, *(x.dtype for x in inputs)}
        if self.function not in _RISES_OR_FALLS or not types <= TYPES - {"bool"}:
            return None
        if self.function == "right_shift" and not _are_within(inputs[1], 0, np.iinfo(self.dtype).bits - 1):
            return None
        if self.function == "floor_divide" and not _are_within(inputs[1], 1, value_range(inputs[1].dtype)[1]):
            return None
        ends = ((x.range.low.astype(object), x.range.high.astype(object)) for x in inputs)
        corners = [self.of_integers(*corner) for corner in itertools.product(*ends)]
        return _range_of(np.minimum.reduce(corners), np.maximum.reduce(corners), result)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called by the function."""
        return replace(super().work(result, inputs), name=self.function)


@dataclass(frozen=True, eq=False, kw_only=True)
class Once(Operator):
    """The tensor itself, which TVM computes once, in a loop of its own (`match.relay.fixed_point.alone`)."""

    called: ClassVar[str] = "once"
    loop: ClassVar[Loop] = Loop.END
    hands_on: ClassVar[bool] = True

    def result(self, *inputs: Tensor) -> Tensor:
        """The tensor's shape and type."""
        return inputs[0]

    def compute(self, *inputs: Array) -> Array:
        """The tensor."""
        return inputs[0]

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Itself."""
        del inputs, more
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class Clip(OfElements):
    """Integers between two limits, which are part of the range; others become the nearer limit."""

    called: ClassVar[str] = "clip"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS

    limits: tuple[int, int]
    dtype: str

    def of_integers(self, *inputs: Array) -> Array:
        """The nearer limit of what is beyond, of integers of any size."""
        return inputs[0].clip(*self.limits)

    def compute(self, *inputs: Array) -> Array:
        """The nearer limit of what is beyond."""
        return self.of_integers(inputs[0].astype(np.int64)).astype(self.dtype)

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """The nearer limits of what is beyond."""
        low, high = (self.of_integers(end) for end in (inputs[0].range.low, inputs[0].range.high))
        return _range_of(low, high, result)


@dataclass(frozen=True, eq=False, kw_only=True)
class Saturate(OfElements):
    """int32 numbers plus `more`, clipped, in 8 bits."""

    called: ClassVar[str] = "saturate"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS
    converts: ClassVar[bool] = True

    more: int
    clip: tuple[int, int]
    dtype: str

    def of_integers(self, *inputs: Array) -> Array:
        """The sum of integers of any size, clipped."""
        return (inputs[0] + self.more).clip(*self.clip)

    def compute(self, *inputs: Array) -> Array:
        """The sum, which wraps around as int32 does, clipped."""
        return (inputs[0] + np.int32(self.more)).clip(*self.clip).astype(self.dtype)

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """The clipped sums; None where a sum may wrap around."""
        (x,) = inputs
        least, most = value_range("int32")
        if x.range.low.min() + self.more < least or x.range.high.max() + self.more > most:
            return None
        return _range_of(self.of_integers(x.range.low), self.of_integers(x.range.high), result)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """More is added."""
        del inputs
        if more is None:
            return self
        low, high = self.clip
        return replace(self, more=self.more + more, clip=(low + more, high + more), dtype="uint8")


@dataclass(frozen=True, eq=False, kw_only=True)
class Entries(Operator):
    """The entries of a table of integers, shape (n,), at given places; a place beyond an end is taken for that end."""

    called: ClassVar[str] = "entries"
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.MOVES
    converts: ClassVar[bool] = True

    table: npt.NDArray[Any]

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape of the places, in the table's type."""
        return Tensor(inputs[0].shape, str(self.table.dtype))

    def compute(self, *inputs: Array) -> Array:
        """The entries."""
        return self.table.take(inputs[0], mode="clip")

    @property
    def lowest(self) -> int | None:
        """The least entry."""
        return int(self.table.min())

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator | None:
        """Entries are larger; places must be those that they were."""
        if not inputs[0].as_it_is:
            return None
        return self if more is None else replace(self, table=(self.table.astype(np.int64) + more).astype(np.uint8))


@dataclass(frozen=True, eq=False, kw_only=True)
class Difference(Operator):
    """The difference of two tensors of 8 bits of one type, in more bits."""

    called: ClassVar[str] = "difference"
    alike: ClassVar[bool] = True
    elementwise: ClassVar[bool] = True
    loop: ClassVar[Loop] = Loop.ELEMENTS

    dtype: str

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape that both are broadcast to."""
        return Tensor(np.broadcast_shapes(*(x.shape for x in inputs)), self.dtype)

    def of_integers(self, *inputs: Array) -> Array:
        """The differences of integers of any size."""
        return inputs[0] - inputs[1]

    def compute(self, *inputs: Array) -> Array:
        """The differences."""
        return self.of_integers(*(x.astype(self.dtype) for x in inputs))

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """The differences of opposite ends."""
        a, b = (x.range for x in inputs)
        return _range_of(self.of_integers(a.low, b.high), self.of_integers(a.high, b.low), result)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Itself."""
        del inputs, more
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class Extreme(Operator):
    """The largest, or the smallest, number along some axes."""

    called: ClassVar[str] = "extreme"
    loop: ClassVar[Loop] = Loop.REDUCTION
    hands_on: ClassVar[bool] = True

    axes: tuple[int, ...]
    keepdims: bool
    largest: bool

    def result(self, *inputs: Tensor) -> Tensor:
        """The extents of the axes that are left; the others are 1 where they are kept."""
        return Tensor(reduced_extents(inputs[0].shape, self.axes, keepdims=self.keepdims), inputs[0].dtype)

    def compute(self, *inputs: Array) -> Array:
        """The extremes."""
        reduce = np.max if self.largest else np.min
        return reduce(inputs[0], axis=self.axes, keepdims=self.keepdims)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Itself."""
        del inputs, more
        return self

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called by which of both it is."""
        return replace(super().work(result, inputs), name="max" if self.largest else "min")


@dataclass(frozen=True, eq=False, kw_only=True)
class Truth(Operator):
    """Whether any, or if `every` all, of the truth values along some axes are true."""

    called: ClassVar[str] = "truth"
    loop: ClassVar[Loop] = Loop.REDUCTION

    axes: tuple[int, ...]
    every: bool

    def result(self, *inputs: Tensor) -> Tensor:
        """The extents of the axes that are left."""
        return Tensor(reduced_extents(inputs[0].shape, self.axes, keepdims=False), "bool")

    def compute(self, *inputs: Array) -> Array:
        """The truth values."""
        return (np.all if self.every else np.any)(inputs[0], axis=self.axes)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called by which of both it is."""
        return replace(super().work(result, inputs), name="all" if self.every else "any")


@dataclass(frozen=True, eq=False, kw_only=True)
class Place(Operator):
    """The index of the largest, or the smallest, of the numbers along one axis.

    last: of several such numbers the last one is meant, else the first one.
    """

    called: ClassVar[str] = "place"
    loop: ClassVar[Loop] = Loop.REDUCTION

    axis: int
    keepdims: bool
    largest: bool
    last: bool
    dtype: str

    def result(self, *inputs: Tensor) -> Tensor:
        """The extents of the other axes; that of the axis is 1 where it is kept."""
        return Tensor(reduced_extents(inputs[0].shape, (self.axis,), keepdims=self.keepdims), self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The indices."""
        real = inputs[0].dtype.kind == "f"
        x = inputs[0] if real else inputs[0].astype(np.int64)
        x = x if self.largest else -x
        if not self.last:
            found = x.argmax(axis=self.axis, keepdims=self.keepdims)
        else:
            backwards = np.flip(x, self.axis).argmax(axis=self.axis, keepdims=self.keepdims)
            found = x.shape[self.axis] - 1 - backwards
        return found.astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Itself."""
        del inputs, more
        return self

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called by which of both it is."""
        return replace(super().work(result, inputs), name="argmax" if self.largest else "argmin")


def _are_within(x: Known, low: int, high: int) -> bool:
    """Whether all values are between two limits, which are part of the range."""
    least, most = x.range.ends
    return bool(low <= least and most <= high)


def _range_of(low: Array, high: Array, result: Tensor) -> Range | None:
    """The range between ends of channels, or of all of them; None if its type does not hold them."""
    least, most = value_range(result.dtype)
    if low.min() < least or high.max() > most:
        return None
    channels = (result.shape[-1] if result.shape else 1,)
    return Range(*(np.broadcast_to(end.astype(np.int64), channels) for end in (low, high)))


def reduced_extents(extents: tuple[int, ...], axes: tuple[int, ...], *, keepdims: bool) -> tuple[int, ...]:
    """The extents of a tensor without some axes, or with 1 in their places."""
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(extents))
    return tuple(extent for axis, extent in enumerate(extents) if axis not in axes)
