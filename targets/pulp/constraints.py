"""What a PULP cluster cannot do. The first line of each docstring is a row of the table of supported operators."""

from __future__ import annotations

from match.hardware import Constraint, Verdict
from match.layer import Layer, Op

MAX_PRODUCTS = (2**31 - 1) // (255 * 128)


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


def no_dilation(layer: Layer) -> Verdict:
    """Filters and windows have no holes: dilation is 1."""
    return Verdict(layer.dilation == (1, 1), f"its dilation is {pair(layer.dilation)}, not 1x1")


CLUSTER: dict[Op, tuple[Constraint, ...]] = {
    Op.CONV2D: (uint8_input, accumulator_fits),
    Op.DEPTHWISE_CONV2D: (uint8_input, accumulator_fits),
    Op.DENSE: (uint8_input, accumulator_fits),
    Op.ADD: (uint8_input,),
    Op.AVG_POOL2D: (uint8_input,),
    Op.MAX_POOL2D: (uint8_input, no_dilation),
    Op.LOOKUP: (),
}


def pair(values: tuple[int, int]) -> str:
    """Rows x columns."""
    return f"{values[0]}x{values[1]}"
