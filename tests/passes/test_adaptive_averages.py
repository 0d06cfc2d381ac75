"""Means of windows that a GatherND collects, as PyTorch exports adaptive average pooling, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from match.frontend.onnx_as_relay import relay_of
from match.frontend.relay import from_relay
from match.ir.layer import Op
from match.passes.pipeline import integer_network
from tests.passes.one_operator import distances, integers, references
from tests.passes.running import written

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


@settings(max_examples=12, deadline=None)
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
        assert "gather_nd" not in written(module).astext(show_meta_data=False)
        assert len(written(module)["main"].ret_type.shape) == (6 if keepdims else 4)
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
    assert bool(references(module, Op.AVG_POOL2D)) != moved
    assert distances(model, module, x).max() <= int(moved)


def test_what_is_no_grid_of_rows_and_columns_is_no_pooling() -> None:
    """It is gathered, and averaged by a product with ones."""
    places = grid(adaptive(7, 3), adaptive(7, 3))
    places[1, 2, 1, 1] = 0, 6
    model, x = collected((7, 7), places), np.random.default_rng(1).normal(0, 1.5, (1, 3, 7, 7)).astype(np.float32)
    module = integers(model)
    assert not references(module, Op.AVG_POOL2D)
    assert references(module, Op.DENSE)
    assert distances(model, module, x).max() <= 1


def sums_of_masked(
    extents: Sequence[int], outputs: Sequence[int], scales: Sequence[float], *, number: float = 0.0
) -> onnx.ModelProto:
    """The first elements of all windows and their other elements, added one after the other; `number` where none is.

    Each axis has as many elements of each window as its largest window.
    """
    constants: dict[str, npt.NDArray[np.generic] | np.generic] = {
        "z": np.uint8(110),
        "number": np.float32(number),
        **{f"s{place}": np.float32(scale) for place, scale in enumerate(scales)},
    }
    places: list[Places] = []
    for axis, (extent, count) in enumerate(zip(extents, outputs, strict=True)):
        first = np.arange(count) * extent // count
        behind = -(-(np.arange(count) + 1) * extent // count)
        elements = first[:, None] + np.arange((behind - first).max())
        constants[f"mask{axis}"] = (elements >= behind[:, None]).reshape(
            elements.shape if axis else (*elements.shape, 1, 1)
        )
        places.append(np.minimum(elements, extent - 1))
    constants["places"] = grid(*places)
    axes = (4, 5, 0, 1, 2, 3)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s0", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s0", "z"], ["numbers"]),
        helper.make_node("GatherND", ["numbers", "places"], ["windows"]),
        helper.make_node("Transpose", ["windows"], ["turned"], perm=axes),
        helper.make_node("Where", ["mask0", "number", "turned"], ["masked_rows"]),
        helper.make_node("Where", ["mask1", "number", "masked_rows"], ["masked"]),
    ]
    total = ""
    each = [(row, column) for row in range(places[0].shape[1]) for column in range(places[1].shape[1])]
    for place, (row, column) in enumerate(each):
        constants[f"row{row}"], constants[f"column{column}"] = np.int64(row), np.int64(column)
        own = f"s{place % len(scales)}"
        nodes += [
            helper.make_node("Gather", ["masked", f"row{row}"], [f"of_row{place}"], axis=3),
            helper.make_node("Gather", [f"of_row{place}", f"column{column}"], [f"one{place}"], axis=4),
            helper.make_node("QuantizeLinear", [f"one{place}", own, "z"], [f"levels{place}"]),
            helper.make_node("DequantizeLinear", [f"levels{place}", own, "z"], [f"numbers{place}"]),
        ]
        if total:
            nodes += [
                helper.make_node("Add", [total, f"numbers{place}"], [f"sum{place}"]),
                helper.make_node("QuantizeLinear", [f"sum{place}", own, "z"], [f"sum_levels{place}"]),
                helper.make_node("DequantizeLinear", [f"sum_levels{place}", own, "z"], [f"total{place}"]),
            ]
        total = f"total{place}" if total else f"numbers{place}"
    nodes.append(helper.make_node("QuantizeLinear", [total, "s0", "z"], ["y"]))
    graph = helper.make_graph(
        nodes,
        "masked",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (*extents, 1, 5))],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


@pytest.mark.parametrize(
    ("extents", "outputs", "scales"),
    [
        ((5, 5), (3, 3), (0.03, 0.0217)),
        ((2, 3), (4, 5), (0.03, 0.041)),
        ((5, 3), (2, 3), (0.03, 0.0217, 0.05)),
    ],
)
def test_elements_of_windows_of_several_sizes(
    extents: tuple[int, int], outputs: tuple[int, int], scales: tuple[float, ...]
) -> None:
    """Also where a map has fewer elements than windows."""
    model = sums_of_masked(extents, outputs, scales)
    module = integers(model)
    assert references(module, Op.GATHER)
    x = np.random.default_rng(1).normal(0, 1.5, (*extents, 1, 5)).astype(np.float32)
    assert not distances(model, module, x).any()


def test_numbers_other_than_zero() -> None:
    """An element that is no number of the quantized map, but one of what is made of it."""
    model = sums_of_masked((5, 5), (3, 3), (0.03, 0.0217), number=0.5)
    module = integers(model)
    x = np.random.default_rng(1).normal(0, 1.5, (5, 5, 1, 5)).astype(np.float32)
    assert not distances(model, module, x).any()


def test_relay_of_tvm_s_importer(tmp_path: Path) -> None:
    model = collected((7, 5), grid(adaptive(7, 3), adaptive(5, 2)))
    onnx.save(model, tmp_path / "model.onnx")
    module = integer_network(from_relay(relay_of(tmp_path / "model.onnx")))
    assert references(module, Op.AVG_POOL2D)
    x = np.random.default_rng(1).normal(0, 1.5, (1, 3, 7, 5)).astype(np.float32)
    assert distances(model, module, x).max() <= 1
