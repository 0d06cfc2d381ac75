"""Resizes along any axes: an output is one element of an axis, or a weighted sum of two elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from match.arithmetic.interface import Float32Array
from match.arithmetic.resampling import Indices, ResizedAxis, linear_elements, nearest_elements
from match.relay import relay
from match.relay.rewrite import constant, dtype, is_call, shape


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
        below, above, weights = linear_elements(axis, coordinates)
        weight = weights.reshape(-1, *[1] * (len(extents) - 1 - number))
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
