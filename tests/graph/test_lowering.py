"""Operators of the graph, written as Relay, compute what they are in NumPy; those of modules: test_operators.py."""

from __future__ import annotations

import numpy as np
import pytest

from match.graph.evaluate import evaluate
from match.graph.text import parse
from tests.passes.running import Compiled, random_values

pytestmark = pytest.mark.tvm


INTEGERS = """\
v0: int8[1, 4, 6] = input('x')
v1: int16[1, 4, 6] = elementwise(v0, function='cast', dtype='int16')
v2: int16[()] = constant(array=int16(3))
v3: int16[1, 4, 6] = elementwise(v1, v2, function='left_shift', dtype='int16')
v4: int16[1, 4, 6] = clip(v3, limits=(-100, 900), dtype='int16')
v5: int8[1, 1, 6] = extreme(v0, axes=(1,), keepdims=True, largest=False)
v6: int32[1, 4, 6] = difference(v0, v5, dtype='int32')
v7: int8[1, 4, 6] = saturate(v6, more=-7, clip=(-90, 80), dtype='int8')
v8: int16[1, 4, 6] = entries(v6, table=int16([3, -7, 500, 0])).of(exact=False)
v9: int32[1, 4] = place(v0, axis=2, keepdims=False, largest=False, last=True, dtype='int32')
v10: int8[1, 7, 6] = move(v0, split=(1, 4, 6), columns=(None, int32([-1, 1, 2, 3, 0, -1, -1]), None), axes=(0, 1, 2), \
shape=(1, 7, 6), fill=5)
return v4, v7, v8, v9, v10
"""


SLICED = """\
v0: int8[1, 4, 6] = input('x')
v1: int8[1, 3, 2] = move(v0, split=(1, 4, 6), columns=(None, int32([1, 2, 3]), int32([0, 4])), axes=(0, 1, 2), \
shape=(1, 3, 2))
return v1
"""


PADDED = """\
v0: int8[1, 4, 6] = input('x')
v1: int8[1, 5, 6] = move(v0, split=(1, 4, 6), columns=(None, int32([-1, 0, 1, 2, 3]), None), axes=(0, 1, 2), \
shape=(1, 5, 6), fill=5)
return v1
"""


AVERAGE = """\
v0: uint8[1, 4, 6, 3] = input('x')
v1: uint8[1, 2, 3, 3] = float_average(v0, scale=float32(0.5), zero=3, function=FloatQuantization(scale=float32(0.25), \
zero_point=7, dtype='uint8', half_to_even=True, zero_first=True), window=(2, 2), strides=(2, 2), \
padding=Padding(0, 0, 0, 0))
return v1
"""

AVERAGE_OF_SIX = """\
v0: uint8[1, 7, 4, 3] = input('x')
v1: uint8[1, 4, 4, 3] = float_average(v0, scale=float32(0.0371), zero=130, function=\
FloatQuantization(scale=float32(0.0371), zero_point=131, dtype='uint8', half_to_even=True, zero_first=True), \
window=(3, 2), strides=(2, 1), padding=Padding(0, 0, 2, 1))
return v1
"""


@pytest.mark.parametrize("source", [INTEGERS, SLICED, PADDED, AVERAGE, AVERAGE_OF_SIX])
def test_what_tvm_computes(source: str) -> None:
    graph = parse(source)
    run, rng = Compiled(graph), np.random.default_rng(7)
    for _ in range(5):
        x = random_values(rng, graph.inputs[0].shape, graph.inputs[0].dtype)
        for expected, found in zip(evaluate(graph, [x]), run({"x": x}), strict=True):
            np.testing.assert_array_equal(found, expected)
