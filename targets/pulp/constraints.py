"""What a PULP cluster cannot do. The first line of each docstring is a row of the table of supported operators."""

from __future__ import annotations

from match.constraints import no_dilation, uint8_input
from match.hardware import Constraint, Verdict
from match.layer import Layer, Op

MAX_PRODUCTS = (2**31 - 1) // (255 * 128)


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


CLUSTER: dict[Op, tuple[Constraint, ...]] = {
    Op.CONV2D: (uint8_input, accumulator_fits, window_sees_input),
    Op.DEPTHWISE_CONV2D: (uint8_input, accumulator_fits, window_sees_input),
    Op.DENSE: (uint8_input, accumulator_fits),
    Op.ADD: (uint8_input,),
    Op.AVG_POOL2D: (uint8_input,),
    Op.MAX_POOL2D: (uint8_input, no_dilation, window_sees_input),
    Op.LOOKUP: (),
}
