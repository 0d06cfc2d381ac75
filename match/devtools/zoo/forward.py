"""Layers on integers, for several samples at once.

Channels come first: arrays have the shape (C, samples, H, W), or (features, samples). Sums of products of 8-bit numbers
stay below 2**53, so float64 holds them exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import QuantizedType
from match.devtools.zoo.layers import Channels, Concat, Conv, Enlarge, FullyConnected, Function, MaxPool, Shuffle

Float64Array = npt.NDArray[np.float64]

HARD_SLOPE = 1 / 6
"""Of MobileNetV3's hard sigmoid; ONNX's own is 0.2."""

LEAKY_SLOPE = 0.1
"""Of YOLO's leaky ReLU below 0; ONNX's own is 0.01."""


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


def moved(layer: Concat | Channels | Shuffle | Enlarge | MaxPool, parts: Sequence[Float64Array]) -> Float64Array:
    """What a layer takes from its inputs, real values (C, samples, H, W), without changing them."""
    match layer:
        case Concat():
            return np.concatenate(parts)
        case Channels():
            return parts[0][layer.first : layer.first + layer.shape[0]]
        case Shuffle():
            x = parts[0]
            return x.reshape(layer.groups, -1, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape)
        case Enlarge():
            return parts[0].repeat(layer.factor, axis=2).repeat(layer.factor, axis=3)
        case MaxPool():
            size = (layer.window, layer.window)
            windows = np.lib.stride_tricks.sliding_window_view(parts[0], size, axis=(2, 3))
            return windows[:, :, :: layer.stride, :: layer.stride].max(axis=(4, 5))


def applied(layer: Function, x: Float64Array) -> Float64Array:
    """A function of each value."""
    match layer.function:
        case "Sigmoid":
            return 1 / (1 + np.exp(-x))
        case "HardSigmoid":
            return np.clip(HARD_SLOPE * x + 0.5, 0, 1)
        case _:
            return np.where(x < 0, LEAKY_SLOPE * x, x)


def mean(x: Activations) -> Float64Array:
    """The mean of each channel of each sample, shape (C, samples)."""
    sums = x.levels.sum((2, 3), dtype=np.int64)
    return np.multiply(sums, x.scale / math.prod(x.levels.shape[2:]), dtype=np.float64)
