"""What GAP9's modules cannot do. The first line of each docstring is a row of the table of supported operators."""

from __future__ import annotations

from match.hardware import Constraint, Verdict
from match.layer import Layer, Op

MAX_PRODUCTS = (2**31 - 1) // (255 * 128)
NE16_MAX_PADDING = 2


def uint8_input(layer: Layer) -> Verdict:
    """The input is uint8; the compiler shifts int8 networks to it where every operator allows."""
    return Verdict(layer.input_dtype == "uint8", f"its input is {layer.input_dtype} and the kernels read uint8")


def accumulator_fits(layer: Layer) -> Verdict:
    """An output is the sum of at most 65,793 products (C * FY * FX), so that it fits 32 bits whatever they are."""
    products = layer.c * layer.fy * layer.fx
    return Verdict(
        products <= MAX_PRODUCTS,
        f"an output is the sum of {products} products, which may overflow 32 bits; {MAX_PRODUCTS} are safe",
    )


def window_sees_input(layer: Layer) -> Verdict:
    """Every window, and so every tile, has a row and a column of the input in it, and not padding alone."""
    rows, columns = layer.window
    top, left, _, _ = layer.padding
    last_row = (layer.oy - 1) * layer.stride[0] - top
    last_column = (layer.ox - 1) * layer.stride[1] - left
    sees = top < rows and left < columns and last_row < layer.iy and last_column < layer.ix
    return Verdict(sees, "some of its windows lie in the padding alone")


def no_dilation(layer: Layer) -> Verdict:
    """Filters and windows have no holes: dilation is 1."""
    return Verdict(layer.dilation == (1, 1), f"its dilation is {_pair(layer.dilation)}, not 1x1")


def ne16_filter(layer: Layer) -> Verdict:
    """The filter is 3x3 or 1x1."""
    size = (layer.fy, layer.fx)
    return Verdict(size in ((3, 3), (1, 1)), f"its filter is {_pair(size)} and NE16 has 3x3 and 1x1")


def ne16_depthwise_filter(layer: Layer) -> Verdict:
    """The filter is 3x3."""
    size = (layer.fy, layer.fx)
    return Verdict(size == (3, 3), f"its filter is {_pair(size)} and NE16 has depthwise 3x3 alone")


def ne16_stride(layer: Layer) -> Verdict:
    """Rows and columns have the same stride, 1 or 2."""
    return Verdict(layer.stride in ((1, 1), (2, 2)), f"its stride is {_pair(layer.stride)} and NE16 has 1x1 and 2x2")


def ne16_padding(layer: Layer) -> Verdict:
    """A 3x3 filter is padded with at most 2 pixels a side (what a filter can reach), a 1x1 filter not at all."""
    most = NE16_MAX_PADDING if layer.window != (1, 1) else 0
    return Verdict(
        max(layer.padding) <= most, f"it is padded with {max(layer.padding)} pixels on a side, not {most} or fewer"
    )


CLUSTER: dict[Op, tuple[Constraint, ...]] = {
    Op.CONV2D: (uint8_input, accumulator_fits, window_sees_input),
    Op.DEPTHWISE_CONV2D: (uint8_input, accumulator_fits, window_sees_input),
    Op.DENSE: (uint8_input, accumulator_fits),
    Op.ADD: (uint8_input,),
    Op.AVG_POOL2D: (uint8_input,),
    Op.MAX_POOL2D: (uint8_input, no_dilation, window_sees_input),
    Op.LOOKUP: (),
}

NE16: dict[Op, tuple[Constraint, ...]] = {
    Op.CONV2D: (uint8_input, accumulator_fits, ne16_filter, ne16_stride, no_dilation, ne16_padding, window_sees_input),
    Op.DEPTHWISE_CONV2D: (
        uint8_input,
        accumulator_fits,
        ne16_depthwise_filter,
        ne16_stride,
        no_dilation,
        ne16_padding,
        window_sees_input,
    ),
    Op.DENSE: (uint8_input, accumulator_fits),
}


def _pair(values: tuple[int, int]) -> str:
    return f"{values[0]}x{values[1]}"
