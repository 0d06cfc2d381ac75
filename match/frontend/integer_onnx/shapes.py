"""Operators that only move data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from match.frontend.integer_onnx.values import OnnxReader, Value, settled
from match.frontend.onnx_graph import Node
from match.relay import relay


def same(read: OnnxReader, node: Node) -> Value:
    """Cast and Identity: types follow from content."""
    return read.tensor(node)


def pad(read: OnnxReader, node: Node) -> Value:
    """Pad with zeros."""
    x, attributes = read.narrow(node), node.attributes
    pads, value = read.constant(node, 1), read.constant(node, 2)
    pads = np.asarray(attributes.get("pads", ())) if pads is None else pads
    filled = float(np.asarray(attributes.get("value", 0.0)) if value is None else value.reshape(-1)[0])
    rank = len(x.shape)
    if attributes.get("mode", "constant") != "constant" or pads.size != 2 * rank or filled:
        raise read.error(node, "pads with something else than zeros; only zeros are supported")
    if np.any(pads < 0):
        raise read.error(node, "cuts off what is at the border; only padding is supported")
    widths = [(int(pads[axis]), int(pads[axis + rank])) for axis in range(rank)]
    shape = tuple(size + before + behind for size, (before, behind) in zip(x.shape, widths, strict=True))
    return replace(x, expr=relay.nn.pad(x.expr, widths, relay.const(0, x.dtype)), shape=shape)


def flatten(read: OnnxReader, node: Node) -> Value:
    """Flatten from axis 1 on."""
    x = settled(read.tensor(node))
    if node.attributes.get("axis", 1) != 1:
        raise read.error(node, "does not flatten from axis 1 on; only that is supported")
    return _reshaped(x, (x.shape[0], math.prod(x.shape[1:])))


def reshape(read: OnnxReader, node: Node) -> Value:
    """Reshape to a constant shape."""
    x, target = settled(read.tensor(node)), read.constant(node, 1)
    if target is None:
        raise read.error(node, "reshapes to a computed shape; export the model with static shapes")
    if node.attributes.get("allowzero", 0) and 0 in target:
        raise read.error(node, "reshapes to an empty tensor; correct it")
    wanted = [x.shape[axis] if extent == 0 else int(extent) for axis, extent in enumerate(target.reshape(-1))]
    if -1 in wanted:
        wanted[wanted.index(-1)] = math.prod(x.shape) // -math.prod(wanted)
    if math.prod(wanted) != math.prod(x.shape):
        raise read.error(node, f"reshapes {list(x.shape)} to {wanted}, which has another size; correct it")
    return _reshaped(x, tuple(wanted))


def _reshaped(x: Value, shape: tuple[int, ...]) -> Value:
    return x if shape == x.shape else replace(x, expr=relay.reshape(x.expr, shape), shape=shape)
