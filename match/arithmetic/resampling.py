"""Which elements of an axis a resize takes: outputs have positions on the input, from its first element 0 on.

onnxruntime computes these in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array

Indices = npt.NDArray[np.int32]

_HALF = np.float32(0.5)
_TOLERANCE = np.float32(1e-6)
"""How near to a half onnxruntime takes a position for one."""


@dataclass(frozen=True)
class ResizedAxis:
    """An axis of `before` elements that a resize brings to `after`.

    scale: outputs for each input, where the model gives a number; none: the quotient of the two.
    """

    before: int
    after: int
    scale: float | None = None

    @property
    def factor(self) -> np.float32:
        """Outputs for each input, in float32."""
        return np.float32(self.after) / np.float32(self.before) if self.scale is None else np.float32(self.scale)


def _half_pixel(index: Float32Array, axis: ResizedAxis) -> Float32Array:
    return (index + _HALF) / axis.factor - _HALF


def _symmetric(index: Float32Array, axis: ResizedAxis) -> Float32Array:
    """Like half_pixel; what a scale leaves over is shared out to both ends."""
    adjustment = np.float32(axis.after) / (axis.factor * np.float32(axis.before))
    offset = np.float32(axis.before) / np.float32(2) * (np.float32(1) - adjustment)
    return (float(offset) + (index.astype(np.float64) + 0.5) / float(axis.factor) - 0.5).astype(np.float32)


def _pytorch_half_pixel(index: Float32Array, axis: ResizedAxis) -> Float32Array:
    return _half_pixel(index, axis) if axis.after > 1 else np.zeros_like(index)


def _align_corners(index: Float32Array, axis: ResizedAxis) -> Float32Array:
    if axis.after == 1:
        return np.zeros_like(index)
    return index * np.float32(axis.before - 1) / np.float32(axis.after - 1)


def _asymmetric(index: Float32Array, axis: ResizedAxis) -> Float32Array:
    return index / axis.factor


_POSITIONS: Mapping[str, Callable[[Float32Array, ResizedAxis], Float32Array]] = {
    "asymmetric": _asymmetric,
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
}
"""By ONNX's mode of coordinates."""


def _near_half(position: Float32Array) -> npt.NDArray[np.bool_]:
    return np.abs(position - np.floor(position) - _HALF) <= _TOLERANCE


_ROUNDINGS: Mapping[str, Callable[[Float32Array], Float32Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda at: np.where(_near_half(at), np.floor(at), np.floor(at + _HALF)),
    "round_prefer_ceil": lambda at: np.where(_near_half(at), np.ceil(at), np.floor(at + _HALF)),
}
"""By ONNX's mode for the nearest element."""

COORDINATES, NEAREST = frozenset(_POSITIONS), frozenset(_ROUNDINGS)


def positions(axis: ResizedAxis, coordinates: str) -> Float32Array:
    """Where the outputs lie on the input, shape (after,)."""
    return _POSITIONS[coordinates](np.arange(axis.after, dtype=np.float32), axis)


def nearest_elements(axis: ResizedAxis, coordinates: str, rounding: str) -> Indices:
    """The input that each output takes, shape (after,)."""
    return _ROUNDINGS[rounding](positions(axis, coordinates)).clip(0, axis.before - 1).astype(np.int32)


def linear_elements(axis: ResizedAxis, coordinates: str) -> tuple[Indices, Indices, Float32Array]:
    """The inputs below and above each output, and the weight of the one above, all of shape (after,)."""
    at = positions(axis, coordinates).clip(0, axis.before - 1)
    below = np.floor(at).astype(np.int32)
    return below, np.minimum(below + 1, axis.before - 1), (at - below).astype(np.float32)
