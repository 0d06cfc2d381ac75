"""ONNX's CumSum along any axis, from either end, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from match.errors import ModelError
from match.ir.layer import Op
from match.partitioning.pattern.types import Match
from tests.layers_of import find
from tests.passes.one_operator import distances, integers, quantized

pytestmark = pytest.mark.tvm


@given(
    st.lists(st.integers(2, 6), min_size=2, max_size=4).flatmap(
        lambda extents: st.tuples(st.just(tuple(extents)), st.integers(-len(extents), len(extents) - 1))
    ),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.uint8, np.int8]),
)
@settings(max_examples=8, deadline=None)
def test_cumulative_sums(
    case: tuple[tuple[int, ...], int], exclusive: bool, reverse: bool, dtype: type[np.uint8] | type[np.int8]
) -> None:
    """Runtimes sum in any order, so that a half may go either way."""
    extents, axis = case
    constants = {"s": np.float32(0.02), "z": dtype(90), "so": np.float32(0.05), "zo": dtype(30), "axis": np.int64(axis)}
    model = quantized("CumSum", extents, constants, exclusive=int(exclusive), reverse=int(reverse))
    module = integers(model)
    assert [one.layer.op for one in find(module) if isinstance(one, Match)].count(Op.DENSE) == 1
    x = np.random.default_rng(5).normal(0, 1, extents).astype(np.float32)
    assert distances(model, module, x).max() <= 1


def test_an_axis_that_depends_on_the_inputs_is_refused() -> None:
    constants = {"s": np.float32(0.02), "z": np.uint8(90), "so": np.float32(0.05), "zo": np.uint8(30)}
    model = quantized("CumSum", (2, 6), {**constants, "axis": np.int64(1)})
    (axis,) = (constant for constant in model.graph.initializer if constant.name == "axis")
    model.graph.initializer.remove(axis)
    model.graph.input.append(helper.make_tensor_value_info("axis", TensorProto.INT64, []))
    with pytest.raises(
        ModelError, match=r"uses CumSum \(result\) along an axis that depends on the inputs, which cannot be"
    ):
        integers(model)


def test_long_axes_stay_in_floating_point() -> None:
    """A triangle of ones has as many bytes as the axis is long, squared."""
    zeros = {"z": np.uint8(90), "zo": np.uint8(30)}
    constants = {"s": np.float32(0.02), "so": np.float32(0.05), "axis": np.int64(1), **zeros}
    modules = [integers(quantized("CumSum", (2, count), constants)) for count in (256, 257)]
    products = [sum(isinstance(one, Match) and one.layer.op is Op.DENSE for one in find(module)) for module in modules]
    assert products == [1, 0]
