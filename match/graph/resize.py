"""Linear interpolation: of real numbers, and of maps in integers, as TFLite Micro's kernel computes it.

There, each output is the sum of four inputs by their weights, which are in steps of 1/1024 along rows and columns,
rounded half away from zero once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.graph.layers import element_wise
from match.graph.operator import Array, Described, Known, Operator, Refused, Stored
from match.graph.windows import not_one_map
from match.ir.attributes import Interpolation
from match.ir.constants import LayerConstants, Positions
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.ir.requantization import Int64Array

ONE = 1 << 10
"""A weight of 1."""

FRACTION = 20
"""Bits after the point of a sum, whose inputs are weighted twice."""


@dataclass(frozen=True, eq=False)
class Between:
    """For each output row, or column: the inputs below and above it, and the weight of the one above in 1/1024."""

    below: Int64Array
    above: Int64Array
    weight: Int64Array

    @property
    def positions(self) -> npt.NDArray[np.int32]:
        """Shape (outputs, 3). An output with one input only, as before the first input, has the whole weight there."""
        weight = np.where(self.below == self.above, 0, self.weight)
        return np.stack([self.below, self.above, weight], axis=1).astype(np.int32)


@dataclass(frozen=True, eq=False, kw_only=True)
class Resize(Operator):
    """An interpolation of maps (N, rows, columns, channels) of 8 bits; `zero` is what rounding goes away from."""

    called: ClassVar[str] = "resize"
    hands_on: ClassVar[bool] = True

    rows: Between
    columns: Between
    zero: int
    dtype: str

    def result(self, *inputs: Tensor) -> Tensor:
        """A map of other rows and columns."""
        batch, _, _, channels = inputs[0].shape
        return Tensor((batch, len(self.rows.weight), len(self.columns.weight), channels), self.dtype)

    def compute(self, *inputs: Array) -> Array:
        """Along columns, then along rows."""
        total = inputs[0].astype(np.int64)
        for axis, between in ((2, self.columns), (1, self.rows)):
            weight = between.weight.reshape(-1, *[1] * (3 - axis))
            below, above = total.take(between.below, axis), total.take(between.above, axis)
            total = below * (ONE - weight) + above * weight
        negative = (total - (self.zero << FRACTION)) >> 31
        return ((total + (1 << FRACTION - 1) + negative) >> FRACTION).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """The number that rounding goes away from grows with the input."""
        dtype = self.dtype if more is None else "uint8"
        return replace(self, zero=self.zero + inputs[0].more, dtype=dtype)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused:
        """Positions of rows and columns."""
        (x,) = inputs
        if x.shape[0] != 1:
            return Refused(Op.RESIZE, not_one_map(x))
        _, rows, columns, _ = x.shape
        layer = element_wise(Op.RESIZE, result.shape, x.dtype, result.dtype)
        layer = replace(layer, iy=rows, ix=columns, attributes=Interpolation(self.zero))
        return Described(layer, LayerConstants(Positions(self.rows.positions, self.columns.positions)))


@dataclass(frozen=True, eq=False, kw_only=True)
class RealInterpolation(Operator):
    """Real numbers, resized linearly along an axis: each output lies between the inputs number `below` and `above`.

    weight: of the input above, from 0 to 1; that of the other one is what is left to 1. All of shape (outputs,).
    """

    called: ClassVar[str] = "real_interpolation"

    axis: int
    below: npt.NDArray[np.int32]
    above: npt.NDArray[np.int32]
    weight: Float32Array

    def result(self, *inputs: Tensor) -> Tensor:
        """The input's shape with another extent of the axis."""
        before = inputs[0].shape
        return Tensor((*before[: self.axis], len(self.weight), *before[self.axis + 1 :]), inputs[0].dtype)

    def compute(self, *inputs: Array) -> Array:
        """The sums of two products."""
        (x,) = inputs
        weight = self.weight.reshape(-1, *[1] * (x.ndim - 1 - self.axis))
        return x.take(self.below, self.axis) * (np.float32(1) - weight) + x.take(self.above, self.axis) * weight

    @property
    def between(self) -> Between:
        """The same for integers."""
        weights = np.rint(self.weight.astype(np.float64) * ONE).astype(np.int64)
        return Between(self.below.astype(np.int64), self.above.astype(np.int64), weights)
