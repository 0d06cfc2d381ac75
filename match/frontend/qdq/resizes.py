"""Resizes: to the nearest elements, or linear."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from match.arithmetic.resampling import COORDINATES, NEAREST, ResizedAxis, linear_elements, nearest_elements
from match.frontend.onnx_graph import attribute_of
from match.frontend.onnx_resized_axes import resized_axes
from match.frontend.qdq.reader import Handler, QdqReader, Refused, Unread
from match.graph.constants import is_constant
from match.graph.make import chosen
from match.graph.reals import REAL
from match.graph.resize import RealInterpolation
from match.graph.value import Value, computed
from match.quantized.scales import Scales

_RESIZE_OF_MODES = 11
"""The opset since which a Resize has modes of coordinates; before, onnxruntime rounds positions down to the nearest
element where there are more outputs than inputs, else up."""


def resize(read: QdqReader, node: Any) -> Value:
    """Resize and Upsample.

    Integers between which it interpolates are resized as numbers, and rounded, where runtimes cut them off.
    """
    x, mode = read.input(node), attribute_of(node, "mode", b"nearest").decode()
    if is_constant(x):
        raise Unread
    if mode == "nearest" or x.dtype == REAL:
        return _resized(read, node, x, mode)
    if mode != "linear" or x.dtype not in ("int8", "uint8"):
        raise Refused(f"of mode {mode!r} on {x.dtype}")
    own = Scales(np.ones(1, np.float32), np.zeros(1, np.int64), 0)
    return own.quantized(_resized(read, node, own.dequantized(x), mode), x.dtype)


def _resized(read: QdqReader, node: Any, x: Value, mode: str) -> Value:
    if read.opset < _RESIZE_OF_MODES:
        scales = np.asarray(given) if (given := attribute_of(node, "scales", None)) else read.numbers(node, 1)
        axes, coordinates = resized_axes(x.shape, range(len(x.shape)), scales, None), "asymmetric"
        roundings = {number: "ceil" if axis.factor < 1 else "floor" for number, axis in axes.items()}
    else:
        scales, sizes = (read.numbers(node, place) if read.has(node, place) else None for place in (2, 3))
        numbers = [axis % len(x.shape) for axis in attribute_of(node, "axes", range(len(x.shape)))]
        axes = resized_axes(x.shape, numbers, scales, sizes)
        coordinates = attribute_of(node, "coordinate_transformation_mode", b"half_pixel").decode()
        rounding: str = attribute_of(node, "nearest_mode", b"round_prefer_floor").decode()
        roundings = dict.fromkeys(axes, rounding)
    known = coordinates in COORDINATES and NEAREST.issuperset(roundings.values()) and mode in ("linear", "nearest")
    if not known:
        _check_imported(node, x, axes, mode)
        raise Unread
    if mode == "linear":
        return _linear(x, axes, coordinates)
    taken = {number: nearest_elements(axis, coordinates, roundings[number]) for number, axis in axes.items()}
    return chosen(x, [taken.get(axis) for axis in range(len(x.shape))])


def _check_imported(node: Any, x: Value, axes: Mapping[int, ResizedAxis], mode: str) -> None:
    """Refuse what TVM's importer would compute otherwise: it takes quotients of sizes for scales, of all axes but two.

    Raises:
        Refused: scales are others, or axes are.
    """
    regular = all(axis.factor * axis.before == axis.after for axis in axes.values())
    if not regular or attribute_of(node, "axes", None) or not 3 <= len(x.shape) <= 5 or min(axes, default=2) < 2:
        raise Refused(f"of mode {mode!r}")


def _linear(x: Value, axes: Mapping[int, ResizedAxis], coordinates: str) -> Value:
    if x.dtype != REAL:
        raise Unread
    for number, axis in axes.items():
        below, above, weight = linear_elements(axis, coordinates)
        operator = RealInterpolation(axis=number, below=below, above=above, weight=weight)
        x = computed(operator, x, exact=False)
    return x


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType({"Resize": resize, "Upsample": resize})
