"""Means of windows that a GatherND collects, as PyTorch exports adaptive average pooling, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from match.ir.layer import Op
from tests.passes.one_operator import distances, integers, references

pytestmark = pytest.mark.tvm

Places = npt.NDArray[np.int64]


def adaptive(extent: int, outputs: int) -> Places:
    """The elements of each window along an axis (windows, elements), where all have as many."""
    first = [output * extent // outputs for output in range(outputs)]
    behind = [-(-(output + 1) * extent // outputs) for output in range(outputs)]
    size = max(end - begin for begin, end in zip(first, behind, strict=True))
    return np.array([np.arange(min(begin, extent - size), min(begin, extent - size) + size) for begin in first])


def collected(
    extents: Sequence[int], places: Places, *, keepdims: bool = False, scales: tuple[float, float] = (0.03, 0.03)
) -> onnx.ModelProto:
    """The mean of windows at places (windows, rows, windows, columns, 2) of a map of three channels."""
    constants = {
        "s": np.float32(scales[0]),
        "z": np.uint8(110),
        "so": np.float32(scales[1]),
        "zo": np.uint8(110),
        "places": places,
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s", "z"], ["numbers"]),
        helper.make_node("Transpose", ["numbers"], ["turned"], perm=[2, 3, 0, 1]),
        helper.make_node("QuantizeLinear", ["turned", "s", "z"], ["turned_levels"]),
        helper.make_node("DequantizeLinear", ["turned_levels", "s", "z"], ["last"]),
        helper.make_node("GatherND", ["last", "places"], ["windows"]),
        helper.make_node("Transpose", ["windows"], ["channels_first"], perm=[4, 5, 0, 1, 2, 3]),
        helper.make_node("ReduceMean", ["channels_first"], ["means"], axes=[-3, -1], keepdims=int(keepdims)),
        helper.make_node("QuantizeLinear", ["means", "so", "zo"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "adaptive",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, *extents))],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def grid(rows: Places, columns: Places) -> Places:
    return np.stack(np.broadcast_arrays(rows[:, :, None, None], columns), axis=-1)


@settings(max_examples=20, deadline=None)
@given(
    extents=st.tuples(st.integers(3, 11), st.integers(3, 11)),
    outputs=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    scale=st.sampled_from([0.03, 0.0217]),
    keepdims=st.booleans(),
)
def test_windows_are_pooled(
    extents: tuple[int, int], outputs: tuple[int, int], scale: float, *, keepdims: bool
) -> None:
    outputs = min(outputs[0], extents[0]), min(outputs[1], extents[1])
    rows, columns = map(adaptive, extents, outputs)
    model = collected(extents, grid(rows, columns), keepdims=keepdims, scales=(0.03, scale))
    x = np.random.default_rng(1).normal(0, 1.5, (1, 3, *extents)).astype(np.float32)
    for exact in (True, False):
        module = integers(model, exact=exact)
        assert "gather_nd" not in module.astext(show_meta_data=False)
        assert len(module["main"].ret_type.shape) == (6 if keepdims else 4)
        off = distances(model, module, x)
        assert off.max() <= 1
        proven = references(module, Op.AVG_POOL2D)
        assert not (proven and all(proven) and off.any())
        if rows.shape[1] * columns.shape[1] in (3, 9, 15) and scale == 0.03:
            assert proven == [True]


@pytest.mark.parametrize("first", [[0, 2], [0, 1], [1, 3], [3, 0], [2, 2]])
def test_windows_anywhere(first: list[int]) -> None:
    """Windows that do not reach the map's end, overlap, and come in another order."""
    rows, columns = np.array(first)[:, None] + np.arange(3), adaptive(7, 3)
    model, x = collected((8, 7), grid(rows, columns)), np.random.default_rng(1).normal(0, 1.5, (1, 3, 8, 7))
    module = integers(model)
    assert references(module, Op.AVG_POOL2D) == [True]
    assert not distances(model, module, x.astype(np.float32)).any()


@pytest.mark.parametrize("moved", [False, True])
def test_places_from_the_end_are_the_same(*, moved: bool) -> None:
    """In windows that are pooled, and in those that are not."""
    places = grid(adaptive(7, 3) - 7, adaptive(5, 2))
    if moved:
        places[1, 2, 1, 1] = -7, -1
    model, x = collected((7, 5), places), np.random.default_rng(1).normal(0, 1.5, (1, 3, 7, 5)).astype(np.float32)
    module = integers(model)
    assert ("gather_nd" in module.astext(show_meta_data=False)) == moved
    assert not distances(model, module, x).any()


def test_what_is_no_grid_of_rows_and_columns_stays() -> None:
    places = grid(adaptive(7, 3), adaptive(7, 3))
    places[1, 2, 1, 1] = 0, 6
    module = integers(collected((7, 7), places))
    assert "gather_nd" in module.astext(show_meta_data=False)
