"""Layers with weights: Conv, Gemm, MatMul."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx

from match.frontend.onnx_graph import attribute_of
from match.frontend.onnx_transposed_windows import TransposedWindows
from match.frontend.qdq.maps import as_map, like, padding_of, sides
from match.frontend.qdq.reader import Handler, QdqReader, Refused, Unread
from match.graph import volumes
from match.graph.constants import multiplied_constant, reshaped_constant, spread_constant, transposed_constant
from match.graph.make import broadcast, reshaped, transposed
from match.graph.maps import channels_first, channels_last
from match.graph.opaque import Constant
from match.graph.real_functions import real
from match.graph.reals import REAL, Levels, RealConvolution, RealMatrices, RealProduct, RealTransposed
from match.graph.value import Value, computed


def convolution(read: QdqReader, node: Any) -> Value:
    """Conv of maps, of sequences as maps of one row, and of volumes as one map for each depth of the outputs."""
    x, filters = read.input(node), _constant(read.input(node, 1))
    bias = [_constant(read.input(node, 2))] if read.has(node, 2) else []
    strides, dilation, pads = (attribute_of(node, name, None) for name in ("strides", "dilations", "pads"))
    groups, exact = attribute_of(node, "group", 1), read.is_exact(node)
    window: list[int] = list(attribute_of(node, "kernel_shape", None) or filters.shape[2:])
    if len(x.shape) not in (3, 4, 5):
        raise Refused(f"of tensors with {len(x.shape)} axes")
    if x.dtype != REAL or attribute_of(node, "auto_pad", b"NOTSET") != b"NOTSET":
        raise Unread
    if filters.shape[1:] != (x.shape[1] // groups, *window) or filters.shape[0] % groups:
        raise Unread
    if len(x.shape) == volumes.RANK:
        windows = volumes.Windows.of(window, strides, pads, dilation)
        if not windows.see_volumes(x.shape[2]):
            raise Unread
        return volumes.convolution(x, filters, bias, windows, groups, exact=exact)
    operator = RealConvolution(
        strides=sides(strides, 1), padding=padding_of(pads), dilation=sides(dilation, 1), groups=groups
    )
    return like(
        channels_first(computed(operator, channels_last(as_map(x)), _with_rows(filters), *bias, exact=exact)), x
    )


def transposed_convolution(read: QdqReader, node: Any) -> Value:
    """ConvTranspose of one map or sequence."""
    x, filters = read.input(node), _constant(read.input(node, 1))
    if len(x.shape) not in (3, 4) or x.dtype != REAL or filters.shape[0] != x.shape[1]:
        raise Unread
    given = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    windows = TransposedWindows.of(given, x.shape[2:], filters.shape[2:])
    if not windows.are_adjoining:
        raise Refused("with outputs a stride behind others")
    operator = RealTransposed(
        strides=sides(windows.strides, 1),
        padding=padding_of(windows.pads),
        spare=sides(windows.spare, 0),
        groups=attribute_of(node, "group", 1),
    )
    bias = [_constant(read.input(node, 2))] if read.has(node, 2) else []
    filters = _with_rows(spread_constant(filters, (1, 1, *windows.dilations)))
    sums = computed(operator, channels_last(as_map(x)), filters, *bias, exact=read.is_exact(node))
    return like(channels_first(sums), x)


def _with_rows(filters: Value) -> Value:
    """Constant filters with rows and columns; those of a sequence get one row."""
    return filters if len(filters.shape) == 4 else reshaped_constant(filters, (*filters.shape[:2], 1, filters.shape[2]))


def gemm(read: QdqReader, node: Any) -> Value:
    """Gemm, with factors of the product and of what is added, which the reference multiplies as real numbers."""
    x, matrix = read.input(node), _constant(read.input(node, 1))
    alpha, beta = attribute_of(node, "alpha", 1.0), attribute_of(node, "beta", 1.0)
    exact = read.is_exact(node) and alpha == beta == 1
    x = transposed(x, (1, 0)) if attribute_of(node, "transA", 0) else x
    matrix = transposed_constant(matrix, (1, 0)) if attribute_of(node, "transB", 0) else matrix
    if x.dtype != REAL or len(x.shape) != 2 or x.shape[1] != matrix.shape[0]:
        raise Unread
    product = computed(RealProduct(), x, multiplied_constant(matrix, alpha), exact=exact)
    if not read.has(node, 2):
        return product
    bias = multiplied_constant(_constant(read.input(node, 2)), beta)
    if bias.shape == matrix.shape[1:]:
        return replace(product, inputs=(*product.inputs, bias))
    return real("add", product, bias, exact=exact)


def product(read: QdqReader, node: Any) -> Value:
    """MatMul."""
    return multiplied(read.input(node), read.input(node, 1), exact=read.is_exact(node))


def multiplied(a: Value, b: Value, *, exact: bool) -> Value:
    """Products of all rows of a tensor and one constant matrix, or of pairs of matrices."""
    if min(len(a.shape), len(b.shape)) < 2 or (a.dtype, b.dtype) != (REAL, REAL) or a.shape[-1] != b.shape[-2]:
        raise Unread
    if len(b.shape) == 2 and isinstance(b.operator, Levels | Constant):
        return computed(RealProduct(), a, b, exact=exact)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    turned = transposed(b, [*range(len(b.shape) - 2), len(b.shape) - 1, len(b.shape) - 2])
    sums = computed(RealMatrices(), _stacked(a, batch), _stacked(turned, batch), exact=exact)
    return reshaped(sums, (*batch, a.shape[-2], b.shape[-1]))


def _stacked(x: Value, batch: tuple[int, ...]) -> Value:
    """Matrices, repeated up to the shape `batch` of matrices, as a tensor of three axes."""
    whole = x if x.shape[:-2] == batch else broadcast(x, (*batch, *x.shape[-2:]))
    return reshaped(whole, (-1, *x.shape[-2:]))


def _constant(x: Value) -> Value:
    """A constant, which may be quantized."""
    if not isinstance(x.operator, Levels | Constant):
        raise Unread
    return x


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {"Conv": convolution, "ConvTranspose": transposed_convolution, "Gemm": gemm, "MatMul": product}
)
