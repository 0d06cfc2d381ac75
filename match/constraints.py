"""Conditions that modules of several chips have. The first line of each docstring is a row of `match ops`."""

from __future__ import annotations

from match.hardware import Verdict
from match.layer import Layer


def window_sees_input(layer: Layer) -> Verdict:
    """Every window, and so every tile, has a row and a column of the input in it, and not padding alone."""
    rows, columns = layer.window
    top, left, _, _ = layer.padding
    last_row = (layer.oy - 1) * layer.stride[0] - top
    last_column = (layer.ox - 1) * layer.stride[1] - left
    sees = top < rows and left < columns and last_row < layer.iy and last_column < layer.ix
    return Verdict(sees, "some of its windows lie in the padding alone")
