"""Operators on real numbers, float32, that combine numbers along axes: sums and means, running sums, normalization.

As of `match.graph.reals`, they say what a network computes before integers stand for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from match.graph.elements import OfElements
from match.graph.integers import reduced_extents
from match.graph.operator import Array, Operator
from match.graph.reals import REAL
from match.graph.work import Loop, Work
from match.ir.graph import Tensor

Reduction = Literal["mean", "prod", "sum"]


@dataclass(frozen=True, eq=False, kw_only=True)
class RealReduction(Operator):
    """The mean, the sum or the product of numbers along some axes, counted from the first, in ascending order."""

    called: ClassVar[str] = "real_reduction"
    loop: ClassVar[Loop] = Loop.REDUCTION

    function: Reduction
    axes: tuple[int, ...]
    keepdims: bool

    def result(self, *inputs: Tensor) -> Tensor:
        """The extents of the axes that are left; the others are 1 where they are kept."""
        return Tensor(reduced_extents(inputs[0].shape, self.axes, keepdims=self.keepdims), REAL)

    def compute(self, *inputs: Array) -> Array:
        """The numbers; runtimes add up in other orders, which changes last bits."""
        function = {"mean": np.mean, "prod": np.prod, "sum": np.sum}[self.function]
        return np.asarray(function(inputs[0], axis=self.axes, keepdims=self.keepdims), np.float32)

    def count(self, x: Tensor) -> int:
        """How many elements of a tensor become one."""
        return math.prod(x.shape[axis] for axis in self.axes)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called by the function."""
        return replace(super().work(result, inputs), name=self.function)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunningSum(OfElements):
    """Along an axis, the sum of all numbers up to each one, or in front of each one where `exclusive`.

    backwards: sums begin at the end of the axis.
    """

    called: ClassVar[str] = "running_sum"

    axis: int
    exclusive: bool = False
    backwards: bool = False
    dtype: str = REAL

    def compute(self, *inputs: Array) -> Array:
        """The sums."""
        x = np.flip(inputs[0], self.axis) if self.backwards else inputs[0]
        total = np.cumsum(x, self.axis, dtype=np.float32)
        total = total - x if self.exclusive else total
        return np.flip(total, self.axis) if self.backwards else total

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called as Relay calls it."""
        return replace(super().work(result, inputs), name="cumsum")


@dataclass(frozen=True, eq=False, kw_only=True)
class RealNormalization(OfElements):
    """``(x - mean) / sqrt(variance + epsilon)`` along some axes; not `centred` ``x / sqrt(mean of squares + epsilon)``.

    Where that root is 0, what is divided by it stays 0.
    """

    called: ClassVar[str] = "real_normalization"

    axes: tuple[int, ...]
    epsilon: float
    centred: bool = True
    dtype: str = REAL

    def count(self, x: Tensor) -> int:
        """How many elements of a tensor are normalized together."""
        return math.prod(x.shape[axis] for axis in self.axes)

    def compute(self, *inputs: Array) -> Array:
        """The numbers."""
        x = inputs[0].astype(np.float64)
        distance = x - x.mean(axis=self.axes, keepdims=True) if self.centred else x
        root = np.sqrt((distance * distance).mean(axis=self.axes, keepdims=True) + self.epsilon)
        return (distance / np.where(root > 0, root, 1)).astype(self.dtype)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Each element goes into a mean and into a mean of squares, and is divided."""
        return replace(super().work(result, inputs), combined=3 * result.elements)
