"""The int32 sums of QNN's convolutions and dense layers, on inputs of 8 bits (`match.quantized.layers`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from match.graph.sums import Weights
from match.graph.value import Value
from match.ir.layer import Padding
from match.quantized.layers import Filters, Sums, convolution_sums, dense_sums, transposed_sums
from match.relay import relay
from match.relay.fragments import relay_of, standing_for
from match.relay.qnn import LinearSums
from match.relay.rewrite import New, is_call, scalar, shape


@dataclass(frozen=True, eq=False)
class IntegerSums:
    """The int32 sums of a layer's input, with its zero point.

    layer: the one that is summed, for a transposed convolution that of all its phases.
    x: its input.
    sums: the int32 sums as Relay.
    """

    layer: LinearSums
    x: relay.Expr
    sums: relay.Expr
    of_graph: Sums

    @property
    def weights(self) -> Weights:
        """Those that each output sums with; shape (channels, ...)."""
        return self.of_graph.weights

    def in_place(self, outputs: relay.Expr) -> relay.Expr:
        """What became of the sums, where the layer's outputs are."""
        result = Value(self.of_graph.value.tensor)
        return relay_of(self.of_graph.laid_out(result), {result: outputs})


def integer_sums(layer: LinearSums, new: New) -> IntegerSums | None:
    """The sums of a convolution in NHWC or of a dense layer; None for other layouts."""
    source, zero_point, attrs = layer.x, layer.input.zero_point, layer.call.attrs
    if is_call(layer.call, "qnn.dense"):
        x = standing_for(source)
        sums = dense_sums(x, layer.weights)
    elif is_call(layer.call, "qnn.conv2d_transpose"):
        x = standing_for(source)
        kernel = layer.weights.transpose([str(attrs.kernel_layout).index(axis) for axis in "HWIO"])
        strides, before = (int(attrs.strides[0]), int(attrs.strides[1])), (int(attrs.padding[0]), int(attrs.padding[1]))
        sums = transposed_sums(x, kernel, strides, before, shape(layer.call), zero_point, int(attrs.groups))
    elif str(attrs.data_layout) == "NHWC":
        source, padding = _without_pad(layer)
        x = standing_for(source)
        sums = convolution_sums(x, _filters(layer, padding), zero_point)
    else:
        return None
    scale = sums.for_each(layer.weight_scale)
    whole = replace(layer, bias=sums.for_each(layer.bias), weight_scale=scale)
    return IntegerSums(whole, new(source), relay_of(sums.value, {x: new(source)}), sums)


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
