"""Layers with weights: 8-bit inputs to sums."""

from __future__ import annotations

import numpy as np

from match.frontend.integer_onnx.pooling import checked, sliding
from match.frontend.integer_onnx.values import WIDE, IntegerReader, Integers
from match.frontend.onnx_graph import Node
from match.graph.make import arithmetic, cast
from match.graph.maps import channels_first, channels_last
from match.graph.sums import SUMS, Convolution, Dense, unchanged
from match.graph.value import Value, computed


def conv(read: IntegerReader, node: Node) -> Integers:
    """Conv in two dimensions."""
    x, filters = read.narrow(node), read.weights(node)
    if len(x.shape) != 4 or filters.ndim != 4:
        raise read.error(node, "is not two-dimensional; only 2D convolutions are supported")
    groups, (outputs, depth, *window), channels = int(node.attributes.get("group", 1)), filters.shape, x.shape[1]
    if groups < 1 or depth * groups != channels or outputs % groups:
        shapes = f"filters of shape {list(filters.shape)} in {groups} groups for a map of {channels} channels"
        raise read.error(node, f"has {shapes}; export the model again")
    strides, padding, dilation = sliding(read, node)
    depthwise = depth == 1 and groups > 1
    weights = filters.transpose(2, 3, 0, 1)
    weights = weights.reshape(*window, channels, -1) if depthwise else weights.transpose(0, 1, 3, 2)
    convolution = Convolution(
        weights=np.ascontiguousarray(weights),
        requantization=unchanged(outputs),
        dtype=SUMS,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        pad_value=0,
        kernel_layout="HWOI" if depthwise else "HWIO",
    )
    sums = checked(read, node, computed(convolution, channels_last(x)))
    return _with_bias(read, node, channels_first(sums))


def gemm(read: IntegerReader, node: Node) -> Integers:
    """Gemm without factors."""
    attributes = node.attributes
    if attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0 or attributes.get("transA", 0):
        raise read.error(node, "scales or transposes its input; only x * w + b is supported")
    return _dense(read, node, transposed=bool(attributes.get("transB", 0)))


def matmul(read: IntegerReader, node: Node) -> Integers:
    """MatMul with constant weights."""
    return _dense(read, node, transposed=False)


def _dense(read: IntegerReader, node: Node, *, transposed: bool) -> Integers:
    x, weights = read.narrow(node), read.weights(node)
    if len(x.shape) != 2 or weights.ndim != 2:
        raise read.error(node, "is no product of a vector and a matrix; flatten its input")
    weights = np.ascontiguousarray(weights if transposed else weights.T)
    if weights.shape[1] != x.shape[1] or not weights.size:
        shape = list(weights.shape if transposed else weights.T.shape)
        raise read.error(node, f"has weights of shape {shape} for {x.shape[1]} elements; export the model again")
    dense = Dense(weights=weights, requantization=unchanged(len(weights)), dtype=SUMS)
    return _with_bias(read, node, computed(dense, x))


def _with_bias(read: IntegerReader, node: Node, sums: Value) -> Integers:
    wide, bias = cast(sums, WIDE), read.constant(node, 2)
    return Integers(wide if bias is None else arithmetic("add", wide, read.parameter(node, bias, sums)))
