"""ONNX's resizes, by scales that are no whole numbers and to any sizes: what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from match.arithmetic.resampling import COORDINATES, NEAREST, nearest_elements
from match.errors import ModelError
from match.frontend import load
from match.frontend.onnx_resized_axes import resized_axes
from match.graph.evaluate import evaluate
from match.graph.opaque import Opaque
from match.ir.layer import Op
from match.partitioning.pattern.types import Match
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from match.relay.execute import Executable
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.relay.plain import qnn_operators
from match.relay.real_readers import read_reals
from match.validation.exact_session import exact_session
from tests.frontend.qdq.float_models import graph_of
from tests.layers_of import find
from tests.passes.onnx_models import OnnxModel, expose_integers, quantize
from tests.passes.running import executable, written

pytestmark = pytest.mark.tvm

SCALE, ZERO = np.float32(0.05), np.uint8(100)


def resize(shape: Sequence[int], numbers: npt.NDArray[Any], opset: int = 19, **attributes: Any) -> onnx.ModelProto:
    """A Resize of float32, by scales where the numbers are no integers, else to sizes."""
    to_sizes = np.issubdtype(numbers.dtype, np.integer)
    inputs = ["x", "", "", "n"] if to_sizes else ["x", "", "n"] if opset > 10 else ["x", "n"]
    graph = helper.make_graph(
        [helper.make_node("Resize" if opset >= 10 else "Upsample", inputs, ["y"], **attributes)],
        "resize",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(numbers, "n")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def quantized(shape: Sequence[int], numbers: npt.NDArray[Any], opset: int = 19, **attributes: Any) -> onnx.ModelProto:
    """The same between a quantize and dequantize on either side."""
    graph = resize(shape, numbers, opset, **attributes).graph
    (operator,) = graph.node
    operator.input[0], operator.output[0] = "real", "result"
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s", "z"], ["real"]),
        operator,
        helper.make_node("QuantizeLinear", ["result", "s", "z"], ["y"]),
    ]
    own = (SCALE, "s"), (ZERO, "z")
    whole = helper.make_graph(
        nodes,
        "resize",
        graph.input,
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [*graph.initializer, *(numpy_helper.from_array(np.array(value), name) for value, name in own)],
    )
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def compared(model: onnx.ModelProto) -> tuple[npt.NDArray[np.int64], Sequence[Match]]:
    """How far the integers are from onnxruntime's, and the layers."""
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    x = {"x": ((np.random.default_rng(0).integers(0, 256, shape) - int(ZERO)) * SCALE).astype(np.float32)}
    module = integer_network(load(model), "uint8")
    assert not qnn_operators(written(module))
    (given,), (expected,) = executable(module)(x), exact_session(model.SerializeToString(), signed=True).run(None, x)
    assert len(np.unique(expected)) > 5
    return given.astype(np.int64) - expected, [one for one in find(module) if isinstance(one, Match)]


@settings(max_examples=150, deadline=None)
@given(
    before=st.integers(1, 40),
    by=st.one_of(st.integers(1, 70), st.floats(0.125, 4, width=32)),
    coordinates=st.sampled_from(sorted(COORDINATES)),
    rounding=st.sampled_from(sorted(NEAREST)),
)
@example(before=14, by=19, coordinates="half_pixel", rounding="round_prefer_floor")
@example(before=14, by=39, coordinates="pytorch_half_pixel", rounding="round_prefer_ceil")
@example(before=3, by=1, coordinates="half_pixel_symmetric", rounding="floor")
@example(before=20, by=np.float32(1.04).item(), coordinates="asymmetric", rounding="floor")
@example(before=10, by=np.float32(1.05).item(), coordinates="half_pixel", rounding="ceil")
def test_the_nearest_elements_are_onnxruntimes(before: int, by: float, coordinates: str, rounding: str) -> None:
    """An axis grows alone or beside another one: then an axis that keeps its size may change."""
    if before * by < 1:
        return
    scales = np.array([2, by], np.int64 if isinstance(by, int) else np.float32)
    modes: dict[str, Any] = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    model = resize((1, before), scales, mode="nearest", **modes)
    (expected,) = exact_session(model.SerializeToString()).run(None, {"x": np.arange(before, dtype=np.float32)[None]})
    axes = resized_axes((1, before), range(2), *((None, scales) if isinstance(by, int) else (scales, None)))
    found = nearest_elements(axes[1], coordinates, rounding) if 1 in axes else np.arange(before)
    assert np.array_equal(found, expected[0])


@pytest.mark.parametrize(
    ("shape", "numbers", "attributes"),
    [
        ((1, 5, 6, 7), [1, 1, 1.5, 1.7], {}),
        ((1, 5, 6, 7), [1, 1, 0.6, 2.5], {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
        ((2, 5, 6, 7), [2, 5, 9, 13], {"coordinate_transformation_mode": "align_corners"}),
        ((1, 5, 9), [1, 1, 1.3], {}),
        ((3, 4, 5, 6), [1.5, 0.5, 1, 1], {"axes": [2, 0, 1, 3], "nearest_mode": "ceil"}),
        ((1, 3, 4, 5, 6), [7, 3], {"axes": [-1, 2], "coordinate_transformation_mode": "half_pixel_symmetric"}),
        ((9, 11), [20, 5], {"nearest_mode": "round_prefer_ceil"}),
    ],
)
def test_nearest(shape: tuple[int, ...], numbers: list[float], attributes: Mapping[str, Any]) -> None:
    """Any rank and axes: all of it is taken from an axis after the other, and is exact."""
    array = np.array(numbers, np.int64 if all(isinstance(one, int) for one in numbers) else np.float32)
    off, layers = compared(quantized(shape, array, mode="nearest", **attributes))
    assert not off.any()
    assert {layer.layer.op for layer in layers} - {Op.SLICE} == {Op.QUANTIZE, Op.GATHER}
    assert all(layer.reference for layer in layers)


@pytest.mark.parametrize(
    ("shape", "numbers", "attributes"),
    [
        ((1, 5, 6, 7), [1, 1, 1.5, 1.7], {}),
        ((1, 5, 9, 7), [1, 1, 0.6, 2.5], {"coordinate_transformation_mode": "asymmetric"}),
        ((1, 5, 9, 7), [1, 1, 1.7, 0.7], {"coordinate_transformation_mode": "pytorch_half_pixel"}),
        ((1, 5, 9, 7), [1, 1, 1.7, 1], {"coordinate_transformation_mode": "align_corners"}),
        ((2, 3, 6, 7), [10, 9], {"axes": [2, 3], "coordinate_transformation_mode": "half_pixel_symmetric"}),
        ((1, 6, 7, 5), [1, 1.5, 1.5, 1], {}),
        ((1, 5, 9), [1, 1, 1.3], {}),
        ((6, 7), [13, 5], {}),
    ],
)
def test_linear(shape: tuple[int, ...], numbers: list[float], attributes: Mapping[str, Any]) -> None:
    """One axis or two become integers within one step of onnxruntime, which are said to be no more than that."""
    array = np.array(numbers, np.int64 if all(isinstance(one, int) for one in numbers) else np.float32)
    off, layers = compared(quantized(shape, array, mode="linear", **attributes))
    assert np.abs(off).max() <= 1
    assert [layer.reference for layer in layers if layer.layer.op is Op.RESIZE] == [False]


def test_scales_that_are_quantized() -> None:
    """As quantizers write them that quantize every constant."""
    model = quantized((1, 5, 6, 7), np.array([1, 1, 1.5, 2], np.float32), mode="nearest")
    (place,) = [place for place, node in enumerate(model.graph.node) if node.op_type == "Resize"]
    constants = {"halves": np.array([2, 2, 3, 4], np.uint8), "half": np.float32(0.5), "none": np.uint8(0)}
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(one), name) for name, one in constants.items())
    model.graph.node[place].input[2] = "real_scales"
    model.graph.node.insert(place, helper.make_node("DequantizeLinear", [*constants], ["real_scales"]))
    off, layers = compared(model)
    assert not off.any()
    assert {layer.layer.op for layer in layers} - {Op.SLICE} == {Op.QUANTIZE, Op.GATHER}


@pytest.mark.parametrize("opset", [9, 10])
@pytest.mark.parametrize(("mode", "most"), [("nearest", 0), ("linear", 1)])
@pytest.mark.parametrize("scales", [(2, 3), (1.5, 1.7), (0.6, 0.5), (0.7, 1.5)])
def test_before_opset_11(scales: tuple[float, float], mode: str, most: int, opset: int) -> None:
    """Without modes of coordinates; Upsample makes nothing smaller."""
    if opset == 9 and min(scales) < 1:
        return
    model = quantized((1, 3, 7, 8), np.array([1, 1, *scales], np.float32), opset=max(opset, 10), mode=mode)
    if opset == 9:  # which has no quantize
        plain = resize((1, 3, 7, 8), np.array([1, 1, *scales], np.float32), opset=9, mode=mode)
        x = np.random.default_rng(1).normal(0, 1, (1, 3, 7, 8)).astype(np.float32)
        (expected,) = exact_session(plain.SerializeToString()).run(None, {"x": x})
        (found,) = evaluate(graph_of(plain), [x])
        np.testing.assert_allclose(found, expected, atol=1e-5)
        return
    off, _ = compared(model)
    assert np.abs(off).max() <= most


def test_along_three_axes_it_stays_in_floating_point() -> None:
    """Rounding twice would be more than a step."""
    off, layers = compared(quantized((1, 2, 3, 4, 5), np.array([1, 1, 2, 2, 2], np.float32), mode="linear"))
    assert np.abs(off).max() <= 1
    assert Op.RESIZE not in {layer.layer.op for layer in layers}


def test_sequences_between_convolutions(tmp_path: Path) -> None:
    """They are maps of one row."""
    model = OnnxModel((1, 4, 20))
    model.add("Conv", model.constant(model.rng.normal(0, 0.3, (6, 4, 3))), pads=[1, 1])
    model.add("Resize", "", model.constant(np.array([1.0, 1, 1.5])), mode="nearest")
    model.add("Conv", model.constant(model.rng.normal(0, 0.4, (4, 6, 1))))
    path = expose_integers(quantize(model, tmp_path, "QDQ", "QUInt8", True))
    module = integer_network(load(path), "uint8")
    x = {"x": np.random.default_rng(2).normal(0, 1, (1, 4, 20)).astype(np.float32)}
    for given_, expected in zip(executable(module)(x), exact_session(path).run(None, x), strict=True):
        np.testing.assert_array_equal(given_, expected)
    assert sum(isinstance(one, Match) and one.layer.op is Op.GATHER for one in find(module)) == 1


@pytest.mark.parametrize(
    ("numbers", "attributes", "problem"),
    [
        ([1, 1, 1.7, 1.7], {"mode": "cubic"}, r"Resize \(enlarge\) of mode 'cubic'"),
        ([1, 2, 1, 1], {"mode": "cubic"}, r"Resize \(enlarge\) of mode 'cubic'"),
    ],
)
def test_what_nothing_computes_is_refused(numbers: list[float], attributes: Mapping[str, Any], problem: str) -> None:
    model = quantized((1, 2, 6, 7), np.array(numbers, np.float32), **attributes)
    model.graph.node[2].name = "enlarge"
    with pytest.raises(ModelError, match=rf"uses {problem}, which cannot be compiled"):
        load(model)


def on_integers(shape: Sequence[int], numbers: npt.NDArray[Any], dtype: str, **attributes: Any) -> onnx.ModelProto:
    """A Resize of the integers themselves, as files of operators on integers (QOperator) have it; steps are 1."""
    model = resize(shape, numbers, **attributes)
    graph, kind = model.graph, helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph.node[0].input[0], graph.node[0].name = "levels", "enlarge"
    graph.node.insert(0, helper.make_node("QuantizeLinear", ["x", "s", "z"], ["bytes"]))
    graph.node.insert(1, helper.make_node("Cast", ["bytes"], ["levels"], to=kind))
    graph.output[0].type.tensor_type.elem_type = kind
    zero = np.array(0, dtype if dtype in ("int8", "uint8") else np.uint8)
    graph.initializer.extend([numpy_helper.from_array(np.float32(1), "s"), numpy_helper.from_array(zero, "z")])
    return onnx.shape_inference.infer_shapes(model)


@pytest.mark.parametrize(("mode", "dtype"), [("cubic", "uint8"), ("linear", "int32")])
def test_integers_between_which_nothing_interpolates(mode: str, dtype: str) -> None:
    model = on_integers((1, 2, 6, 7), np.array([1, 1, 2, 2], np.float32), dtype, mode=mode)
    with pytest.raises(ModelError, match=rf"Resize \(enlarge\) of mode '{mode}' on {dtype}, which cannot be compiled"):
        load(model)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("coordinates", sorted(COORDINATES))
@pytest.mark.parametrize(
    ("extents", "numbers"),
    [
        ((1, 6, 7, 5), np.array([1, 6, 14, 10])),
        ((1, 3, 7, 5), np.array([1, 1, 1.7, 2.5], np.float32)),
        ((1, 3, 9, 8), np.array([1, 3, 4, 3])),
    ],
)
def test_interpolated_integers(extents: Sequence[int], numbers: Any, coordinates: str, dtype: str) -> None:
    """What is rounded here, onnxruntime cuts off."""
    model = on_integers(extents, numbers, dtype, mode="linear", coordinate_transformation_mode=coordinates)
    module = integer_network(load(model), "uint8")
    assert not qnn_operators(written(module))
    (layer,) = [one for one in find(module) if isinstance(one, Match) and one.layer.op is Op.RESIZE]
    assert not layer.reference
    run, reference = executable(module), exact_session(model.SerializeToString(), signed=True)
    for seed in range(5):
        limits = np.iinfo(dtype)
        x = np.random.default_rng(seed).integers(limits.min, limits.max, extents, endpoint=True).astype(np.float32)
        (found,), (expected,) = run({"x": x}), reference.run(None, {"x": x})
        assert np.abs(found.astype(np.int64) - expected).max() <= 1
        assert np.mean(found != expected) < 0.75


@pytest.mark.parametrize("dtype", ["QUInt8", "QInt8"])
def test_interpolation_in_a_file_of_operators_on_integers(tmp_path: Path, dtype: str) -> None:
    """Between convolutions: onnxruntime may lay out maps with channels last, and then interpolates in integers."""
    model = OnnxModel((1, 3, 9, 8))
    model.conv(6, pads=[1, 1, 1, 1])
    model.add("Resize", "", model.constant(np.array([1.0, 1, 2, 2])), mode="linear")
    path = expose_integers(quantize(model, tmp_path, "QOperator", dtype, per_channel=True))
    assert [node.op_type for node in onnx.load(path).graph.node][:3] == ["QuantizeLinear", "QLinearConv", "Resize"]
    module = integer_network(load(path), "uint8")
    assert all(isinstance(one, Match) for one in find(module))
    run, reference = executable(module), exact_session(path, signed=True)
    for seed in range(5):
        x = {"x": np.random.default_rng(seed).normal(0, 1, model.shape).astype(np.float32)}
        for found, expected in zip(run(x), reference.run(None, x), strict=True):
            step = 1 if np.issubdtype(expected.dtype, np.integer) else np.abs(np.diff(np.unique(expected))).min()
            assert np.abs(found.astype(np.float64) - expected).max() <= 1.01 * step


@pytest.mark.parametrize(
    ("method", "dtype", "known"),
    [
        ("nearest_neighbor", "float32", True),
        ("nearest_neighbor", "uint8", True),
        ("linear", "float32", True),
        ("cubic", "float32", False),
    ],
)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_resizes_of_relay(method: str, dtype: str, known: bool, layout: str) -> None:
    """What the graph has no class for stays Relay's; all are what TVM computes."""
    x = relay.var("x", shape=(1, 3, 4, 5), dtype=dtype)
    call = relay.image.resize2d(x, (8, 10), layout=layout, method=method, rounding_method="floor")
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], call)))
    graph = read_graph(main_function(module), rest=read_reals).graph
    assert any(isinstance(value.operator, Opaque) for value in graph.values) != known
    array = np.random.default_rng(0).integers(0, 200, (1, 3, 4, 5)).astype(dtype)
    (expected,), (found,) = Executable(module)({"x": array}), evaluate(graph, [array])
    np.testing.assert_allclose(found, expected, rtol=1e-5)
