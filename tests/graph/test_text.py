"""Graphs written as text and read again: the same tensors, operators and numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from match.devtools.check.probes import Probe, graph_of, int16_probes, probes
from match.graph.evaluate import evaluate
from match.graph.text import arrays, parse, text
from match.rewrites.tables import with_tables
from tests.graph.test_operators import random

pytestmark = pytest.mark.tvm

WEIGHTS = np.arange(-12, 12, dtype=np.int8).reshape(1, 1, 3, 8)

NETWORK = """\
v0: int8[1, 2, 2, 3] = input('x')
v1: int8[1, 2, 2, 8] = convolution(v0, requantization=Requantization(multiplier=int64(3, (8,)), \
bias=int64([1, 2, 3, 4, 5, 6, 7, 8]), shift=int64(4, (8,)), clip=(-128, 127)), dtype='int8', \
weights=int8((1, 1, 3, 8), "DIGEST"), strides=(1, 1), padding=Padding(0, 0, 0, 0), dilation=(1, 1), groups=1, \
pad_value=0, kernel_layout='HWIO').of('conv', exact=False)
v2: int8[1, 4, 8] = move(v1, split=(1, 2, 2, 8), columns=(None, None, None, None), axes=(0, 1, 2, 3), shape=(1, 4, 8))
v3: int8[()] = constant(array=int8(-7))
v4: int8[1, 4, 8] = elementwise(v2, v3, function='maximum', dtype='int8').of('last', parts=2)
return v4, v2
"""


@pytest.mark.parametrize("layers", [[*probes("uint8")], [*probes("int8")], [*int16_probes()]], ids=["u8", "i8", "i16"])
def test_operators_of_modules(layers: Sequence[Probe]) -> None:
    graph = graph_of(layers)
    written = text(graph)
    again = parse(written, arrays(graph))
    assert text(again) == written
    rng = np.random.default_rng(0)
    inputs = [random(rng, x.shape, x.dtype) for x in graph.inputs]
    for expected, found in zip(evaluate(graph, inputs), evaluate(again, inputs), strict=True):
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


def test_a_text_says_all_but_the_elements_of_large_arrays() -> None:
    graph = parse(NETWORK.replace("DIGEST", "weights"), {"weights": WEIGHTS})
    (digest,) = arrays(graph)
    assert text(graph) == NETWORK.replace("DIGEST", digest)
    last, flat = graph.outputs
    assert (last.source, last.parts, last.exact, flat.source) == ("last", 2, True, "")
    assert not flat.inputs[0].exact
    x = np.random.default_rng(1).integers(-128, 128, (1, 2, 2, 3)).astype(np.int8)
    sums = x.reshape(4, 3).astype(np.int64) @ WEIGHTS.reshape(3, 8)
    values = np.clip((sums * 3 + np.arange(1, 9)) >> 4, -128, 127).reshape(1, 4, 8)
    for found, expected in zip(evaluate(graph, [x]), (np.maximum(values, -7), values), strict=True):
        assert np.array_equal(found, expected)


def test_inputs_keep_their_order() -> None:
    """Whichever of them is read first, or by nothing."""
    written = "v0: int8[4] = input('x')\nv1: int8[4] = input('y')\nv2: int8[4] = input('z')\n"
    written += "v3: int8[4] = elementwise(v2, v0, function='minimum', dtype='int8')\nreturn v3\n"
    again = parse(text(parse(written)))
    assert text(again) == written
    assert [x.source for x in again.inputs] == ["x", "y", "z"]


def test_a_rewrite_is_a_few_lines_before_and_after() -> None:
    before = """\
v0: int8[1, 4] = input('x')
v1: int32[1, 4] = elementwise(v0, function='cast', dtype='int32')
v2: int32[1, 4] = elementwise(v1, v1, function='multiply', dtype='int32')
v3: int8[1, 4] = saturate(v2, more=-100, clip=(-128, 127), dtype='int8').of('square', exact=False)
return v3
"""
    after = with_tables(parse(before))
    squares = np.clip(np.arange(-128, 128) ** 2 - 100, -128, 127)
    (table,) = arrays(after).values()
    assert np.array_equal(table, squares)
    assert text(after) == (
        "v0: int8[1, 4] = input('x')\n"
        f"v1: int8[1, 4] = lookup(v0, outputs=int64((256,), \"{next(iter(arrays(after)))}\"), dtype='int8')"
        ".of('square', exact=False)\n"
        "return v1\n"
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("v1: int8[1, 4] = shuffle(v0)", "'shuffle' is no operator of a graph"),
        ("v1: int8[1, 4] = extreme(v2, axes=(1,), keepdims=True, largest=True)", "'v2' is no tensor of a line before"),
        (
            "v1: int8[1, 4] = extreme(v0, axes=(1,), keepdims=True, largest=True)",
            r"is of type int8\[1, 1\], not int8\[1, 4\]",
        ),
        ("v1: int8 = extreme(v0, axes=(1,), keepdims=True, largest=True)", "'int8' is no type of a tensor"),
        ("v1 += v0", r"'v1 \+= v0' is no line of a graph"),
        ("v1 = v0", "'v1' is no tensor of a line before"),
        (
            "v1: int8[1, 4] = input('y')\nv0 = v1",
            "a line for each state, and for nothing else, says what it holds afterwards",
        ),
        ("v1: int8[1, 4] = v0", "'v0' is no operator of a graph"),
    ],
)
def test_what_is_no_graph(line: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse(f"v0: int8[1, 4] = input('x')\n{line}\nreturn v1\n")
