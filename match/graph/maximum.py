"""Maximum pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from match.graph import windows
from match.graph.operator import Array, Described, Known, Operator, Range, Refused, Stored
from match.graph.windows import not_one_map, windowed
from match.graph.work import Work
from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.layer import Op, Padding


@dataclass(frozen=True, eq=False, kw_only=True)
class Maximum(Operator):
    """The largest value of each window of a map (N, H, W, C); padding never wins against a value."""

    called: ClassVar[str] = "maximum"
    hands_on: ClassVar[bool] = True

    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding
    dilation: tuple[int, int]

    def result(self, *inputs: Tensor) -> Tensor:
        """A map of as many pixels as there are windows."""
        (batch, rows, columns, channels), dtype = inputs[0].shape, inputs[0].dtype
        counts = windows.outputs((rows, columns), self.window, self.strides, self.padding, self.dilation)
        return Tensor((batch, *counts, channels), dtype)

    def compute(self, *inputs: Array) -> Array:
        """Place by place of the window."""
        (x,) = inputs
        _, rows, columns, _ = self.result(Tensor(x.shape, str(x.dtype))).shape
        lowest = -np.inf if x.dtype.kind == "f" else value_range(str(x.dtype))[0]
        wide = windows.padded(x, self.padding, lowest)
        places = ((row * self.dilation[0], column * self.dilation[1]) for row, column in np.ndindex(*self.window))
        seen = [windows.taken(wide, place, (rows, columns), self.strides) for place in places]
        return np.maximum.reduce(seen)

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """Those of the map."""
        del result
        return inputs[0].values

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Itself: padding never wins."""
        del inputs, more
        return self

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused | None:
        """A maximum pooling of integers."""
        (x,) = inputs
        if x.dtype.startswith("float"):
            return None
        if x.shape[0] != 1:
            return Refused(Op.MAX_POOL2D, not_one_map(x))
        layer = windowed(Op.MAX_POOL2D, x, result, self.window, self.strides, self.dilation, self.padding)
        low, high = value_range(x.dtype)
        layer = replace(layer, pad_value=low if any(layer.padding) else 0, clip=(low, high))
        return Described(layer, LayerConstants())

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """It reads every element of each window."""
        return replace(super().work(result, inputs), combined=result.elements * math.prod(self.window))
