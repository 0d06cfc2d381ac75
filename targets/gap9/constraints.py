"""What NE16 cannot do. The first line of each docstring is a row of the table of supported operators."""

from __future__ import annotations

from match.ir.layer import Layer, Op
from match.target.constraints import no_dilation, pair, uint8_input
from match.target.hardware import Constraint, Verdict
from match.targets.pulp.constraints import accumulator_fits

NE16_MAX_PADDING = 2


def ne16_columns(layer: Layer) -> Verdict:
    """Columns of the filter lie beside each other."""
    dilation = layer.dilation[1] if layer.fx > 1 else 1
    return Verdict(dilation == 1, f"its columns lie {dilation} apart and NE16 has those side by side")


def ne16_depthwise_filter(layer: Layer) -> Verdict:
    """The filter is 3x3."""
    size = (layer.fy, layer.fx)
    return Verdict(size == (3, 3), f"its filter is {pair(size)} and NE16 has depthwise 3x3 alone")


def ne16_stride(layer: Layer) -> Verdict:
    """Rows and columns have the same stride, 1 or 2."""
    return Verdict(layer.stride in ((1, 1), (2, 2)), f"its stride is {pair(layer.stride)} and NE16 has 1x1 and 2x2")


def ne16_padding(layer: Layer) -> Verdict:
    """It is padded with at most 2 pixels a side (what a filter can reach)."""
    return Verdict(
        max(layer.padding) <= NE16_MAX_PADDING,
        f"it is padded with {max(layer.padding)} pixels on a side, not {NE16_MAX_PADDING} or fewer",
    )


def has_filter(layer: Layer) -> bool:
    """Whether NE16's array has a layer's filter. The cluster lays out windows for others, if they are not in groups."""
    if layer.op not in (Op.CONV2D, Op.GROUPED_CONV2D):
        return True
    if (layer.fy, layer.fx) == (1, 1):
        return max(layer.padding) == 0
    verdicts = (condition(layer) for condition in (ne16_stride, no_dilation, ne16_padding))
    return (layer.fy, layer.fx) == (3, 3) and all(verdict.ok for verdict in verdicts)


def ne16_grouped_filter(layer: Layer) -> Verdict:
    """The filter is 1x1 without padding, or 3x3 at stride 1 or 2 with at most 2 pixels of padding a side."""
    size, stride, padding = pair((layer.fy, layer.fx)), pair(layer.stride), max(layer.padding)
    what = f"its filter is {size} at stride {stride} with {padding} pixels of padding"
    return Verdict(has_filter(layer), f"{what}, which NE16 does not have for convolutions in groups")


NE16: dict[Op, tuple[Constraint, ...]] = {
    Op.CONV2D: (uint8_input, accumulator_fits, ne16_columns),
    Op.DEPTHWISE_CONV2D: (
        uint8_input,
        accumulator_fits,
        ne16_depthwise_filter,
        ne16_stride,
        no_dilation,
        ne16_padding,
    ),
    Op.GROUPED_CONV2D: (uint8_input, accumulator_fits, ne16_grouped_filter),
    Op.DENSE: (uint8_input, accumulator_fits),
}

NE16_CHAINS: tuple[tuple[Op, ...], ...] = (
    (Op.DEPTHWISE_CONV2D, Op.CONV2D),
    (Op.CONV2D, Op.DEPTHWISE_CONV2D),
    (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.CONV2D),
    (Op.CONV2D, Op.CONV2D),
)
"""Convolutions that NE16 executes tile by tile, one after the other."""
