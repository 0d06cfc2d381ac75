"""Relay of integers as it is written by hand: chains in 32 bits around sums become layers if they cannot wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from match.frontend.relay import from_relay
from match.graph.sums import Accumulation, Average, Convolution, Dense
from match.relay import relay, tvm
from match.relay.readers import read_addition, read_layer, read_lookup, read_multiplication
from match.relay.rewrite import is_call
from tests.integer_relay import integer_relay
from tests.passes.running import Compiled, assert_same_outputs, random_values

pytestmark = pytest.mark.tvm

RNG = np.random.default_rng(8)


def is_layer(expr: relay.Expr, kind: type[Accumulation]) -> bool:
    read = read_layer(expr)
    return read is not None and isinstance(read.operator, kind)


def const(values: Any, dtype: str = "int32") -> relay.Constant:
    return relay.const(np.asarray(values, dtype), dtype)


def weights(*extents: int, largest: int = 127) -> relay.Constant:
    return const(RNG.integers(-largest, largest + 1, extents), "int8")


def module(build: Callable[..., relay.Expr], *extents: tuple[int, ...], dtype: str = "int8") -> tvm.IRModule:
    inputs = [relay.var(f"x{index}", shape=each, dtype=dtype) for index, each in enumerate(extents)]
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(inputs, build(*inputs))))


def saturated(x: relay.Expr, low: int = -128, high: int = 127) -> relay.Expr:
    return relay.cast(relay.clip(x, low, high), "int8")


def convolution(x: relay.Expr, filters: relay.Constant, **attributes: Any) -> relay.Expr:
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO", **attributes}
    return relay.nn.conv2d(x, filters, channels=6, kernel_size=(3, 3), padding=(1, 1), out_dtype="int32", **layouts)


def of_the_match_paper(sums: relay.Expr, axis: int = 3) -> relay.Expr:
    """Bias, multiplication and addition by channel, shift: what MATCH's paper compiles."""
    extents = [1, 1, 1, 1]
    extents[axis] = 6
    y = relay.nn.bias_add(sums, const(RNG.integers(-5000, 5000, 6)), axis=axis)
    y = relay.multiply(y, const(RNG.integers(1, 50, extents)))
    y = relay.add(y, const(RNG.integers(-90000, 90000, extents)))
    return saturated(relay.right_shift(y, const(14)))


def two_shifts(sums: relay.Expr) -> relay.Expr:
    """Shifts by channel, a rectifier between them, the second with its half; on top one more clip."""
    y = relay.nn.relu(relay.right_shift(sums, const([2, 3, 4, 4, 5, 3])))
    y = relay.right_shift(relay.add(y, const(1 << 6)), const(7))
    return saturated(relay.maximum(relay.clip(y, -100, 90), const(4)))


LAYERS = {
    "paper": lambda x: of_the_match_paper(convolution(x, weights(3, 3, 5, 6))),
    "two shifts": lambda x: two_shifts(convolution(x, weights(3, 3, 5, 6))),
    "subtracted, in 64 bits": lambda x: saturated(
        relay.right_shift(
            relay.multiply(
                relay.cast(relay.subtract(convolution(x, weights(3, 3, 5, 6)), const(77)), "int64"),
                const(123456789, "int64"),
            ),
            const(39, "int64"),
        )
    ),
    "OHWI": lambda x: of_the_match_paper(convolution(x, weights(6, 3, 3, 5), kernel_layout="OHWI")),
    "OIHW": lambda x: of_the_match_paper(convolution(x, weights(6, 5, 3, 3), kernel_layout="OIHW")),
}


@pytest.mark.parametrize("name", LAYERS)
def test_convolutions(name: str) -> None:
    before = module(LAYERS[name], (1, 4, 4, 5))
    after = integer_relay(from_relay(before))
    assert is_layer(after["main"].body, Convolution)
    if name != "OHWI":  # TVM has no such convolution
        assert_same_outputs(as_tvm_takes_it(before), after, samples=6)


def as_tvm_takes_it(before: tvm.IRModule) -> tvm.IRModule:
    """The same network with convolutions of 32 bits in NCHW, which TVM has for this machine."""
    return relay.transform.ConvertLayout({"nn.conv2d": ["NCHW", "OIHW"]})(before)


def test_depthwise_convolutions_with_filters_by_output() -> None:
    """TVM compiles channels last with HWOI alone."""

    def build(x: relay.Expr) -> relay.Expr:
        sums = convolution(x, weights(3, 3, 1, 6), groups=6)
        return saturated(relay.right_shift(sums, const(8)))

    read = read_layer(integer_relay(from_relay(module(build, (1, 4, 4, 6))))["main"].body)
    assert read is not None
    layer = read.operator
    assert isinstance(layer, Convolution)
    assert layer.depthwise
    assert layer.weights.shape == (3, 3, 6, 1)


def test_channels_first() -> None:
    def build(x: relay.Expr) -> relay.Expr:
        filters = weights(6, 5, 3, 3)
        return of_the_match_paper(convolution(x, filters, data_layout="NCHW", kernel_layout="OIHW"), axis=1)

    before = module(build, (1, 5, 4, 4))
    after = integer_relay(from_relay(before))
    assert is_layer(after["main"].body.args[0], Convolution)
    assert_same_outputs(before, after, samples=6)


def test_dense_layers() -> None:
    def build(x: relay.Expr) -> relay.Expr:
        y = relay.nn.bias_add(relay.nn.dense(x, weights(9, 20), out_dtype="int32"), const(RNG.integers(-900, 900, 9)))
        return saturated(relay.right_shift(relay.add(y, const(1 << 8)), const(9)), 0)

    before = module(build, (1, 20))
    after = integer_relay(from_relay(before))
    assert is_layer(after["main"].body, Dense)
    assert_same_outputs(before, after, samples=9)


@pytest.mark.parametrize("factor", [3000, 40000])
def test_what_may_wrap_around_stays(factor: int) -> None:
    """Sums are below 2**19: the first factor takes them to 31 bits, the second one beyond."""

    def build(x: relay.Expr) -> relay.Expr:
        sums = relay.nn.dense(x, const(np.full((9, 40), 100), "int8"), out_dtype="int32")
        return saturated(relay.right_shift(relay.multiply(sums, const(factor)), const(24)))

    before = module(build, (1, 40))
    after = integer_relay(from_relay(before))
    assert is_layer(after["main"].body, Dense) == (factor == 3000)
    samples = {"x0": np.full((1, 40), -128, np.int8)}
    np.testing.assert_array_equal(Compiled(after)(samples)[0], Compiled(before)(samples)[0])


def test_a_clip_beyond_the_type_stays() -> None:
    def build(x: relay.Expr) -> relay.Expr:
        sums = relay.nn.dense(x, weights(9, 20), out_dtype="int32")
        return relay.cast(relay.clip(relay.right_shift(sums, const(8)), -300, 300), "int8")

    before = module(build, (1, 20))
    after = integer_relay(from_relay(before))
    assert read_layer(after["main"].body) is None
    assert after["main"].body.args[0].checked_type.dtype == "int32"


def wide(x: relay.Expr) -> relay.Expr:
    return relay.cast(x, "int32")


@pytest.mark.parametrize(
    ("build", "read"),
    [
        (lambda a, b: relay.right_shift(relay.add(wide(a), wide(b)), const(1)), read_addition),
        (lambda a, b: relay.right_shift(relay.subtract(wide(a), wide(b)), const(1)), read_addition),
        (
            lambda a, b: relay.right_shift(relay.add(relay.multiply(wide(a), wide(b)), const(64)), const(7)),
            read_multiplication,
        ),
        (lambda a, b: relay.right_shift(relay.multiply(wide(a), const(-3)), const(1)), read_lookup),
    ],
)
def test_two_tensors_and_one(build: Callable[..., relay.Expr], read: Callable[..., Any]) -> None:
    before = module(lambda a, b: saturated(build(a, b)), (1, 4, 4, 6), (1, 4, 4, 6))
    after = integer_relay(from_relay(before))
    assert read(after["main"].body) is not None
    assert_same_outputs(before, after, samples=6)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_averages_of_integers_are_rounded_towards_zero(dtype: str) -> None:
    """As C divides: what is never negative is a layer."""

    def build(x: relay.Expr) -> relay.Expr:
        return relay.cast(relay.nn.avg_pool2d(wide(x), (3, 3), (1, 1), layout="NHWC"), dtype)

    before = module(build, (1, 6, 6, 3), dtype=dtype)
    after = integer_relay(from_relay(before))
    assert is_layer(after["main"].body, Average) == (dtype == "uint8")
    samples = {"x0": random_values(RNG, (1, 6, 6, 3), dtype)}
    np.testing.assert_array_equal(Compiled(after)(samples)[0], Compiled(before)(samples)[0])


def test_averages_beside_quantized_operators_are_tflites() -> None:
    def build(x: relay.Expr) -> relay.Expr:
        y = relay.cast(relay.nn.avg_pool2d(wide(x), (2, 2), layout="NHWC"), "int8")
        return relay.qnn.op.requantize(y, relay.const(0.5), const(0), relay.const(0.5), const(3), out_dtype="int8")

    after = integer_relay(from_relay(module(build, (1, 2, 2, 1))))
    x = np.array([1, 1, 1, 0], np.int8).reshape(1, 2, 2, 1)
    assert Compiled(after)({"x0": x})[0].item() == 1 + 3
    assert not is_call(after["main"].body, "qnn.requantize")


def test_sums_that_are_an_input_of_the_network() -> None:
    """Nothing is known of how they were computed."""
    shape = (1, 4, 4, 6)
    sums, other = relay.var("sums", shape=shape, dtype="int32"), relay.var("other", shape=shape, dtype="int8")
    chain = relay.add(relay.cast(sums, "int64"), const(77, "int64"))
    outputs = relay.Tuple([saturated(relay.right_shift(chain, const(25, "int64"))), relay.clip(other, 0, 9)])
    before = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([sums, other], outputs)))
    assert_same_outputs(before, integer_relay(from_relay(before)))
