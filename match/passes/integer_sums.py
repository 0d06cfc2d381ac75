"""The int32 sums of QNN's convolutions and dense layers, on inputs of 8 bits.

Modules take one map, so several maps become one, of all their rows, where each row of the output sees one row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.ir.layer import Padding
from match.passes.transposed_convolution import PhaseConvolution, as_one_map, phase_convolution, sees_one_row
from match.passes.wide_weights import in_bytes
from match.relay import integer_form, relay
from match.relay.integer_form import Weights
from match.relay.qnn import LinearSums
from match.relay.rewrite import New, is_call, scalar, shape


@dataclass(frozen=True, eq=False)
class IntegerSums:
    """The int32 sums of a layer's input, with its zero point.

    layer: the one that is summed, for a transposed convolution that of all its phases.
    x: its input.
    weights: those that each output sums with; shape (channels, ...).
    sums: the int32 sums.
    phases: how the outputs of a transposed convolution are laid out; None for other layers.
    maps: extents of the outputs where several maps are summed as one; None where the sums have their own extents.
    """

    layer: LinearSums
    x: relay.Expr
    weights: Weights
    sums: relay.Expr
    phases: PhaseConvolution | None = None
    maps: tuple[int, ...] | None = None

    def in_place(self, outputs: relay.Expr) -> relay.Expr:
        """What became of the sums, where the layer's outputs are."""
        if self.phases is not None:
            return self.phases.side_by_side(outputs)
        return outputs if self.maps is None else relay.reshape(outputs, self.maps)


def integer_sums(layer: LinearSums, new: New) -> IntegerSums | None:
    """The sums of a convolution in NHWC or of a dense layer; None for other layouts."""
    x = new(layer.x)
    if is_call(layer.call, "qnn.dense"):
        operand, weights, _ = in_bytes(x, layer.weights.T[None, None])
        return IntegerSums(
            layer, x, layer.weights, integer_form.product(operand, np.ascontiguousarray(weights[0, 0].T))
        )
    if is_call(layer.call, "qnn.conv2d_transpose"):
        phases = phase_convolution(layer)
        return IntegerSums(phases.layer, x, phases.weights_by_output, phases.sums(x), phases)
    return _convolution_sums(layer, new)


def _convolution_sums(layer: LinearSums, new: New) -> IntegerSums | None:
    attrs = layer.call.attrs
    if str(attrs.data_layout) != "NHWC":
        return None
    x, padding = _without_pad(layer)
    groups, layout = int(attrs.groups), str(attrs.kernel_layout)
    depthwise = groups > 1 and groups == shape(layer.x)[3]
    weights = layer.weights.transpose([layout.index(axis) for axis in ("HWOI" if depthwise else "HWIO")])
    if depthwise:
        weights = weights.reshape(*weights.shape[:2], groups, -1)
    several = shape(x)[0] > 1 and sees_one_row(layer.call) and not (padding.top or padding.bottom)
    operand = as_one_map(new(x), shape(x)) if several else new(x)
    operand, parts, own_layout = in_bytes(operand, weights, "HWOI" if depthwise else "HWIO", groups)
    sums = integer_form.convolution(
        operand,
        np.ascontiguousarray(parts),
        x_dtype=layer.input.dtype,
        strides=(int(attrs.strides[0]), int(attrs.strides[1])),
        padding=padding,
        dilation=(int(attrs.dilation[0]), int(attrs.dilation[1])),
        groups=groups,
        kernel_layout=own_layout,
        pad_value=layer.input.zero_point,
    )
    by_output = weights.reshape(-1, len(layer.bias) if depthwise else weights.shape[3]).T
    return IntegerSums(layer, new(x), by_output, sums, maps=shape(layer.call) if several else None)


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
