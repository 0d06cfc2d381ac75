"""Each operator of the graph, written as Relay, is read as that operator again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from match.devtools.check.probes import Probe, int16_probes, network, probes
from match.graph.text import parse, text
from match.graph.value import Graph
from match.relay.graph_reader import read_graph
from match.relay.graph_writer import write_graph
from match.relay.objects import main_function

pytestmark = pytest.mark.tvm


def read_again(graph: Graph) -> Graph:
    return read_graph(write_graph(graph).main).graph


@pytest.mark.parametrize("layers", [[*probes("uint8")], [*probes("int8")], [*int16_probes()]], ids=["u8", "i8", "i16"])
def test_operators_of_modules(layers: Sequence[Probe]) -> None:
    reading = read_graph(main_function(network(layers)))
    assert text(read_again(reading.graph)) == text(reading.graph)


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


def test_integers_of_the_control_core() -> None:
    written = text(read_again(parse(INTEGERS)))
    moved = "v11: int8[1, 7, 6] = move(v10, split=(1, 4, 6), columns=(None, int32([-1, 0, 1, 2, 3, -1, -1]), None)"
    assert moved in written  # elements in another order are taken first
    assert [line.split(" = ")[1] for line in INTEGERS.splitlines()[1:10]] == [
        line.split(" = ")[1] for line in written.splitlines()[1:10]
    ]


SLICED = """\
v0: int8[1, 4, 6] = input('x')
v1: int8[1, 3, 2] = move(v0, split=(1, 4, 6), columns=(None, int32([1, 2, 3]), int32([0, 4])), axes=(0, 1, 2), \
shape=(1, 3, 2))
return v1
"""


def test_a_slice_of_several_axes_is_one_operator() -> None:
    assert text(read_again(parse(SLICED))) == SLICED


PADDED = """\
v0: int8[1, 4, 6] = input('x')
v1: int8[1, 5, 6] = move(v0, split=(1, 4, 6), columns=(None, int32([-1, 0, 1, 2, 3]), None), axes=(0, 1, 2), \
shape=(1, 5, 6), fill=5)
return v1
"""


def test_a_number_in_front_is_no_slice() -> None:
    assert text(read_again(parse(PADDED))) == PADDED


AVERAGE = """\
v0: uint8[1, 4, 6, 3] = input('x')
v1: uint8[1, 2, 3, 3] = float_average(v0, scale=float32(0.5), zero=3, function=FloatQuantization(scale=float32(0.25), \
zero_point=7, dtype='uint8', half_to_even=True, zero_first=True), window=(2, 2), strides=(2, 2), \
padding=Padding(0, 0, 0, 0), hanging=False){}
return v1
"""


@pytest.mark.parametrize("known", ["", ".of(exact=False)"])
def test_an_average_in_floating_point_is_as_exact_as_it_was(known: str) -> None:
    source = AVERAGE.format(known)
    assert text(read_again(parse(source))) == source
