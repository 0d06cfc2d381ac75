"""What a PULP cluster cannot do. The first line of each docstring is a row of the table of supported operators."""

from __future__ import annotations

from match.ir.layer import Layer
from match.target.hardware import Verdict

MAX_PRODUCTS = (2**31 - 1) // (255 * 128)


def accumulator_fits(layer: Layer) -> Verdict:
    """An output is the sum of at most 65,793 products (C * FY * FX), so that it fits 32 bits whatever they are.

    Layers of int16 are found only where every sum fits 32 bits.
    """
    products = layer.c * layer.fy * layer.fx
    return Verdict(
        layer.input_dtype == "int16" or products <= MAX_PRODUCTS,
        f"an output is the sum of {products} products, which may overflow 32 bits; {MAX_PRODUCTS} are safe",
    )


def matrices_fit(layer: Layer) -> Verdict:
    """An output of matrices is the sum of at most 33,025 products, so that it fits 32 bits whatever they are."""
    most = (2**31 - 1) // (255 * 255)
    return Verdict(layer.c <= most, f"an output is the sum of {layer.c} products, which may overflow 32 bits")


def states_like_input(layer: Layer) -> Verdict:
    """Outputs, which the next step multiplies as it does its input, have the type of the input."""
    same = layer.output_dtype == layer.input_dtype
    return Verdict(same, f"its states are {layer.output_dtype} and its input {layer.input_dtype}")
