"""Products of two activations."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import Accumulator, QuantizedType, SumArithmetic, product_range
from match.graph.pairs import Matrices


def matrices_of(
    depth: int,
    types: tuple[QuantizedType, QuantizedType],
    output: QuantizedType,
    clip: tuple[int, int],
    arithmetic: SumArithmetic,
) -> Matrices:
    """Rows of so many elements times rows of as many, both activations, in the quantization of the output.

    Raises:
        NoLineError: integers do not express the requantization (`match.arithmetic.line_fit`).
    """
    first, second = types
    low, high = (depth * end for end in product_range(first, second))
    accumulator = Accumulator(np.zeros(1, np.int64), low, high, first.scale, second.scale.reshape(1))
    return Matrices(
        zero_points=(first.zero_point, second.zero_point),
        requantization=arithmetic.linear(accumulator, output, clip),
        dtype=output.dtype,
    )
