"""ONNX's ConvTranspose as Relay."""

from __future__ import annotations

from typing import Any

import numpy as np

from match.frontend.onnx_elementwise import Converter, Inputs
from match.frontend.onnx_transposed_windows import TransposedWindows
from match.relay import relay, tvm
from match.relay.rewrite import constant, is_call


def conv_transpose(convert: Converter, inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """A ConvTranspose for TVM's importer, which takes padding on both sides and filters without holes only.

    Raises:
        tvm.error.OpNotImplemented: outputs are wanted that lie a stride and more after those of the last input.
    """
    x, weights, *bias = inputs
    assert x is not None
    assert weights is not None
    given = {name: attributes.pop(name) for name in TransposedWindows.ATTRIBUTES if name in attributes}
    windows = TransposedWindows.of(given, _extents(x)[2:], _extents(weights)[2:])
    if not windows.are_adjoining:
        name = attributes["tvm_custom"]["name"]
        raise tvm.error.OpNotImplemented(f"not implemented: ConvTranspose ({name}) with outputs a stride behind others")
    if any(hole > 1 for hole in windows.dilations):
        weights = _with_holes(weights, windows.dilations)
        attributes["kernel_shape"] = _extents(weights)[2:]
    written = {**attributes, "strides": windows.strides, "pads": windows.pads, "output_padding": windows.spare}
    return convert([x, weights, *bias], written, params)


def _with_holes(weights: relay.Expr, holes: list[int]) -> relay.Expr:
    """Filters (C, K, ...) whose elements are so far apart, with zeros between them."""
    if is_call(weights, "qnn.dequantize"):
        levels, scale, zero = weights.args
        between, attrs = constant(zero), weights.attrs
        if between is None:
            return weights
        along = [-1 if axis == int(attrs.axis) % len(_extents(levels)) else 1 for axis in range(len(_extents(levels)))]
        between = between.reshape(along) if between.ndim else between
        return relay.qnn.op.dequantize(_spread(levels, holes, between), scale, zero, int(attrs.axis))
    return _spread(weights, holes, np.float32(0))


def _spread(weights: relay.Expr, holes: list[int], between: Any) -> relay.Expr:
    numbers = constant(weights)
    if numbers is None:
        return weights
    sizes = [(size - 1) * hole + 1 for size, hole in zip(numbers.shape[2:], holes, strict=True)]
    spread = np.empty((*numbers.shape[:2], *sizes), numbers.dtype)
    spread[...] = between
    spread[(..., *(slice(None, None, hole) for hole in holes))] = numbers
    return relay.const(spread)


def _extents(x: relay.Expr) -> tuple[int, ...]:
    return tuple(int(extent) for extent in relay.transform.InferTypeLocal(x).shape)
