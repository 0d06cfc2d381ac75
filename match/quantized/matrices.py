"""Products of two activations."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import Accumulator, Arithmetic, QuantizedType, product_range
from match.graph.pairs import Matrices
from match.graph.value import Value, computed


def products(
    a: Value,
    b: Value,
    types: tuple[QuantizedType, QuantizedType],
    output: QuantizedType,
    clip: tuple[int, int],
    arithmetic: Arithmetic,
    *,
    exact: bool = True,
) -> Value:
    """The rows of a (batch, rows, C) times those of b (batch, columns, C), in the quantization of the output.

    Raises:
        NoLineError: integers do not express the requantization (`match.arithmetic.line_fit`).
    """
    first, second = types
    low, high = (a.shape[2] * end for end in product_range(first, second))
    accumulator = Accumulator(np.zeros(1, np.int64), low, high, first.scale, second.scale.reshape(1))
    matrices = Matrices(
        zero_points=(first.zero_point, second.zero_point),
        requantization=arithmetic.linear(accumulator, output, clip),
        dtype=output.dtype,
    )
    return computed(matrices, a, b, exact=exact)
