"""What DIANA's digital accelerator cannot do. The first line of each docstring is a row of the table of operators."""

from __future__ import annotations

from match.ir.layer import Layer, Op
from match.target.constraints import no_dilation, whole_addend
from match.target.hardware import Constraint, Verdict

MAX_PRODUCTS = (2**31 - 1) // (128 * 128)
FILTER_SIDES = (1, 3, 5, 7)
MAX_INT8 = 127
MAX_UINT8 = 255


def int8_values(layer: Layer) -> Verdict:
    """Inputs and outputs are int8, or uint8 with values of at most 127, whose bytes are the same."""
    values = {"input": (layer.input_dtype, layer.input_range), "output": (layer.output_dtype, layer.clip)}
    for name, (dtype, known) in values.items():
        largest = known[1] if known else MAX_UINT8
        if dtype != "int8" and largest > MAX_INT8:
            return Verdict(False, f"its {name} is {dtype} with values up to {largest} and the accelerator's are int8")
    return Verdict(True)


def accumulator_fits(layer: Layer) -> Verdict:
    """An output is the sum of at most 131,071 products (C * FY * FX), so that it fits 32 bits whatever they are."""
    products = layer.c * layer.fy * layer.fx
    return Verdict(
        products <= MAX_PRODUCTS,
        f"an output is the sum of {products} products, which may overflow 32 bits; {MAX_PRODUCTS} are safe",
    )


def filter_sides(layer: Layer) -> Verdict:
    """The sides of the filter are 1, 3, 5 or 7."""
    return Verdict(
        layer.fy in FILTER_SIDES and layer.fx in FILTER_SIDES,
        f"its filter is {layer.fy}x{layer.fx} and sides are 1, 3, 5 or 7",
    )


def equal_strides(layer: Layer) -> Verdict:
    """Rows and columns have the same stride, 1 or 2."""
    return Verdict(
        layer.stride in ((1, 1), (2, 2)),
        f"its stride is {layer.stride[0]}x{layer.stride[1]} and the accelerator has 1x1 and 2x2",
    )


def zero_padding(layer: Layer) -> Verdict:
    """Padding holds zeros: an input that is padded has zero point 0."""
    return Verdict(
        not any(layer.padding) or layer.pad_value == 0,
        f"its padding holds {layer.pad_value} and the accelerator pads with 0; quantize with zero point 0",
    )


_CONVOLUTION = (
    int8_values,
    accumulator_fits,
    filter_sides,
    equal_strides,
    no_dilation,
    zero_padding,
)

DIGITAL: dict[Op, tuple[Constraint, ...]] = {
    Op.CONV2D: _CONVOLUTION,
    Op.DEPTHWISE_CONV2D: _CONVOLUTION,
    Op.DENSE: (int8_values, accumulator_fits),
    Op.ADD: (int8_values, whole_addend),
}
