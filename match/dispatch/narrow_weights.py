"""Weights in fewer than 8 bits, for modules whose time or memory they save."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.ir.constants import Filters, LayerConstants
from match.ir.layer import WIDEST_WEIGHTS, Layer
from match.target.hardware import HwModule


def with_weight_bits(module: HwModule, layer: Layer, constants: LayerConstants) -> Layer:
    """The operator with the fewest bits that all its weights fit in, if the module's kernel for it takes so few.

    Raises:
        ValueError: if the module gives no number of bits that weights have.
    """
    fewest = module.fewest_weight_bits(layer)
    if fewest not in range(1, WIDEST_WEIGHTS + 1):
        raise ValueError(f"fewest_weight_bits returned {fewest!r}, and weights have 1 to {WIDEST_WEIGHTS} bits")
    weights = constants.get(Filters)
    if fewest == WIDEST_WEIGHTS or weights is None or layer.weight_dtype != "int8":
        return layer
    return replace(layer, weight_bits=max(fewest, _bits(weights.values)))


def _bits(weights: npt.NDArray[np.integer]) -> int:
    """Bits of the signed numbers that all weights are: -2^(bits - 1) to 2^(bits - 1) - 1."""
    largest = max(int(weights.max()), -int(weights.min()) - 1)
    return largest.bit_length() + 1
