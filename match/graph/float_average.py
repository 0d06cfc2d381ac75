"""Average pooling as onnxruntime computes it in float32, from dequantize to quantize."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from match.arithmetic.interface import Float32Array
from match.graph import windows
from match.graph.operator import Array, Described, Known, Operator, Refused, Stored
from match.graph.windows import not_one_map, windowed
from match.graph.work import Work
from match.ir import float_average
from match.ir.constants import LayerConstants
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.ir.layer import Op, Padding


@dataclass(frozen=True, eq=False, kw_only=True)
class FloatAverage(Operator):
    """Means of windows of a map (N, H, W, C) of 8 bits, computed in float32 and quantized again.

    scale, zero: the map's quantization.
    function: of the mean, which is divided by the pixels of a window that lie inside the map.
    padding: around the map.
    """

    called: ClassVar[str] = "float_average"

    scale: np.float32
    zero: int
    function: FloatQuantization
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding

    def result(self, *inputs: Tensor) -> Tensor:
        """A map of as many pixels as there are windows."""
        batch, rows, columns, channels = inputs[0].shape
        counts = windows.outputs((rows, columns), self.window, self.strides, self.padding)
        return Tensor((batch, *counts, channels), self.function.dtype)

    def inside(self, extents: tuple[int, int]) -> Float32Array:
        """How many pixels of windows lie inside a map of so many rows and columns, float32 (1, rows, columns, 1)."""
        return self._summed(np.ones((1, *extents, 1), np.float32))

    def compute(self, *inputs: Array) -> Array:
        """Sums in float32, row by row of the window, divided by their number."""
        (x,) = inputs
        total = self._summed((x.astype(np.int64) - self.zero).astype(np.float32) * self.scale)
        return self.function(total / self.inside((x.shape[1], x.shape[2]))).astype(self.function.dtype)

    def _summed(self, numbers: Float32Array) -> Float32Array:
        wide = windows.padded(numbers, self.padding, 0)
        counts = windows.outputs((numbers.shape[1], numbers.shape[2]), self.window, self.strides, self.padding)
        total = np.zeros((len(numbers), *counts, numbers.shape[3]), np.float32)
        for place in np.ndindex(*self.window):
            total += windows.taken(wide, place, counts, self.strides)
        return total

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """An addition for each pixel of each window."""
        own = super().work(result, inputs)
        return replace(own, combined=result.elements * math.prod(self.window), floating=True)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """The map's zero point grows. Outputs stay, as float32 rounds together with their zero point."""
        del more
        return replace(self, zero=self.zero + inputs[0].more)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused:
        """An average pooling in float32."""
        (x,) = inputs
        if x.shape[0] != 1:
            return Refused(Op.FLOAT_AVG_POOL2D, not_one_map(x))
        before = Padding(self.padding.top, self.padding.left)
        layer = windowed(Op.FLOAT_AVG_POOL2D, x, result, self.window, self.strides, padding=before)
        layer = replace(layer, clip=value_range(result.dtype))
        zero = self.zero - value_range(x.dtype)[0]
        average = float_average.FloatAverage(self.scale, zero, self.function, layer.fy * layer.fx)
        return Described(layer, LayerConstants(average))
