"""Operators in fixed point on machines that store 8 bits unsigned: the same numbers, larger by as much."""

from __future__ import annotations

import numpy as np
import pytest

from match.arithmetic.tflite_functions import exponentials, scaled_distances
from match.graph.fixed_point import BiasedMatrices, LogarithmOfSoftmax, Prelu, Rescale, UnitLength
from match.graph.operator import Operator, Stored

pytestmark = pytest.mark.unit

SCALE = np.array([1 << 30, -2])
WHOLE = (-128, 127)

OPERATORS: dict[str, Operator] = {
    "rescale": Rescale(zero_point=9, scale=SCALE, zero=-7, clip=(-100, 90), dtype="int8"),
    "prelu": Prelu(zero_points=(9, -3), above=SCALE, below=SCALE, zero=-7, clip=WHOLE, dtype="int8"),
    "matrices": BiasedMatrices(zero_points=(9, -3), scale=np.array([1 << 30, -9]), zero=-7, clip=WHOLE, dtype="int8"),
    "unit length": UnitLength(zero_point=9, zero=0, clip=WHOLE, dtype="int8"),
    "logarithm": LogarithmOfSoftmax(
        exponentials=exponentials(np.float32(0.1), np.float32(1)) >> 12,
        distances=scaled_distances(np.float32(0.1), np.float32(1))[0],
        least=-256,
        divisor=SCALE,
        dtype="int8",
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_are_larger(name: str) -> None:
    operator, count = OPERATORS[name], 2 if name in ("prelu", "matrices") else 1
    bytes_ = np.random.default_rng(0).integers(-128, 128, (count, 6, 6)).astype(np.int8)
    larger = [(x.astype(np.int16) + 128).astype(np.uint8) for x in bytes_]
    bias, stored = [np.arange(6, dtype=np.int32)], [Stored("int8", "uint8", 128)] * count
    more = (bias, [Stored("int32", "int32")]) if name == "matrices" else ([], [])
    unsigned = operator.unsigned([*stored, *more[1]], 128)
    assert unsigned is not None
    outputs, expected = unsigned.compute(*larger, *more[0]), operator.compute(*bytes_, *more[0])
    assert outputs.dtype == np.uint8
    assert len(np.unique(expected)) > 3
    assert np.array_equal(outputs, expected.astype(np.int64) + 128)
    as_before = operator.unsigned([*stored, *more[1]], None)
    assert as_before is not None
    assert np.array_equal(as_before.compute(*larger, *more[0]), expected)
