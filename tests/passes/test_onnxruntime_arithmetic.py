"""onnxruntime's integers against its formula in float32, accumulator by accumulator, and against its own operators."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from match.arithmetic.interface import Accumulator, QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic
from match.validation.exact_session import exact_session

pytestmark = pytest.mark.unit


def by_definition(sums, factor, zero_point, clip):
    product = sums.astype(np.float32) * np.float32(factor)
    return np.clip(np.rint(product).astype(np.int64) + zero_point, *clip)


@settings(max_examples=60)
@given(
    st.floats(-15.0, 1.0),
    st.integers(-(2**16), 2**16),
    st.integers(0, 255),
    st.sampled_from([(0, 255), (7, 200)]),
    st.integers(-30000, 30000),
)
def test_linear(log_factor, offset, zero_point, clip, low):
    scale = np.array([2.0**log_factor], np.float32)
    high = low + 60000
    accumulator = Accumulator(np.array([offset]), np.array([low]), np.array([high]), np.float32(1), scale)
    output = QuantizedType(np.float32(1), zero_point, "uint8")
    requantization = OnnxruntimeArithmetic().linear(accumulator, output, clip)
    accumulators = np.arange(low, high + 1)
    expected = by_definition(accumulators + offset, scale[0], zero_point, clip)
    np.testing.assert_array_equal(requantization(accumulators[:, None])[:, 0], expected)


@pytest.mark.parametrize("factor", [2.0**-5, 0.75, 1.5, 3.0])
def test_exact_halves_go_to_even(factor):
    """Halves that are met exactly alternate: no line does that without exceptions."""
    low, high = np.array([-2000]), np.array([2000])
    scale = np.array([factor], np.float32)
    accumulator = Accumulator(np.zeros(1, np.int64), low, high, np.float32(1), scale)
    requantization = OnnxruntimeArithmetic().linear(accumulator, QuantizedType(np.float32(1), 100, "uint8"), (0, 255))
    accumulators = np.arange(-2000, 2001)
    expected = by_definition(accumulators, factor, 100, (0, 255))
    np.testing.assert_array_equal(requantization(accumulators[:, None])[:, 0], expected)


@pytest.mark.parametrize(("factor", "offset"), [(1.0648278e-05, 15335855), (8.551209e-06, 20253543)])
def test_sums_that_float32_rounds(factor, offset):
    """Beyond 2^24 it has even numbers alone, and so each level more than one exception."""
    low, high = np.array([-8_000_000]), np.array([8_000_000])
    scale = np.array([factor], np.float32)
    accumulator = Accumulator(np.array([offset]), low, high, np.float32(1), scale)
    requantization = OnnxruntimeArithmetic().linear(
        accumulator, QuantizedType(np.float32(1), -128, "int8"), (-128, 127)
    )
    levels = np.arange(-128, 128) + 128.5
    near = np.rint(levels / np.float64(scale[0])).astype(np.int64) - offset
    accumulators = np.unique((near[:, None] + np.arange(-12, 13)).clip(low[0], high[0]))
    expected = by_definition(accumulators + offset, factor, -128, (-128, 127))
    np.testing.assert_array_equal(requantization(accumulators[:, None])[:, 0], expected)


def run_operator(kind, inputs, a, b, output):
    names = ["a", "sa", "za", "b", "sb", "zb", "so", "zo"]
    code = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8}
    constants = [
        helper.make_tensor(name, TensorProto.FLOAT if name[0] == "s" else code[values.dtype], [], [value])
        for values, suffix in ((a, "a"), (b, "b"), (output, "o"))
        for name, value in ((f"s{suffix}", float(values.scale)), (f"z{suffix}", values.zero_point))
    ]
    node = helper.make_node(kind, names, ["y"], domain="com.microsoft")
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, code[q.dtype], list(inputs[n].shape)) for n, q in (("a", a), ("b", b))],
        [helper.make_tensor_value_info("y", code[output.dtype], None)],
        constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return exact_session(model.SerializeToString()).run(None, inputs)[0]


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("seed", range(6))
def test_addition_and_multiplication_of_all_pairs(dtype, seed):
    """Half of the scales are powers of two: many results lie between two steps, and zero points decide on them."""
    rng = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    a, b, output = (
        QuantizedType(
            np.float32(rng.uniform(0.01, 0.1) if seed < 3 else 2.0 ** rng.integers(-7, -3)),
            int(rng.integers(limits.min, limits.max + 1)),
            dtype,
        )
        for _ in range(3)
    )
    clip = (int(limits.min), int(limits.max))
    first = np.repeat(a.levels.astype(dtype)[:, None], 256, axis=1)
    second = np.repeat(b.levels.astype(dtype)[None, :], 256, axis=0)
    arithmetic = OnnxruntimeArithmetic()
    added = run_operator("QLinearAdd", {"a": first, "b": second}, a, b, output)
    np.testing.assert_array_equal(arithmetic.add(a, b, output, clip, 1), added)
    multiplied = run_operator("QLinearMul", {"a": first, "b": second}, a, b, output)
    products = (first.astype(np.int64) - a.zero_point) * (second.astype(np.int64) - b.zero_point)
    requantization = arithmetic.multiply(a, b, output, clip)
    np.testing.assert_array_equal(requantization(products[..., None])[..., 0], multiplied)
