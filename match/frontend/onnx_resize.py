"""ONNX's Resize and Upsample: which axes they bring to which sizes, and the Relay that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from match.relay import relay
from match.relay.resampling import COORDINATES, NEAREST, ResizedAxis, interpolated, nearest


def resized_axes(
    extents: Sequence[int],
    numbers: Sequence[int],
    scales: npt.NDArray[Any] | None,
    sizes: npt.NDArray[Any] | None,
) -> Mapping[int, ResizedAxis]:
    """The axes of a tensor that a Resize changes, by number.

    Args:
        extents: of the tensor.
        numbers: of the axes that it names, one for each scale or size.
        scales: outputs for each input; none or empty where sizes are given.
        sizes: outputs.
    """
    named: dict[int, ResizedAxis] = {}
    if scales is not None and scales.size:
        for number, scale in zip(numbers, scales.astype(np.float32), strict=True):
            after = int(np.floor(np.float32(extents[number]) * scale))
            named[number] = ResizedAxis(extents[number], after, float(scale))
    elif sizes is not None:
        named = {number: ResizedAxis(extents[number], int(size)) for number, size in zip(numbers, sizes, strict=True)}
    if all(axis.before == axis.after for axis in named.values()):  # onnxruntime copies
        return {}
    return {number: axis for number, axis in named.items() if axis.factor != 1}


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
