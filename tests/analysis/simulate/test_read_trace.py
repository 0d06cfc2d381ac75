"""Reading the lines that traced programs print."""

from __future__ import annotations

import pytest

from match.analysis.simulate import Action, Kind
from match.analysis.trace import LayerTrace, read_trace
from match.errors import ToolchainError
from match.target.cost import Tile

pytestmark = pytest.mark.unit

FETCH = '{"event":"fetch","operand":"input","memory":"L1","transfer":%d,"offset":%d,"bytes":8}'
WAIT = '{"event":"wait","transfer":%d}'
KERNEL = (
    '{"event":"kernel","channels_in":6,"channels_out":6,"groups":0,"input_height":5,"input_width":4,'
    '"output_height":3,"output_width":2,"filter_height":0,"filter_width":0,"begin":true,"end":%s}'
)


def layer(op: str, name: str = "layer") -> str:
    return f'{{"event":"layer","name":"{name}","op":"{op}"}}'


def test_waits_are_for_the_transfer_on_their_descriptor() -> None:
    lines = [layer("conv2d"), FETCH % (7, 0), FETCH % (9, 8), WAIT % 9, FETCH % (9, 16), WAIT % 9, WAIT % 7]
    (trace,) = read_trace(lines)
    waits = [(action.number, action.offset) for action in trace.actions if action.kind is Kind.WAIT]
    assert waits == [(1, 8), (2, 16), (0, 0)]


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize(
    ("op", "c"), [("add", 1), ("max_pool2d", 1), ("multiply", 1), ("dense", 6), ("conv2d", 6), ("matrices", 6)]
)
def test_extents_of_a_call(op: str, c: int, end: bool) -> None:
    (trace,) = read_trace([layer(op), KERNEL % str(end).lower()])
    assert trace == LayerTrace("layer", (Action(Kind.KERNEL, tile=Tile(6, c, 3, 2, 5, 4, 1, 1, True, end)),))


def test_groups_of_a_call() -> None:
    (trace,) = read_trace([layer("grouped_conv2d"), KERNEL.replace('"groups":0', '"groups":4') % "true"])
    assert trace.actions[0].tile == Tile(4, 6, 3, 2, 5, 4, 1, 1, True, True)


def test_layers_count_for_themselves() -> None:
    ran = [FETCH % (7, 0), KERNEL % "true"]
    first, second = read_trace([layer("add", "a"), *ran, layer("add", "b"), *ran])
    assert (first.symbol, second.symbol) == ("a", "b")
    assert first.actions == second.actions


def test_nothing() -> None:
    assert list(read_trace([])) == []


@pytest.mark.parametrize("line", ["hello", "{}", '{"event":"fetch"}', layer("attention")])
def test_lines_that_are_no_trace(line: str) -> None:
    with pytest.raises(ToolchainError, match="is no event of a trace"):
        list(read_trace([layer("add"), line]))


def test_a_wait_for_nothing() -> None:
    with pytest.raises(ToolchainError, match="waits for a transfer that it has not started"):
        list(read_trace([layer("add"), WAIT % 7]))
