"""Functions of several tensors of 8 bits, rounded in between: within one step of NumPy's float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from match.graph.elements import Dequantize, Quantize
from match.graph.evaluate import evaluate
from match.graph.pairs import Addition, Multiplication
from match.graph.real_functions import number, real, truth
from match.graph.reals import Levels, RealAverage, RealClip, RealFunction, RealProduct
from match.graph.reductions import RealReduction
from match.graph.value import Graph, Value, computed
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.rewrites.quantized_groups import with_other_groups
from tests.seeds import seeded

pytestmark = pytest.mark.unit

Reals = npt.NDArray[np.float64]

MAP = (1, 4, 5, 6)
GATE = (1, 1, 1, 6)


@dataclass(eq=False)
class Expression:
    """Real numbers of a graph, and what they are in float64."""

    value: Value
    numbers: Reals

    def __add__(self, other: Expression) -> Expression:
        return of("add", np.add, self, other)

    def __sub__(self, other: Expression) -> Expression:
        return of("subtract", np.subtract, self, other)

    def __mul__(self, other: Expression) -> Expression:
        return of("multiply", np.multiply, self, other)


def of(name: str, function: Callable[..., Any], *operands: Expression) -> Expression:
    """A function of elements."""
    return Expression(real(name, *(x.value for x in operands)), function(*(x.numbers for x in operands)))


def sigmoid(x: Expression) -> Expression:
    return of("sigmoid", lambda numbers: 1 / (1 + np.exp(-numbers)), x)


def largest(a: Expression, b: Expression) -> Expression:
    return of("maximum", np.maximum, a, b)


def times(factor: float, x: Expression) -> Expression:
    return Expression(real("multiply", x.value, number(factor)), np.float64(np.float32(factor)) * x.numbers)


def relu(x: Expression) -> Expression:
    clip = RealClip(low=0.0, high=float("inf"))
    return Expression(computed(clip, x.value), np.maximum(x.numbers, 0))


def pooled(x: Expression) -> Expression:
    """The mean of a map."""
    mean = RealAverage(window=(x.value.shape[1], x.value.shape[2]), strides=(1, 1), written_as="map")
    return Expression(computed(mean, x.value), x.numbers.mean(axis=(1, 2), keepdims=True))


def row_means(x: Expression) -> Expression:
    mean = RealReduction(function="mean", axes=(3,), keepdims=True)
    return Expression(computed(mean, x.value), x.numbers.mean(axis=3, keepdims=True))


def pairs_of_rows(x: Expression) -> Expression:
    """The means of two rows each."""
    mean = RealAverage(window=(2, 1), strides=(2, 1))
    return Expression(computed(mean, x.value), (x.numbers[:, ::2] + x.numbers[:, 1::2]) / 2)


@dataclass
class Network:
    """What is put together from random tensors of 8 bits."""

    rng: np.random.Generator
    inputs: list[Value] = field(default_factory=list[Value])
    arrays: list[npt.NDArray[Any]] = field(default_factory=list[npt.NDArray[Any]])

    def tensor(self, scale: float, zero_point: int = 3, dtype: str = "int8", shape: Sequence[int] = MAP) -> Expression:
        """A tensor with all levels."""
        ends = np.iinfo(dtype)
        array = self.rng.integers(ends.min, ends.max + 1, shape).astype(dtype)
        x, step = Value(Tensor(tuple(shape), dtype)), np.float32(scale)
        self.inputs.append(x)
        self.arrays.append(array)
        numbers = (array.astype(np.float64) - zero_point) * np.float64(step)
        return Expression(computed(Dequantize(scale=step, zero_point=zero_point), x), numbers)

    def positive(self, scale: float) -> Expression:
        """A tensor whose integers are clipped at zero."""
        x = self.tensor(scale, 0)
        (levels,) = x.value.inputs
        clip = Addition(multipliers=(1, 0), bias=0, shift=0, clip=(0, 127), dtype="int8")
        numbers = computed(Dequantize(scale=np.float32(scale), zero_point=0), computed(clip, levels, levels))
        return Expression(numbers, np.maximum(x.numbers, 0))

    def layer(self, x: Expression) -> Expression:
        """A product of rows with weights of 8 bits, which nothing quantizes."""
        levels = self.rng.integers(-127, 128, (6, 6)).astype(np.int8)
        scale = np.float32(0.004)
        weights = computed(Levels(levels=levels, scales=np.array([scale]), zero_points=np.zeros(1, np.int64), axis=1))
        return Expression(computed(RealProduct(), x.value, weights), x.numbers @ (levels * np.float64(scale)))

    def quantized(self, result: Expression, scale: float, zero_point: int, dtype: str) -> tuple[Graph, Reals]:
        """The graph, and its outputs."""
        function = FloatQuantization(np.float32(scale), zero_point, dtype, half_to_even=True)
        graph = Graph(tuple(self.inputs), (computed(Quantize(function=function), result.value),))
        ends = np.iinfo(dtype)
        return graph, np.rint(result.numbers / np.float64(np.float32(scale)) + zero_point).clip(ends.min, ends.max)


def steps_off(network: Network, graph: Graph, reference: Reals) -> Reals | None:
    """By how many steps outputs are off; None where functions are left in floating point."""
    made = with_other_groups(graph, exact=False)
    if any(isinstance(value.operator, RealFunction | RealClip | RealAverage | RealReduction) for value in made.values):
        return None
    for value in made.values:
        if isinstance(value.operator, Multiplication):
            low, high = value_range(value.inputs[0].dtype)
            assert all(low <= zero_point <= high for zero_point in value.operator.zero_points)
    (ours,) = evaluate(made, network.arrays)
    return np.abs(ours.astype(np.float64) - reference)


CASES: dict[str, tuple[Callable[[Network], Expression], float]] = {
    "sum of four": (lambda n: n.tensor(0.01) + n.tensor(0.03) + n.tensor(0.02) + n.tensor(0.04), 0.08),
    "large term first": (lambda n: n.tensor(0.05) + n.tensor(0.001) + n.tensor(0.001), 0.024),
    "positive terms": (lambda n: n.positive(0.013) + n.positive(0.017) + n.positive(0.02), 0.013),
    "sum of three, halved": (lambda n: times(0.5, n.tensor(0.01) + n.tensor(0.03) + n.tensor(0.02)), 0.03),
    "product and sum": (lambda n: n.tensor(0.02) * n.tensor(0.01) + n.tensor(0.03), 0.04),
    "sum and gate": (lambda n: (n.tensor(0.02) + n.tensor(0.03)) * sigmoid(n.tensor(0.05)), 0.04),
    "function of a sum": (lambda n: gated(n.tensor(0.01) + n.tensor(0.02) + n.tensor(0.03)), 0.05),
    "largest of a sum": (lambda n: largest(n.tensor(0.02) + n.tensor(0.01), n.tensor(0.03)), 0.03),
    "difference": (lambda n: n.tensor(0.02) - n.tensor(0.01) - n.tensor(0.03), 0.05),
    "types": (lambda n: n.tensor(0.02, 120, "uint8") + n.tensor(0.01) + n.tensor(0.02, 5, "uint8"), 0.05),
    "layer and two tensors": (lambda n: n.layer(n.tensor(0.02)) + n.tensor(0.003) + n.tensor(0.006), 0.05),
    "rectified layer": (lambda n: relu(relu(n.layer(n.tensor(0.02))) + n.tensor(0.02)), 0.04),
    "gate of channels": (lambda n: n.tensor(0.02) * sigmoid(n.tensor(0.03, shape=GATE)), 0.02),
    "gate and residual": (
        lambda n: n.tensor(0.02) * sigmoid(n.tensor(0.03, shape=GATE)) + n.tensor(0.01),
        0.04,
    ),
    "gate of means": (lambda n: gate_of_means(n.tensor(0.02), n.tensor(0.04)), 0.03),
    "mean of a sum": (lambda n: pooled(n.tensor(0.02) + n.tensor(0.01)), 0.02),
    "mean of a sum of three": (lambda n: row_means(n.tensor(0.01) + n.tensor(0.02) + n.tensor(0.01)), 0.06),
    "mean of rows' means": (lambda n: pairs_of_rows(row_means(n.tensor(0.01))), 0.01),
}
"""Each function, and the scale of its outputs."""


def gated(x: Expression) -> Expression:
    return x * sigmoid(x)


def gate_of_means(x: Expression, y: Expression) -> Expression:
    return x * sigmoid(pooled(y))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", CASES)
def test_within_one_step(name: str, dtype: str) -> None:
    make, scale = CASES[name]
    network = Network(np.random.default_rng(len(name)))
    graph, reference = network.quantized(make(network), scale, 1 if dtype == "int8" else 130, dtype)
    off = steps_off(network, graph, reference)
    assert off is not None
    assert np.ptp(reference) > 3
    assert off.max() <= 1


def test_what_two_functions_read_is_rounded_once() -> None:
    """A sum of three tensors, which is added twice and rounded: both products read it."""
    network = Network(np.random.default_rng(5))
    total = network.tensor(0.01) + network.tensor(0.02) + network.tensor(0.01)
    result = largest(total * network.tensor(0.02), total * network.tensor(0.01))
    graph, reference = network.quantized(result, 0.3, 0, "int8")
    off = steps_off(network, graph, reference)
    assert off is not None
    assert off.max() <= 1
    made = with_other_groups(graph, exact=False)
    computed_from = [value for value in made.values if value.operator is not None]
    assert [type(value.operator) for value in computed_from].count(Addition) == 2


def test_what_rounding_may_change_altogether() -> None:
    """Whether a sum is just a number: no interval around it tells."""
    network = Network(np.random.default_rng(3))
    total = network.tensor(0.01) + network.tensor(0.02) + network.tensor(0.03)
    equal = truth("equal", total.value, number(0.0))
    result = Expression(real("where", equal, number(1.0), number(0.0)), np.where(total.numbers == 0, 1.0, 0.0))
    assert steps_off(network, *network.quantized(result, 0.01, 0, "int8")) is None


def test_hundreds_of_functions_in_a_row() -> None:
    network = Network(np.random.default_rng(3))
    total = network.tensor(0.01) + network.tensor(0.02) + network.tensor(0.03)
    for _ in range(500):
        total = times(0.999, total)
    assert steps_off(network, *network.quantized(total, 0.05, 0, "int8")) is None


@pytest.mark.parametrize("name", CASES)
def test_too_coarse(name: str) -> None:
    """Outputs in steps so small that 8 bits in between are more than one of them off."""
    make, scale = CASES[name]
    network = Network(np.random.default_rng(7))
    graph, reference = network.quantized(make(network), scale / 50, 0, "int8")
    assert steps_off(network, graph, reference) is None


FUNCTIONS: tuple[Callable[..., Expression], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    largest,
    lambda a, b: a * sigmoid(b),
    lambda a, b: relu(a) + b,
    lambda a, b: gated(a) + times(0.3, b),
)


@seeded(20, 400)
def test_random_functions(seed: int) -> None:
    """Trees of functions of three to five tensors: what is made of them is within a step. Of coarse outputs all are."""
    rng = np.random.default_rng(seed)
    network = Network(rng)
    parts = [network.tensor(rng.uniform(0.005, 0.03), int(rng.integers(-20, 20))) for _ in range(rng.integers(3, 6))]
    while len(parts) > 1:
        first, second = (parts.pop(rng.integers(len(parts))) for _ in range(2))
        parts.append(FUNCTIONS[rng.integers(len(FUNCTIONS))](first, second))
    span = np.abs(parts[0].numbers).max() / 100
    for scale in (span, 6 * span):
        graph, reference = network.quantized(parts[0], scale, int(rng.integers(-20, 20)), "int8")
        off = steps_off(network, graph, reference)
        if off is not None:
            assert off.max() <= 1
    assert off is not None
