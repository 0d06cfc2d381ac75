"""Average pooling as onnxruntime computes it in float32, from dequantize to quantize."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

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
    padding: around the map; windows may reach beyond it below and on the right where `hanging`.
    hanging: onnxruntime divides by all pixels of a window that reaches beyond the padding.
    """

    called: ClassVar[str] = "float_average"

    scale: np.float32
    zero: int
    function: FloatQuantization
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding
    hanging: bool

    def result(self, *inputs: Tensor) -> Tensor:
        """A map of as many pixels as there are windows."""
        batch, rows, columns, channels = inputs[0].shape
        counts = windows.outputs((rows, columns), self.window, self.strides, self._reached((rows, columns)))
        return Tensor((batch, *counts, channels), self.function.dtype)

    def _reached(self, extents: tuple[int, int]) -> Padding:
        """The padding, with what hanging windows reach beyond it."""
        if not self.hanging:
            return self.padding
        added = self.padding.top + self.padding.bottom, self.padding.left + self.padding.right
        more = (
            -(extent + side - size) % step
            for extent, side, size, step in zip(extents, added, self.window, self.strides, strict=True)
        )
        bottom, right = more
        top, left = self.padding.top, self.padding.left
        return Padding(top, left, self.padding.bottom + bottom, self.padding.right + right)

    def compute(self, *inputs: Array) -> Array:
        """Sums in float32, row by row of the window, divided by their number."""
        (x,) = inputs
        reached = self._reached((x.shape[1], x.shape[2]))
        _, rows, columns, _ = self.result(Tensor(x.shape, str(x.dtype))).shape
        numbers = (x.astype(np.int64) - self.zero).astype(np.float32) * self.scale
        wide = windows.padded(numbers, reached, 0)
        inside = windows.padded(np.ones_like(numbers), reached, 0)
        total = np.zeros((len(x), rows, columns, x.shape[3]), np.float32)
        count = np.zeros_like(total)
        for place in np.ndindex(*self.window):
            total += windows.taken(wide, place, (rows, columns), self.strides)
            count += windows.taken(inside, place, (rows, columns), self.strides)
        return self.function(total / count).astype(self.function.dtype)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """TVM's C multiplies by the reciprocal of the pixels, which rounds otherwise but for powers of two."""
        own, pixels = super().work(result, inputs), math.prod(self.window)
        return replace(own, combined=result.elements * pixels, floating=True, exact=pixels.bit_count() == 1)

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
