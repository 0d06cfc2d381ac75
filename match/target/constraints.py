"""Constraints of kernels on many chips. A docstring's first sentence is a row of the table of supported operators."""

from __future__ import annotations

from match.ir.attributes import Broadcast
from match.ir.layer import Layer
from match.target.hardware import Verdict


def uint8_input(layer: Layer) -> Verdict:
    """An input of 8 bits is uint8; the compiler shifts int8 networks to it where every operator allows."""
    return Verdict(layer.input_dtype != "int8", "its input is int8 and the kernels read uint8")


def int8_input(layer: Layer) -> Verdict:
    """An input of 8 bits is int8; networks of uint8 are not shifted to it."""
    return Verdict(layer.input_dtype != "uint8", "its input is uint8 and the kernels read int8")


def no_dilation(layer: Layer) -> Verdict:
    """Filters and windows have no holes: dilation is 1."""
    return Verdict(layer.dilation == (1, 1), f"its dilation is {pair(layer.dilation)}, not 1x1")


def whole_addend(layer: Layer) -> Verdict:
    """Both inputs have the output's shape."""
    reason = "one of its inputs has a single pixel or channel and the kernel reads maps of one shape"
    return Verdict(not layer.get(Broadcast).kind, reason)


def pair(values: tuple[int, int]) -> str:
    """Rows x columns."""
    return f"{values[0]}x{values[1]}"
