"""The geometry of windows that slide over maps, as TFLite pads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tflite


@dataclass(frozen=True)
class WindowAxis:
    """One axis: elements of the window, step, distance of the window's elements, padding before and after the map."""

    window: int
    stride: int
    dilation: int
    before: int
    behind: int


def axes_of(
    shape: Sequence[int], size: Sequence[int], strides: Sequence[int], dilations: Sequence[int], padding: int
) -> list[WindowAxis]:
    """Rows and columns of windows on a map (N, H, W, C); of a total that is odd the larger half is after.

    Raises:
        ValueError: a window is empty, or does not move.
    """
    if min(*size, *strides, *dilations) < 1:
        raise ValueError(f"windows of {tuple(size)} elements, {tuple(dilations)} apart, in steps of {tuple(strides)}")
    found: list[WindowAxis] = []
    for extent, window, stride, dilation in zip(shape[1:3], size, strides, dilations, strict=True):
        total = 0
        if padding == tflite.Padding.SAME:
            outputs = -(-extent // stride)
            total = max(0, (outputs - 1) * stride + (window - 1) * dilation + 1 - extent)
        found.append(WindowAxis(window, stride, dilation, total // 2, total - total // 2))
    return found
