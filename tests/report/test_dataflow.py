"""What operators read: shapes agree along arrows, and conversions of layouts stand where they convert."""

from __future__ import annotations

import math

import pytest

import match
from match.compiled import dataflow
from match.devtools import zoo
from match.report.reads import Reads
from match.report.schema import Report
from tests.cli.conftest import DIGITS

pytestmark = pytest.mark.cc


def elements(shapes: tuple[tuple[int, ...], ...]) -> list[int]:
    return [math.prod(shape) for shape in shapes]


def check(report: Report) -> None:
    """Each layer reads as many values as it says, from layers before it; each layer is read, or makes an output."""
    layers = report.layers
    made = {place: elements(layer.output_shapes) or [layer.outputs] for place, layer in enumerate(layers)}
    read = {place for layer in layers for place in layer.reads}
    inputs = [math.prod(tensor.shape) for tensor in report.model.inputs]
    for place, layer in enumerate(layers):
        assert all(source < place for source in layer.reads)
        assert place in read or layer.network_outputs
        if layer.op == "layout":
            assert len(layer.reads) + len(layer.network_inputs) <= 1
            continue
        sources = [one for one in layer.reads if layers[one].op != "layout"]
        given = [made[one] for one in sources] + [[inputs[one]] for one in layer.network_inputs]
        wanted = elements(layer.input_shapes)
        assert all(set(one) & set(wanted) for one in given), layer.name
        if len(sources) == len(layer.reads):
            assert all(any(one in own for own in given) for one in wanted), layer.name
    assert {one for layer in layers for one in layer.network_inputs} == set(range(len(inputs)))
    outputs = [one for layer in layers for one in layer.network_outputs]
    assert sorted(outputs) == list(range(len(report.model.outputs)))


@pytest.mark.parametrize("target", ["gap8", "diana"])
@pytest.mark.parametrize("fuse", [True, False])
def test_digits(target: str, fuse: bool) -> None:
    check(match.compile(DIGITS, target, fuse=fuse).report)


@pytest.mark.parametrize("name", ["ssd-0.1-64", "gru_keywords-0.1-20"])
def test_several_outputs_and_recurrent_layers(name: str) -> None:
    check(match.compile(zoo.build(name), "gap9").report)


A, B = Reads((0,)), Reads((0, 1))


@pytest.mark.parametrize(
    ("ops", "found", "wanted"),
    [
        # layout, then its reader of one tensor
        (("a", "layout", "b"), [Reads(), Reads(), Reads((0,), (), (0,))], [Reads(), A, Reads((1,), (), (0,))]),
        # two of them, one behind the other, of a network's input
        (("layout", "layout", "a"), [Reads(), Reads(), Reads((), (0,))], [Reads((), (0,)), A, Reads((1,))]),
        # a reader of two tensors
        (("a", "b", "layout", "c"), [Reads(), A, Reads(), B], [Reads(), A, Reads(), Reads((0, 1, 2))]),
        # of the network's output
        (("a", "layout"), [Reads((), (0,), (0,)), Reads()], [Reads((), (0,)), Reads((0,), (), (0,))]),
    ],
)
def test_conversions(ops: tuple[str, ...], found: list[Reads], wanted: list[Reads]) -> None:
    for begin, end in dataflow._conversions(ops):
        dataflow._insert(found, begin, end)
    assert found == wanted
