"""Operators on real numbers: TVM computes of their Relay what they say in NumPy, but for the last bits of sums."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from match.graph.make import constant
from match.graph.operator import Operator
from match.graph.reals import RealAverage, RealConvolution, RealMatrices, RealProduct, RealTransposed
from match.graph.reductions import RealNormalization, RealReduction, RunningSum
from match.graph.value import Graph, Value, computed
from match.graph.work import Work
from match.ir.graph import Tensor
from match.ir.layer import Op, Padding
from match.relay.execute import Executable
from match.relay.graph_writer import write_graph

pytestmark = pytest.mark.tvm

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """An operator, the shapes of its activations, those of its constants, and the name and the products of its work."""

    operator: Operator
    activations: list[Shape]
    constants: list[Shape] = field(default_factory=list[Shape])
    name: str = ""
    macs: int = 0
    op: Op | None = None


ODD = Padding(1, 0, 2, 1)
CASES = [
    Case(
        RealConvolution(strides=(2, 1), padding=ODD, dilation=(1, 2), groups=2),
        [(1, 9, 8, 4)],
        [(6, 2, 3, 2), (6,)],
        "nn.conv2d",
        5 * 7 * 6 * 12,
        Op.DEPTHWISE_CONV2D,
    ),
    Case(
        RealConvolution(strides=(1, 1), padding=Padding(), dilation=(1, 1), groups=1),
        [(2, 5, 4, 3)],
        [(7, 3, 1, 1)],
        "nn.conv2d",
        2 * 5 * 4 * 7 * 3,
        Op.CONV2D,
    ),
    Case(
        RealTransposed(strides=(2, 3), padding=ODD, spare=(1, 0), groups=1),
        [(1, 4, 3, 5)],
        [(5, 7, 3, 2), (7,)],
        "nn.conv2d_transpose",
        4 * 3 * 5 * 42,
        Op.CONV2D,
    ),
    Case(
        RealTransposed(strides=(1, 2), padding=Padding(), spare=(0, 1), groups=5),
        [(1, 4, 3, 5)],
        [(5, 2, 3, 2)],
        "nn.conv2d_transpose",
        4 * 3 * 5 * 12,
        Op.DEPTHWISE_CONV2D,
    ),
    Case(RealProduct(), [(2, 3, 4)], [(4, 5), (5,)], "nn.dense", 2 * 3 * 4 * 5, Op.DENSE),
    Case(RealProduct(), [(3, 4)], [(4, 5)], "nn.dense", 3 * 4 * 5, Op.DENSE),
    Case(RealMatrices(), [(2, 3, 4), (2, 5, 4)], [], "nn.batch_matmul", 2 * 3 * 5 * 4, Op.DENSE),
    Case(RealAverage(window=(3, 2), strides=(2, 1), padding=ODD), [(1, 7, 6, 4)], [], "nn.avg_pool2d"),
    Case(RealAverage(window=(3, 2), strides=(2, 1), padding=ODD, counts_padding=True), [(1, 7, 6, 4)]),
    Case(RealReduction(function="mean", axes=(1, 3), keepdims=True), [(2, 7, 6, 4)], [], "mean"),
    Case(RealReduction(function="sum", axes=(0,), keepdims=False), [(2, 7)], [], "sum"),
    Case(RealReduction(function="prod", axes=(1,), keepdims=False), [(2, 5, 3)], [], "prod"),
    Case(RunningSum(axis=1), [(2, 7, 3)], [], "cumsum"),
    Case(RunningSum(axis=2, exclusive=True, backwards=True), [(2, 3, 7)]),
    Case(RealNormalization(axes=(1, 2), epsilon=1e-3), [(2, 7, 6)]),
    Case(RealNormalization(axes=(2,), epsilon=1e-3, centred=False), [(2, 7, 6)]),
]


def applied(case: Case) -> tuple[Value, list[np.ndarray]]:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in (*case.activations, *case.constants)]
    count = len(case.activations)
    inputs = [Value(Tensor(array.shape, "float32"), source=f"x{at}") for at, array in enumerate(arrays[:count])]
    return computed(case.operator, *inputs, *map(constant, arrays[count:])), arrays


def run(value: Value, arrays: list[np.ndarray]) -> np.ndarray:
    inputs = tuple(x for x in value.inputs if x.operator is None)
    given = {x.source: array for x, array in zip(inputs, arrays, strict=False)}
    (result,) = Executable(write_graph(Graph(inputs, (value,))).module)(given)
    return result


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.operator.called}-{case.activations[0]}")
def test_tvm_computes_them(case: Case) -> None:
    value, arrays = applied(case)
    expected = case.operator.compute(*arrays)
    got = run(value, arrays)
    assert got.shape == value.shape == expected.shape
    assert np.allclose(got, expected, atol=1e-5)


def test_rows_of_zeros_stay_zeros_where_nothing_is_added_to_their_length() -> None:
    value, _ = applied(Case(RealNormalization(axes=(1,), epsilon=0.0, centred=False), [(2, 4)]))
    x = np.array([[0, 0, 0, 0], [2, 2, -2, 2]], np.float32)
    assert value.operator is not None
    for result in (value.operator.compute(x), run(value, [x])):
        assert np.array_equal(result, np.sign(x))


@pytest.mark.parametrize("case", [case for case in CASES if case.name], ids=lambda case: case.operator.called)
def test_what_the_control_core_does(case: Case) -> None:
    value, _ = applied(case)
    work: Work = case.operator.work(value.tensor, [x.tensor for x in value.inputs])
    assert (work.name, work.op, work.macs) == (case.name, case.op, case.macs)
    assert work.floating
