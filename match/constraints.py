"""Constraints of kernels on many chips. A docstring's first sentence is a row of the table of supported operators."""

from __future__ import annotations

from match.hardware import Verdict
from match.layer import Layer


def uint8_input(layer: Layer) -> Verdict:
    """The input is uint8; the compiler shifts int8 networks to it where every operator allows."""
    return Verdict(layer.input_dtype == "uint8", f"its input is {layer.input_dtype} and the kernels read uint8")


def no_dilation(layer: Layer) -> Verdict:
    """Filters and windows have no holes: dilation is 1."""
    return Verdict(layer.dilation == (1, 1), f"its dilation is {pair(layer.dilation)}, not 1x1")


def pair(values: tuple[int, int]) -> str:
    """Rows x columns."""
    return f"{values[0]}x{values[1]}"


def window_sees_input(layer: Layer) -> Verdict:
    """Every window, and so every tile, has a row and a column of the input in it, and not padding alone."""
    rows, columns = layer.window
    top, left, _, _ = layer.padding
    last_row = (layer.oy - 1) * layer.stride[0] - top
    last_column = (layer.ox - 1) * layer.stride[1] - left
    sees = top < rows and left < columns and last_row < layer.iy and last_column < layer.ix
    return Verdict(sees, "some of its windows lie in the padding alone")
