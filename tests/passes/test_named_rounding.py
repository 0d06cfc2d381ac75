"""Requantizations that name their rounding: TVM's, as its definition says and as its own C computes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from match.arithmetic.interface import Accumulator, QuantizedType
from match.arithmetic.named_rounding import NamedRounding, Ties
from match.frontend.relay import from_relay
from match.graph.elements import Lookup
from match.graph.integers import Elementwise
from match.graph.opaque import Opaque
from match.graph.sums import Convolution, Dense
from match.graph.value import Graph
from match.ir.step_function import step_function
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from tests.passes.running import Compiled, executable, random_values
from tests.passes.test_tflite_arithmetic import multiplier_of

pytestmark = pytest.mark.tvm

_KINDS = Convolution, Lookup, Dense


def by_definition(x: int, factor: float, ties: Ties) -> int:
    """The product's nearest integer, with Python's integers."""
    mantissa, exponent = multiplier_of(factor)
    doubled, divisor = 2 * x * mantissa, 1 << (31 - exponent)
    if ties == Ties.UP or doubled >= 0:
        return (doubled + divisor) // (2 * divisor)
    return -((divisor - doubled) // (2 * divisor))


@given(
    st.floats(-36.0, 2.0),
    st.integers(-(2**22), 2**22),
    st.integers(-128, 127),
    st.sampled_from([(-128, 127), (0, 127), (-5, 90)]),
    st.sampled_from([*Ties]),
)
@example(-1.0, 0, 0, (-128, 127), Ties.UP)
@example(-1.0, 0, 0, (-128, 127), Ties.AWAY_FROM_ZERO)
@example(-3.0, 5, -20, (-128, 127), Ties.AWAY_FROM_ZERO)
def test_linear(log_factor: float, offset: int, zero_point: int, clip: tuple[int, int], ties: Ties) -> None:
    """Around the steps, where a wrong rounding shows."""
    weight_scale = np.array([2.0**log_factor], np.float32)
    low, high = np.array([-(2**20)]), np.array([2**20])
    accumulator = Accumulator(np.array([offset]), low, high, np.float32(1), weight_scale)
    line = NamedRounding(ties, weight_scale).linear(accumulator, QuantizedType(np.float32(1), zero_point, "int8"), clip)
    thresholds = step_function(line, low, high).thresholds[0]
    sums = [*range(-9, 9), *(int(t) + d for t in thresholds[:: max(1, len(thresholds) // 20)] for d in (-1, 0))]
    for x in (x for x in sums if low[0] <= x <= high[0]):
        scaled = by_definition(x + offset, float(weight_scale[0]), ties) + zero_point
        assert line(np.array([[x]])).item() == min(max(scaled, clip[0]), clip[1])


@given(st.floats(-3.0, 1.0), st.integers(-128, 127), st.integers(-128, 127), st.sampled_from([*Ties]))
@example(-1.0, 0, 0, Ties.UP)
@example(-1.0, 0, 0, Ties.AWAY_FROM_ZERO)
def test_change_of_scale(log_factor: float, before: int, behind: int, ties: Ties) -> None:
    scale = np.float32(2.0**log_factor)
    x, y = QuantizedType(scale, before, "int8"), QuantizedType(np.float32(1), behind, "int8")
    expected = [by_definition(int(level) - before, float(scale), ties) + behind for level in x.levels]
    assert (
        NamedRounding(ties, scale.reshape(1)).requantize(x, y, (-128, 127)).tolist()
        == np.clip(expected, -128, 127).tolist()
    )


def network(ties: str, compute: str = "None", *, wide: bool = False) -> tvm.IRModule:
    """A convolution in NCHW with a scale for each channel, a change of scale and a dense layer; scales make ties.

    wide: requantizations are to 32 bits, with a clip and a cast after them.
    """
    rng = np.random.default_rng(3)
    names = {"rounding": ties, "compute_dtype": compute, "out_dtype": "int32" if wide else "int8"}
    zero, x = relay.const(0, "int32"), relay.var("x", shape=(1, 3, 4, 4), dtype="int8")
    scales = np.array([0.5, 0.25, 0.0125, 0.03], np.float32)
    weights = [relay.const(rng.integers(-9, 10, extents).astype(np.int8)) for extents in ((4, 3, 1, 1), (6, 64))]

    def narrow(y: relay.Expr) -> relay.Expr:
        return relay.cast(relay.clip(y, -100, 90), "int8") if wide else y

    sums = relay.qnn.op.conv2d(x, weights[0], zero, zero, relay.const(1.0), relay.const(scales), (1, 1), 4)
    sums = relay.nn.bias_add(sums, relay.const(rng.integers(-200, 200, 4).astype(np.int32)))
    y = narrow(relay.qnn.op.requantize(sums, relay.const(scales), zero, relay.const(4.0), zero, axis=1, **names))
    y = narrow(relay.qnn.op.requantize(y, relay.const(4.0), zero, relay.const(8.0), relay.const(-3), **names))
    y = relay.nn.batch_flatten(y)
    sums = relay.qnn.op.dense(y, weights[1], relay.const(-3), zero, relay.const(8.0), relay.const(0.125), 6)
    y = narrow(relay.qnn.op.requantize(sums, relay.const(1.0), zero, relay.const(32.0), zero, **names))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], y)))


def is_dense(network: Graph) -> bool:
    return isinstance(network.outputs[0].operator, Dense)


@pytest.mark.parametrize(("ties", "wide"), [(Ties.UP, False), (Ties.AWAY_FROM_ZERO, False), (Ties.UP, True)])
def test_networks_compute_what_tvm_computes(ties: Ties, wide: bool) -> None:
    module = network(ties, wide=wide)
    integers = integer_network(from_relay(module))
    assert is_dense(integers)
    values = integers.values
    assert [type(value.operator) for value in values if isinstance(value.operator, _KINDS)] == [*_KINDS]
    assert not [value for value in values if isinstance(value.operator, Opaque | Elementwise)]
    ours, theirs, other = (
        executable(integers),
        Compiled(module),
        executable(integer_network(from_relay(network("None")))),
    )
    rng, differ = np.random.default_rng(1), 0
    for _ in range(20):
        inputs = {"x": random_values(rng, (1, 3, 4, 4), "int8")}
        (found,), (expected,) = ours(inputs), theirs(inputs)
        np.testing.assert_array_equal(found, expected)
        differ += np.count_nonzero(found != other(inputs)[0])
    assert differ, "no output of the test depends on the rounding"


def test_a_floating_point_type_stays_tvms() -> None:
    module = network("UPWARD", "float32")
    ours, theirs = Compiled(integer_network(from_relay(module))), Compiled(module)
    inputs = {"x": random_values(np.random.default_rng(1), (1, 3, 4, 4), "int8")}
    np.testing.assert_array_equal(ours(inputs)[0], theirs(inputs)[0])


def test_numbers_along_another_axis_are_no_bias() -> None:
    """As many rows as channels: a bias and scales of rows are none of channels."""
    rng, zero, x = np.random.default_rng(3), relay.const(0, "int32"), relay.var("x", shape=(1, 4, 4, 4), dtype="int8")
    weights = relay.const(rng.integers(-9, 10, (1, 1, 4, 4)).astype(np.int8))
    scale, scales = relay.const(0.05), relay.const(np.array([0.05, 0.04, 0.03, 0.02], np.float32))
    sums = relay.qnn.op.conv2d(
        x, weights, zero, zero, relay.const(1.0), scale, (1, 1), 4, data_layout="NHWC", kernel_layout="HWIO"
    )
    rows = relay.nn.bias_add(sums, relay.const(np.array([-900, -300, 300, 900], np.int32)), axis=1)
    turned = relay.qnn.op.conv2d(
        x, relay.transpose(weights, (3, 2, 0, 1)), zero, zero, relay.const(1.0), scales, (1, 1), 4
    )
    turned = relay.nn.bias_add(turned, relay.const(np.array([-900, -300, 300, 900], np.int32)), axis=3)
    ends = zero, relay.const(1.0), zero
    outputs = [
        relay.qnn.op.requantize(rows, scale, *ends, rounding="UPWARD", out_dtype="int8"),
        relay.qnn.op.requantize(turned, scales, *ends, axis=2, rounding="UPWARD", out_dtype="int8"),
    ]
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.Tuple(outputs))))
    module = relay.transform.FoldConstant()(module)
    ours, theirs = Compiled(integer_network(from_relay(module))), Compiled(module)
    inputs = {"x": random_values(rng, (1, 4, 4, 4), "int8")}
    for found, expected in zip(ours(inputs), theirs(inputs), strict=True):
        np.testing.assert_array_equal(found, expected)


def assert_a_dense_layer_as_tvm_computes_it(module: tvm.IRModule) -> None:
    """The network reads an input x (1, 12) of int8."""
    integers, rng = integer_network(from_relay(module)), np.random.default_rng(5)
    assert is_dense(integers)
    ours, theirs = executable(integers), Compiled(module)
    for _ in range(10):
        inputs = {"x": random_values(rng, (1, 12), "int8")}
        np.testing.assert_array_equal(ours(inputs)[0], theirs(inputs)[0])


def test_zero_points_of_sums_by_channel() -> None:
    """As TVM's FakeQuantizationToInteger writes them: zeros, one for each channel."""
    rng, zero, x = np.random.default_rng(4), relay.const(0, "int32"), relay.var("x", shape=(1, 12), dtype="int8")
    weights, zeros = relay.const(rng.integers(-9, 10, (6, 12)).astype(np.int8)), relay.const(np.zeros(6, np.int32))
    scales = relay.const(rng.uniform(0.1, 0.9, 6).astype(np.float32))
    sums = relay.qnn.op.dense(x, weights, relay.const(4), zeros, relay.const(1.0), scales, 6)
    ends = zeros, relay.const(9.0), zero
    y = relay.qnn.op.requantize(sums, scales, *ends, axis=1, rounding="UPWARD", out_dtype="int8")
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], y)))
    assert_a_dense_layer_as_tvm_computes_it(module)


@pytest.mark.parametrize("zero_point", [-20, 30])
def test_sums_that_are_rectified(zero_point: int) -> None:
    """In front of the requantization, as TVM's FakeQuantizationToInteger writes a ReLU."""
    rng, zero, x = np.random.default_rng(4), relay.const(0, "int32"), relay.var("x", shape=(1, 12), dtype="int8")
    weights = relay.const(rng.integers(-9, 10, (6, 12)).astype(np.int8))
    sums = relay.qnn.op.dense(x, weights, relay.const(4), zero, relay.const(1.0), relay.const(0.25), 6)
    sums = relay.maximum(relay.nn.bias_add(sums, relay.const(rng.integers(-200, 200, 6).astype(np.int32))), zero)
    ends = relay.const(9.0), relay.const(zero_point)
    y = relay.qnn.op.requantize(sums, relay.const(0.25), zero, *ends, rounding="UPWARD", out_dtype="int8")
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.clip(y, -40, 90))))
    assert_a_dense_layer_as_tvm_computes_it(module)
