"""Weights of nine bits as sums of weights of eight, which modules multiply.

uint8 weights with a zero point other than 128 need nine bits. Input channels that have such weights are read twice, and
each of these weights is the sum of two, one for either time.
"""

from __future__ import annotations

import numpy as np

from match.graph.make import concatenated, taken
from match.graph.sums import KernelLayout, Weights
from match.graph.value import Value
from match.ir.dtypes import value_range


def in_bytes(
    x: Value, weights: Weights, layout: KernelLayout = "HWIO", groups: int = 1
) -> tuple[Value, Weights, KernelLayout]:
    """What a convolution of x (N, H, W, C) reads in the place of x and of its weights, and their layout.

    Both are the same for weights of 8 bits, and for 255, which no two weights of 8 bits add up to.
    """
    if weights.dtype == np.int8:
        return x, weights, layout
    channels = 1 if layout == "HWOI" else weights.shape[2]
    by_output = weights.reshape(*weights.shape[:2], channels, -1)
    first = by_output.clip(*value_range("int8"))
    rest = by_output - first
    if rest.max() > value_range("int8")[1]:
        return x, weights, layout
    twice = np.flatnonzero(rest.any(axis=(0, 1, 3)))
    places = np.concatenate([np.arange(channels), twice])
    parts = np.concatenate([first, rest[:, :, twice]], axis=2).astype(np.int8)
    axis = len(x.shape) - 1
    if groups == 1:
        return concatenated([x, taken(x, axis, twice)], axis), parts, "HWIO"
    of_groups = (np.arange(groups)[:, None] * channels + places).reshape(-1)
    return taken(x, axis, of_groups), parts, "HWIO"
