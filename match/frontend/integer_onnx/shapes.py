"""Operators that only move data."""

from __future__ import annotations

import math

import numpy as np

from match.frontend.integer_onnx.values import IntegerReader, Integers, settled
from match.frontend.onnx_graph import Node
from match.graph.make import padded, reshaped


def same(read: IntegerReader, node: Node) -> Integers:
    """Cast and Identity: types follow from content."""
    return read.tensor(node)


def pad(read: IntegerReader, node: Node) -> Integers:
    """Pad with zeros."""
    x, attributes = read.narrow(node), node.attributes
    pads, value = read.constant(node, 1), read.constant(node, 2)
    pads = read.integers(node, np.asarray(attributes.get("pads", ()), int) if pads is None else pads)
    filled = np.asarray(attributes.get("value", 0.0)) if value is None else value
    rank = len(x.shape)
    if attributes.get("mode", "constant") != "constant" or pads.size != 2 * rank or np.any(filled):
        raise read.error(node, "pads with something else than zeros; only zeros are supported")
    if np.any(pads < 0):
        raise read.error(node, "cuts off what is at the border; only padding is supported")
    before, after = pads.reshape(2, rank).tolist()
    read.check_size(node, [sum(sides) for sides in zip(x.shape, before, after, strict=True)])
    return Integers(padded(x, [*zip(before, after, strict=True)], 0))


def flatten(read: IntegerReader, node: Node) -> Integers:
    """Flatten from axis 1 on."""
    x = settled(read.tensor(node))
    if node.attributes.get("axis", 1) != 1:
        raise read.error(node, "does not flatten from axis 1 on; only that is supported")
    return Integers(reshaped(x, (x.shape[0], math.prod(x.shape[1:]))))


def reshape(read: IntegerReader, node: Node) -> Integers:
    """Reshape to a constant shape."""
    x, target = settled(read.tensor(node)), read.constant(node, 1)
    if target is None:
        raise read.error(node, "reshapes to a computed shape; export the model with static shapes")
    if node.attributes.get("allowzero", 0) and 0 in target:
        raise read.error(node, "reshapes to an empty tensor; correct it")
    extents: list[int] = read.integers(node, target).reshape(-1).tolist()
    kept = (*x.shape, *[1] * len(extents))
    wanted = [kept[axis] if extent == 0 else extent for axis, extent in enumerate(extents)]
    if wanted.count(-1) == 1:
        wanted[wanted.index(-1)] = x.tensor.elements // -math.prod(wanted)
    if math.prod(wanted) != x.tensor.elements or min(wanted, default=1) < 1:
        raise read.error(node, f"reshapes {list(x.shape)} to {extents}, which has another size; correct it")
    return Integers(reshaped(x, wanted))
