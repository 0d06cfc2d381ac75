"""ONNX's Resize and Upsample as Relay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from match.arithmetic.resampling import COORDINATES, NEAREST, ResizedAxis
from match.relay import relay
from match.relay.resampling import interpolated, nearest


def resize(
    x: relay.Expr, extents: Sequence[int], axes: Mapping[int, ResizedAxis], attributes: Mapping[str, Any]
) -> relay.Expr | None:
    """A Resize since opset 11, to the nearest element or linear; None for other ones."""
    coordinates = _text(attributes, "coordinate_transformation_mode", "half_pixel")
    rounding = _text(attributes, "nearest_mode", "round_prefer_floor")
    mode = _text(attributes, "mode", "nearest")
    if coordinates not in COORDINATES or rounding not in NEAREST:
        return None
    if mode == "nearest":
        return nearest(x, axes, coordinates, rounding)
    return interpolated(x, extents, axes, coordinates) if mode == "linear" else None


def resize_before_modes(
    x: relay.Expr, extents: Sequence[int], axes: Mapping[int, ResizedAxis], attributes: Mapping[str, Any]
) -> relay.Expr | None:
    """A Resize of opset 10, or an Upsample, which have no modes of coordinates; None for unknown modes.

    onnxruntime rounds positions down to the nearest element where there are more outputs than inputs, else up.
    """
    mode = _text(attributes, "mode", "nearest")
    if mode == "linear":
        return interpolated(x, extents, axes, "asymmetric")
    if mode != "nearest":
        return None
    for number, axis in axes.items():
        x = nearest(x, {number: axis}, "asymmetric", "ceil" if axis.factor < 1 else "floor")
    return x


def _text(attributes: Mapping[str, Any], name: str, default: str) -> str:
    return attributes.get(name, default.encode()).decode()
