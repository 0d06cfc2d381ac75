"""Layers on integers, for several samples at once.

Channels come first: arrays have the shape (C, samples, H, W), or (features, samples). Sums of products of 8-bit numbers
stay below 2**53, so float64 holds them exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import QuantizedType
from match.devtools.zoo.layers import Conv, FullyConnected

Float64Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Activations:
    """A tensor for all samples: integers less their zero point; `scale` makes real values of them."""

    levels: npt.NDArray[np.int16]
    scale: float

    @property
    def real(self) -> Float64Array:
        """The values that the integers stand for."""
        return np.multiply(self.levels, self.scale, dtype=np.float64)


def quantized(values: Float64Array, quantization: QuantizedType) -> Activations:
    """Real values as the nearest integers of a quantization."""
    limits = np.iinfo(quantization.dtype)
    scale, zero_point = float(quantization.scale), quantization.zero_point
    levels = np.clip(np.rint(values / scale), limits.min - zero_point, limits.max - zero_point)
    return Activations(levels.astype(np.int16), scale)


def accumulate(layer: Conv | FullyConnected, x: Activations, weights: npt.NDArray[np.int8]) -> Float64Array:
    """Sums of levels times weights."""
    kernel = weights.astype(np.float64)
    if isinstance(layer, FullyConnected):
        return kernel @ x.levels
    top, left, bottom, right = layer.pads
    padded = np.pad(x.levels, ((0, 0), (0, 0), (top, bottom), (left, right)))
    filters, rows, columns = layer.shape
    sums = np.zeros((filters, x.levels.shape[1], rows, columns))
    for row, column in np.ndindex(*layer.kernel):
        seen = padded[:, :, row:, column:][:, :, :: layer.stride, :: layer.stride][:, :, :rows, :columns]
        tap = kernel[:, :, row, column]
        if layer.depthwise:
            sums += tap[:, :, np.newaxis, np.newaxis] * seen
        else:
            sums += (tap @ seen.reshape(len(seen), -1)).reshape(sums.shape)
    return sums


def mean(x: Activations) -> Float64Array:
    """The mean of each channel of each sample, shape (C, samples)."""
    sums = x.levels.sum((2, 3), dtype=np.int64)
    return np.multiply(sums, x.scale / math.prod(x.levels.shape[2:]), dtype=np.float64)
