"""Each class of operators computes in NumPy what TVM computes of its Relay, and says the type of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from match.devtools.check.builds import SAME, Builds
from match.devtools.check.probes import Probe, graph_of, int16_probes, probes
from match.graph.evaluate import evaluate
from match.graph.opaque import Opaque
from match.graph.operator import Described, Known
from match.graph.pairs import Addition
from match.graph.value import Graph
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.relay import relay, tvm
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.relay.rewrite import shape
from tests.passes.networks import mixed
from tests.passes.running import Compiled

pytestmark = pytest.mark.tvm

SAMPLES = 3


def drawn(rng: np.random.Generator, x: Any) -> np.ndarray[Any, Any]:
    return random(rng, shape(x), str(x.checked_type.dtype))


def random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    if dtype.startswith("float"):
        return rng.normal(0, 40, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(max(limits.min, -(1 << 20)), min(limits.max, 1 << 20) + 1, shape).astype(dtype)


def read(module: Any) -> Graph:
    return read_graph(main_function(module)).graph


def check(graph: Graph) -> Graph:
    """Random inputs, and extreme ones: all the same value."""
    run, rng = Compiled(graph), np.random.default_rng(0)
    for sample in range(SAMPLES):
        arrays = [random(rng, x.shape, x.dtype) for x in graph.inputs]
        if sample == SAMPLES - 1:
            arrays = [np.full_like(array, array.reshape(-1)[0]) for array in arrays]
        expected = run({x.source: array for x, array in zip(graph.inputs, arrays, strict=True)})
        for value, one, other in zip(graph.outputs, evaluate(graph, arrays), expected, strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other), f"{value.operator} {np.argwhere(one != other)[:3]}"
    return graph


def tensors(graph: Graph) -> None:
    for value in graph.values:
        if value.operator is not None:
            assert value.operator.result(*(source.tensor for source in value.inputs)) == value.tensor, value.operator


@pytest.mark.parametrize("layers", [[*probes("uint8")], [*probes("int8")], [*int16_probes()]], ids=["u8", "i8", "i16"])
def test_operators_of_modules(layers: Sequence[Probe]) -> None:
    """They are those that check-target tries: one of each kind of layer."""
    graph = check(graph_of(layers))
    tensors(graph)
    assert len(graph.outputs) == len(layers)
    assert not [value for value in graph.outputs if isinstance(value.operator, Opaque)]


def test_depthwise_filters_of_one_channel() -> None:
    """TVM knows their layout in groups alone."""
    build = Builds("uint8").convolution(1, 1, 3, 1, SAME, depthwise=True)
    check(graph_of([Probe(Op.DEPTHWISE_CONV2D, "one channel", "uint8", (1, 8, 8, 1), 1, build)]))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_network(dtype: str) -> None:
    graph = check(read(mixed(3, dtype)))
    tensors(graph)
    assert not [value for value in graph.values if isinstance(value.operator, Opaque)]


@pytest.mark.parametrize("layers", [[*probes("uint8")], [*probes("int8")]], ids=["u8", "i8"])
def test_a_form_that_is_exact_computes_the_same(layers: Sequence[Probe]) -> None:
    """The network's own requantization, given as a module's form is, changes nothing."""
    rng, tried = np.random.default_rng(4), 0
    for value in graph_of(layers).values:
        operator, known = value.operator, [Known(source.tensor) for source in value.inputs]
        described = operator.layer(value.tensor, known) if operator else None
        if operator is not None and isinstance(described, Described) and described.constants.requantization:
            arrays = [random(rng, source.shape, source.dtype) for source in value.inputs]
            form = operator.in_form(described.constants, described.order)
            assert np.array_equal(form.compute(*arrays), operator.compute(*arrays)), operator
            tried += 1
    assert tried > 10


def test_a_form_of_an_addition_whose_operands_change_places() -> None:
    """The layer has the operand that is broadcast second."""
    addition = Addition(multipliers=(700, -300), bias=77, shift=10, clip=(0, 255), dtype="uint8")
    shapes = (1, 1, 1, 4), (1, 3, 5, 4)
    tensors = [Tensor(shape, "uint8") for shape in shapes]
    described = addition.layer(addition.result(*tensors), [Known(tensor) for tensor in tensors])
    assert isinstance(described, Described)
    assert (described.order, described.constants.data) == ((1, 0), (-300, 700))
    arrays = [random(np.random.default_rng(5), shape, "uint8") for shape in shapes]
    form = addition.in_form(described.constants, described.order)
    assert np.array_equal(form.compute(*arrays), addition.compute(*arrays))


def typed(body: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))


def test_moves() -> None:
    x, y = relay.var("x", shape=(2, 3, 4, 5), dtype="int8"), relay.var("y", shape=(2, 3, 4, 5), dtype="int16")
    moved = [
        relay.transpose(x, (0, 3, 1, 2)),
        relay.reshape(y, (6, 20)),
        relay.expand_dims(relay.squeeze(relay.strided_slice(x, [1, 0], [2, 3]), [0]), 1),
        relay.strided_slice(y, [2, -1], [0, -5], [-1, -2], axes=[1, 2]),
        relay.take(x, relay.const(np.array([3, 0, 0, 2])), axis=-2),
        relay.nn.pad(x, ((0, 0), (1, 2), (0, 0), (0, 3)), relay.const(-7, "int8")),
        relay.concatenate([x, relay.nn.max_pool2d(x, (1, 1), layout="NHWC"), x], -1),
        relay.tile(x, (1, 2, 1, 3)),
        relay.reverse(y, 2),
        relay.broadcast_to(relay.strided_slice(x, [1], [2], axes=[3]), (2, 3, 4, 7)),
        relay.tile(x, (2, 1, 1, 1, 1)),
    ]
    graph = check(read(typed(relay.Tuple(moved))))
    tensors(graph)
    opaque = [value.operator for value in graph.values if isinstance(value.operator, Opaque)]
    assert [one.name for one in opaque] == ["tile"]


def test_operators_without_a_class() -> None:
    """An operator of several results, one that reads a tuple, and one that reads a tensor twice."""
    x = relay.var("x", shape=(2, 6), dtype="float32")
    parts = relay.topk(x, 3, 1, dtype="float32")
    first, second = parts[0], parts[1]
    graph = check(read(typed(relay.Tuple([relay.multiply(first, first), relay.stack([second, first], 0)]))))
    assert {value.operator.name for value in graph.values if isinstance(value.operator, Opaque)} == {
        "topk",
        "multiply",
        "stack",
    }
