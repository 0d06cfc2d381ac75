"""Places of the largest and the smallest (ONNX's ArgMax, ArgMin, Hardmax): integers, equal to onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.validation.exact_session import exact_session

pytestmark = pytest.mark.cc

EXTENTS = (1, 5, 6, 8)
LARGE = (1, 5, 32, 30)
"""Pixels whose places among the channels are worth layers."""

PLACES: dict[str, tuple[str, dict[str, int]]] = {
    "channel": ("ArgMax", {"axis": 1, "keepdims": 0}),
    "kept": ("ArgMin", {"axis": -3, "keepdims": 1}),
    "last": ("ArgMax", {"axis": 1, "keepdims": 0, "select_last_index": 1}),
    "row": ("ArgMax", {"axis": 2, "keepdims": 0}),
    "column": ("ArgMin", {"axis": 3, "keepdims": 1}),
    "image": ("ArgMin", {"axis": 0, "keepdims": 1}),
}


def network(dtype: type[np.integer[Any]], extents: tuple[int, ...] = EXTENTS) -> onnx.ModelProto:
    """All of them of a map that is pooled, and a map of the marks of its largest channels."""
    low = np.iinfo(dtype).min
    constants = {"s": np.float32(0.5), "z": dtype(low + 2), "so": np.float32(1 / 255), "zo": dtype(low)}

    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s", "z"], ["real"]),
        helper.make_node("MaxPool", ["real"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("QuantizeLinear", ["pooled", "s", "z"], ["few"]),
        helper.make_node("DequantizeLinear", ["few", "s", "z"], ["map"]),
        *(helper.make_node(kind, ["map"], [name], **attributes) for name, (kind, attributes) in PLACES.items()),
        helper.make_node("Hardmax", ["map"], ["marks"], axis=1),
        helper.make_node("QuantizeLinear", ["marks", "so", "zo"], ["marked"]),
    ]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        nodes,
        "places",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents)],
        [
            *(helper.make_tensor_value_info(name, TensorProto.INT64, None) for name in PLACES),
            helper.make_tensor_value_info("marked", kind, None),
        ],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


@pytest.mark.parametrize("extents", [EXTENTS, LARGE])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_places_are_onnxruntimes(dtype: type[np.integer[Any]], extents: tuple[int, ...]) -> None:
    """Many numbers are alike; in some columns all are the least or the largest that 8 bits have."""
    model = network(dtype, extents)
    x = np.random.default_rng(2).integers(-2, 3, (3, *extents)).astype(np.float32)
    x[0, ..., :2], x[1, ..., :2] = -1000, 1000
    compiled = match.compile(model, "gap9", cache=False)
    found = compiled.run({"x": x})
    session = exact_session(model.SerializeToString(), signed=True)
    expected = zip(*(session.run(None, {"x": sample}) for sample in x), strict=True)
    for name, samples in zip([*PLACES, "marked"], expected, strict=True):
        assert np.array_equal(found[name], np.stack(samples)), name
        assert len(np.unique(samples)) > 1 or name == "image"


def test_no_number_is_floating(capfd: pytest.CaptureFixture[str]) -> None:
    """Behind the first quantize; places among channels need no other order of them. TVM writes nothing about them."""
    report = match.compile(network(np.uint8), "gap9", cache=False, fuse=False).report
    assert "".join(capfd.readouterr()) == ""
    assert all(layer.exact for layer in report.layers)
    assert not any(layer.floating for layer in report.layers[1:])
    assert sum(layer.op == "argmax" for layer in report.layers) == 4
    assert sum("transpose" in layer.op for layer in report.layers) <= 4


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_places_of_many_pixels_are_layers(dtype: type[np.integer[Any]]) -> None:
    """Those among the channels, whichever is asked for, and along the last axis; rows and images keep theirs."""
    report = match.compile(network(dtype, LARGE), "gap9", cache=False, fuse=False, numerics="exact").report
    assert all(layer.exact for layer in report.layers)
    places = [layer for layer in report.layers if layer.op in ("argmax", "argmin")]
    assert len(places) == 2
    assert all(layer.module == "cpu" for layer in places)
    tables = [layer for layer in report.layers if layer.op == "channel_lookup"]
    assert len(tables) == 5
    assert all(layer.module == "cluster" for layer in tables)
