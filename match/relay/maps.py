"""Maps and filters as Relay has them, in several orders of axes; in the graph maps have their channels last."""

from __future__ import annotations

from collections.abc import Callable

from match.graph.maps import channels_first, channels_last
from match.graph.sums import KernelLayout, Weights
from match.graph.value import Value
from match.ir.layer import Padding
from match.relay import relay
from match.relay.rewrite import is_call, scalar, shape

FIRST, LAST = "NCHW", "NHWC"
"""Layouts of maps."""

Build = Callable[..., Value]
"""Makes a tensor of those that it is computed from."""


def with_channels_last(layout: str, build: Build) -> Build | None:
    """An operator on maps in a layout, of which `build` makes the one with channels last; None for other layouts."""
    if layout == LAST:
        return build
    if layout != FIRST:
        return None

    def turned(x: Value, *others: Value) -> Value:
        return channels_first(build(channels_last(x), *others))

    return turned


def extents_of_map(expr: relay.Expr, layout: str) -> tuple[int, int, int, int]:
    """N, H, W and C of a map in a layout."""
    extents = shape(expr)
    batch, rows, columns, channels = (extents[layout.index(axis)] for axis in LAST)
    return batch, rows, columns, channels


def filters_of(convolution: relay.Call, weights: Weights) -> tuple[Weights, KernelLayout]:
    """The filters of a convolution as the graph has them: HWOI of a depthwise one, with the outputs of each input."""
    attrs = convolution.attrs
    groups, layout = int(attrs.groups), str(attrs.kernel_layout)
    depthwise = 1 < groups == extents_of_map(convolution.args[0], str(attrs.data_layout))[3]
    order: KernelLayout = "HWOI" if depthwise else "HWIO"
    turned = weights.transpose([layout.index(axis) for axis in order])
    return (turned.reshape(*turned.shape[:2], groups, -1) if depthwise else turned), order


def read_padding(x: relay.Expr, layout: str = LAST) -> tuple[Padding, int] | None:
    """What an `nn.pad` puts around a map, and its integer; None for other padding and expressions."""
    value = scalar(x.args[1]) if is_call(x, "nn.pad") else None
    if value is None or str(x.attrs.pad_mode) != "constant" or len(shape(x)) != 4:
        return None
    widths = [(int(before), int(after)) for before, after in x.attrs.pad_width]
    batch, (top, bottom), (left, right), channels = (widths[layout.index(axis)] for axis in LAST)
    if not batch == channels == (0, 0) or any(side < 0 for width in widths for side in width):
        return None
    return Padding(top, left, bottom, right), int(value)
