"""Layers with weights: 8-bit inputs to sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.frontend.integer_onnx.pooling import output_extents, sliding
from match.frontend.integer_onnx.values import OnnxReader, Value
from match.frontend.onnx_graph import Node
from match.relay import relay


def conv(read: OnnxReader, node: Node) -> Value:
    """Conv in two dimensions."""
    x, weights = read.narrow(node), read.weights(node)
    if len(x.shape) != 4 or weights.ndim != 4:
        raise read.error(node, "is not two-dimensional; only 2D convolutions are supported")
    groups, (strides, pads, dilations) = int(node.attributes.get("group", 1)), sliding(read, node)
    extents = output_extents(x, weights.shape[2:], strides, pads, dilations)
    sums = relay.nn.conv2d(
        x.expr,
        relay.const(weights),
        strides=strides,
        padding=pads,
        dilation=dilations,
        groups=groups,
        channels=weights.shape[0],
        kernel_size=weights.shape[2:],
        out_dtype="int32",
    )
    return _with_bias(read, node, Value(relay.cast(sums, "int64"), (x.shape[0], weights.shape[0], *extents)))


def gemm(read: OnnxReader, node: Node) -> Value:
    """Gemm without factors."""
    attributes = node.attributes
    if attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0 or attributes.get("transA", 0):
        raise read.error(node, "scales or transposes its input; only x * w + b is supported")
    return _dense(read, node, transposed=bool(attributes.get("transB", 0)))


def matmul(read: OnnxReader, node: Node) -> Value:
    """MatMul with constant weights."""
    return _dense(read, node, transposed=False)


def _dense(read: OnnxReader, node: Node, *, transposed: bool) -> Value:
    x, weights = read.narrow(node), read.weights(node)
    if len(x.shape) != 2 or weights.ndim != 2:
        raise read.error(node, "is no product of a vector and a matrix; flatten its input")
    weights = weights if transposed else weights.T
    sums = relay.nn.dense(x.expr, relay.const(np.ascontiguousarray(weights)), units=len(weights), out_dtype="int32")
    return _with_bias(read, node, Value(relay.cast(sums, "int64"), (x.shape[0], len(weights))))


def _with_bias(read: OnnxReader, node: Node, sums: Value) -> Value:
    bias = read.constant(node, 2)
    return sums if bias is None else replace(sums, expr=relay.add(sums.expr, read.parameter(node, bias, sums)))
