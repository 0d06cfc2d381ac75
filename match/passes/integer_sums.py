"""The int32 sums of QNN's convolutions and dense layers, on inputs of 8 bits (`match.quantized.layers`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from match.graph.maps import channels_last
from match.graph.value import Value
from match.ir.layer import Padding
from match.quantized.layers import Filters, Sums, convolution_sums, dense_sums, transposed_sums
from match.relay import relay
from match.relay.maps import FIRST, LAST, extents_of_map, filters_of, read_padding
from match.relay.qnn import LinearSums
from match.relay.rewrite import is_call


@dataclass(frozen=True, eq=False)
class IntegerSums:
    """The int32 sums of a layer: what they are summed of, and how; of maps, with channels last.

    first: whether the layer has its channels first.
    """

    x: relay.Expr
    sums: Callable[[Value], Sums]
    first: bool = False


def integer_sums(layer: LinearSums) -> IntegerSums | None:
    """The sums of a convolution or of a dense layer; None for other layouts."""
    if is_call(layer.call, "qnn.dense"):
        return IntegerSums(layer.x, lambda x: dense_sums(x, layer.weights))
    layout = str(layer.call.attrs.data_layout)
    if layout not in (FIRST, LAST):
        return None
    sums = _transposed if is_call(layer.call, "qnn.conv2d_transpose") else _convolution
    source, of_map = sums(layer, layout)
    if layout == LAST:
        return IntegerSums(source, of_map)
    return IntegerSums(source, lambda x: of_map(channels_last(x)), first=True)


_Read = tuple[relay.Expr, Callable[[Value], Sums]]
"""A map, and the sums of it once its channels are last."""


def _transposed(layer: LinearSums, layout: str) -> _Read:
    attrs, zero_point = layer.call.attrs, layer.input.zero_point
    kernel = layer.weights.transpose([str(attrs.kernel_layout).index(axis) for axis in "HWIO"])
    strides, before = (int(attrs.strides[0]), int(attrs.strides[1])), (int(attrs.padding[0]), int(attrs.padding[1]))
    result, groups = extents_of_map(layer.call, layout), int(attrs.groups)
    return layer.x, lambda x: transposed_sums(x, kernel, strides, before, result, zero_point, groups)


def _convolution(layer: LinearSums, layout: str) -> _Read:
    attrs = layer.call.attrs
    x, padding = _without_pad(layer, layout)
    kernel, order = filters_of(layer.call, layer.weights)
    filters = Filters(
        kernel=kernel,
        layout=order,
        strides=(int(attrs.strides[0]), int(attrs.strides[1])),
        padding=padding,
        dilation=(int(attrs.dilation[0]), int(attrs.dilation[1])),
        groups=int(attrs.groups),
    )
    return x, lambda value: convolution_sums(value, filters, layer.input.zero_point)


def _without_pad(layer: LinearSums, layout: str) -> tuple[relay.Expr, Padding]:
    """The input of a convolution and its padding, an `nn.pad` of zero points in front included."""
    x, padding = layer.x, Padding(*(int(side) for side in layer.call.attrs.padding))
    while is_call(x, "nn.pad"):
        own = read_padding(x, layout)
        if own is None or own[1] != layer.input.zero_point:
            break
        padding = Padding(*(sum(sides) for sides in zip(padding, own[0], strict=True)))
        x = x.args[0]
    return x, padding
