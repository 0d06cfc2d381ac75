"""What one inference does, step by step."""

from __future__ import annotations

import pytest

from match.partitioning.pattern import Core
from match.partitioning.pattern.rows import is_computed
from match.partitioning.steps import Step, network_steps
from match.relay import relay, tvm
from tests.layers_of import graph_of

pytestmark = pytest.mark.tvm


def steps_of(x: relay.Var, body: relay.Expr, *rows: list[int], layers: tuple[int, ...] = ()) -> list[Step]:
    """The steps of a network of one input; rows are numbers of its operators, each after what it reads."""
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    graph = graph_of(module)
    values = [value for value in graph.values if is_computed(value)]
    listed = [Core(tuple(values[number] for number in row), values[row[-1]]) for row in rows]
    return list(network_steps(graph, [], listed, layers).steps)


def test_a_row_that_another_one_divides_is_computed_in_two_steps() -> None:
    """It is read by what it reads."""
    x = relay.var("x", shape=(1, 8), dtype="float32")
    first = relay.negative(x)
    found = steps_of(x, relay.add(first, relay.sort(first)), [0, 2], [1])
    assert [step.rows for step in found] == [(0,), (1,), (0,)]
    assert found[2].reads == (found[0].writes[0], found[1].writes[0])


def test_a_row_is_one_step_before_what_reads_a_part_of_it() -> None:
    x = relay.var("x", shape=(1, 8), dtype="float32")
    part = relay.nn.softmax(x)
    found = steps_of(x, relay.Tuple([relay.nn.softmax(part), relay.nn.log_softmax(part)]), [0, 2], [1])
    assert [(step.rows, len(step.writes)) for step in found] == [((0,), 2), ((1,), 1)]


def test_a_reshape_is_the_tensor_that_it_reads() -> None:
    x = relay.var("x", shape=(2, 4), dtype="int8")
    (step,) = steps_of(x, relay.reshape(x, (8,)), [0])
    assert step.alias


@pytest.mark.parametrize(("layers", "expected"), [((), [(0, 1)]), ((0,), [(1, 0)]), ((0, 1), [(0,), (1,)])])
def test_sums_go_on_with_what_scales_them_but_not_with_another_layer(
    layers: tuple[int, ...], expected: list[tuple[int, ...]]
) -> None:
    """Rows of one step are in order, a layer last: it gives the step its name."""
    x, w = relay.var("x", shape=(1, 8), dtype="int32"), relay.const([[1] * 8] * 4, "int32")
    scaled = relay.right_shift(relay.nn.dense(x, w), relay.const(3))
    assert [step.rows for step in steps_of(x, scaled, [0], [1], layers=layers)] == expected


def test_what_a_concatenation_joins_is_in_steps_of_its_own() -> None:
    """TVM would compute both whole, in memory of their own, before it joins them."""
    x = relay.var("x", shape=(1, 8), dtype="int32")
    joined = relay.concatenate([relay.negative(x), relay.abs(x)], 1)
    assert [step.rows for step in steps_of(x, joined, [0], [1], [2])] == [(0,), (1,), (2,)]


@pytest.mark.parametrize("rows", [([0], [1], [2], [3], [4]), ([4], [3], [2], [1], [0])])
def test_the_order_of_rows_is_not_that_of_steps(rows: tuple[list[int], ...]) -> None:
    """What one step joins is read in the order of its operands."""
    x = relay.var("x", shape=(1, 8), dtype="int32")
    body = relay.multiply(relay.negative(relay.cumsum(x, 1)), relay.abs(relay.sort(x)))
    found = steps_of(x, body, *rows)
    first, second = (rows.index([number]) for number in (0, 2))
    assert [step.rows for step in found] == [(first,), (second,), tuple(sorted({*range(5)} - {first, second}))]
    assert found[2].reads == (found[0].writes[0], found[1].writes[0])
