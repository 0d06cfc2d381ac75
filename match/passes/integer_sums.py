"""The int32 sums of QNN's convolutions and dense layers, on inputs of 8 bits (`match.quantized.layers`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from match.graph.value import Value
from match.ir.layer import Padding
from match.quantized.layers import Filters, Sums, convolution_sums, dense_sums, transposed_sums
from match.relay import relay
from match.relay.qnn import LinearSums
from match.relay.rewrite import is_call, scalar, shape


@dataclass(frozen=True, eq=False)
class IntegerSums:
    """The int32 sums of a layer: what they are summed of, and how."""

    x: relay.Expr
    sums: Callable[[Value], Sums]


def integer_sums(layer: LinearSums) -> IntegerSums | None:
    """The sums of a convolution in NHWC or of a dense layer; None for other layouts."""
    zero_point, attrs = layer.input.zero_point, layer.call.attrs
    if is_call(layer.call, "qnn.dense"):
        return IntegerSums(layer.x, lambda x: dense_sums(x, layer.weights))
    if is_call(layer.call, "qnn.conv2d_transpose"):
        kernel = layer.weights.transpose([str(attrs.kernel_layout).index(axis) for axis in "HWIO"])
        strides, before = (int(attrs.strides[0]), int(attrs.strides[1])), (int(attrs.padding[0]), int(attrs.padding[1]))
        result, groups = shape(layer.call), int(attrs.groups)
        return IntegerSums(layer.x, lambda x: transposed_sums(x, kernel, strides, before, result, zero_point, groups))
    if str(attrs.data_layout) != "NHWC":
        return None
    source, padding = _without_pad(layer)
    filters = _filters(layer, padding)
    return IntegerSums(source, lambda x: convolution_sums(x, filters, zero_point))


def sees_one_row(convolution: relay.Call) -> bool:
    """Whether each row of the outputs of a convolution, transposed or not, is computed from one row of its input."""
    attrs = convolution.attrs
    top, _, bottom, _ = (int(side) for side in attrs.padding)
    return (int(attrs.kernel_size[0]), int(attrs.strides[0]), top, bottom) == (1, 1, 0, 0)


def _filters(layer: LinearSums, padding: Padding) -> Filters:
    attrs = layer.call.attrs
    groups, layout = int(attrs.groups), str(attrs.kernel_layout)
    depthwise = groups > 1 and groups == shape(layer.x)[3]
    weights = layer.weights.transpose([layout.index(axis) for axis in ("HWOI" if depthwise else "HWIO")])
    return Filters(
        kernel=weights.reshape(*weights.shape[:2], groups, -1) if depthwise else weights,
        layout="HWOI" if depthwise else "HWIO",
        strides=(int(attrs.strides[0]), int(attrs.strides[1])),
        padding=padding,
        dilation=(int(attrs.dilation[0]), int(attrs.dilation[1])),
        groups=groups,
    )


def _without_pad(layer: LinearSums) -> tuple[relay.Expr, Padding]:
    """The input of a convolution and its padding, an `nn.pad` of zero points in front included."""
    x, padding = layer.x, Padding(*(int(side) for side in layer.call.attrs.padding))
    while is_call(x, "nn.pad"):
        widths = [(int(before), int(after)) for before, after in x.attrs.pad_width]
        spatial = widths[0] == widths[3] == (0, 0) and all(side >= 0 for width in widths for side in width)
        if not spatial or str(x.attrs.pad_mode) != "constant" or scalar(x.args[1]) != layer.input.zero_point:
            break
        (top, bottom), (left, right) = widths[1:3]
        padding = Padding(padding.top + top, padding.left + left, padding.bottom + bottom, padding.right + right)
        x = x.args[0]
    return x, padding
