"""Resizes along any axes: an output is one element of an axis, or a weighted sum of two elements.

Outputs have positions on the input, from its first element 0 on, which onnxruntime computes in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.relay import relay
from match.relay.rewrite import constant, dtype, is_call, shape

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


def nearest(x: relay.Expr, axes: Mapping[int, ResizedAxis], coordinates: str, rounding: str) -> relay.Expr:
    """A tensor resized along some axes: each output is the nearest input."""
    for number, axis in axes.items():
        chosen = nearest_elements(axis, coordinates, rounding)
        if not np.array_equal(chosen, np.arange(axis.before)):
            x = relay.take(x, relay.const(chosen), axis=number)
    return x


@dataclass(frozen=True, eq=False)
class Interpolated:
    """A tensor resized along an axis: each output lies between the inputs number `below` and `above`.

    weight: of the input above, from 0 to 1; that of the other one is what is left to 1.
    """

    x: relay.Expr
    axis: int
    below: Indices
    above: Indices
    weight: Float32Array


def interpolated(
    x: relay.Expr, extents: Sequence[int], axes: Mapping[int, ResizedAxis], coordinates: str
) -> relay.Expr:
    """A tensor of these extents, resized linearly along some axes."""
    for number, axis in axes.items():
        at = positions(axis, coordinates).clip(0, axis.before - 1)
        below = np.floor(at).astype(np.int32)
        above = np.minimum(below + 1, axis.before - 1)
        weight = (at - below).astype(np.float32).reshape(-1, *[1] * (len(extents) - 1 - number))
        weight = weight.reshape((1,) * (len(extents) - weight.ndim) + weight.shape)
        parts = (
            relay.multiply(relay.take(x, relay.const(chosen), axis=number), relay.const(factor))
            for chosen, factor in ((below, np.float32(1) - weight), (above, weight))
        )
        x = relay.add(*parts)
    return x


def read_interpolated(expr: relay.Expr) -> Interpolated | None:
    """The last step of an interpolation that a typed expression in floating point is; None for other expressions."""
    if not is_call(expr, "add") or dtype(expr) != "float32":
        return None
    parts: list[tuple[relay.Expr, int, Indices, Float32Array]] = []
    for product in expr.args:
        take = product.args[0] if is_call(product, "multiply") else None
        if take is None or not is_call(take, "take") or take.attrs.axis is None:
            return None
        indices, weight = constant(take.args[1]), constant(product.args[1])
        if indices is None or indices.ndim != 1 or weight is None:
            return None
        axis = int(take.attrs.axis) % len(shape(take))
        if weight.size != indices.size or weight.size != weight.shape[axis - len(shape(take))]:
            return None
        parts.append((take.args[0], axis, indices.astype(np.int32), weight.reshape(-1)))
    (x, axis, below, rest), (other, other_axis, above, weight) = parts
    if x != other or axis != other_axis or not np.array_equal(rest, np.float32(1) - weight):
        return None
    return Interpolated(x, axis, below, above, weight)
