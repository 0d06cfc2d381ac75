"""ONNX's ConvTranspose, with the padding that onnxruntime gives it."""

from __future__ import annotations

from typing import Any

import numpy as np

from match.frontend.onnx_elementwise import Converter, Inputs
from match.relay import relay, tvm
from match.relay.rewrite import constant, is_call


def conv_transpose(convert: Converter, inputs: Inputs, attributes: Any, params: Any) -> relay.Expr:
    """A ConvTranspose for TVM's importer, which takes padding on both sides and filters without holes only.

    Padding that follows from `auto_pad` or `output_shape` is counted as onnxruntime does: it is what the outputs of
    all inputs have too many, `output_padding` included, and 0 if they have too few.

    Raises:
        tvm.error.OpNotImplemented: outputs are wanted that lie a stride and more after those of the last input.
    """
    x, weights, *bias = inputs
    assert x is not None
    assert weights is not None
    extents, filters = _extents(x)[2:], _extents(weights)[2:]
    steps = [int(step) for step in attributes.pop("strides", [1] * len(extents))]
    holes = [int(step) for step in attributes.pop("dilations", [1] * len(extents))]
    spare = [int(side) for side in attributes.pop("output_padding", [0] * len(extents))]
    pads = [int(side) for side in attributes.pop("pads", [0] * (2 * len(extents)))]
    kind = attributes.pop("auto_pad", b"NOTSET").decode()
    wanted = attributes.pop("output_shape", None)
    if wanted is not None or kind.startswith("SAME"):
        outputs = [n * step for n, step in zip(extents, steps, strict=True)] if wanted is None else wanted
        sizes = zip(extents, filters, steps, holes, spare, outputs, strict=True)
        over = [step * (n - 1) + more + (size - 1) * hole + 1 - int(o) for n, size, step, hole, more, o in sizes]
        less = [max(0, side) // 2 for side in over]
        most = [max(0, side) - half for side, half in zip(over, less, strict=True)]
        pads = [*less, *most] if kind == "SAME_UPPER" else [*most, *less]
        if wanted is not None:
            spare = [more - min(0, side) for more, side in zip(spare, over, strict=True)]
    elif kind == "VALID":
        pads = [0] * len(pads)
    if any(more >= step for more, step in zip(spare, steps, strict=True)):
        name = attributes["tvm_custom"]["name"]
        raise tvm.error.OpNotImplemented(f"not implemented: ConvTranspose ({name}) with outputs a stride behind others")
    if any(hole > 1 for hole in holes):
        weights = _with_holes(weights, holes)
        attributes["kernel_shape"] = _extents(weights)[2:]
    written = {**attributes, "strides": steps, "pads": pads, "output_padding": spare}
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
