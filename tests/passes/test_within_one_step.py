"""Functions that onnxruntime computes in floating point, in integers: outputs are within one step of its."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.errors import ModelError
from match.frontend import load
from match.ir.layer import Op
from match.validation.exact_session import exact_session
from tests.passes.one_operator import distances, integers, quantized, references
from tests.passes.onnx_models import OnnxModel, quantize
from tests.passes.running import executable, written
from tests.sampled import in_turn
from tests.seeds import seeded

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("width", [2, 10, 197, 1000])
@seeded(3, 30)
def test_softmax(seed: int, width: int, dtype: str) -> None:
    """In the usual steps of 1/255, and in smaller ones as a calibration gives them where no probability is near 1."""
    rng = np.random.default_rng(seed)
    lowest = np.iinfo(dtype).min
    scale, whole = np.float32(rng.uniform(0.005, 0.4)), dtype == "int8" or rng.random() < 0.5
    steps = np.float32(1 / 255 if whole else rng.uniform(0.02, 1) / 255)
    zero = np.dtype(dtype).type(lowest + rng.integers(0, 256))
    constants = {"s": scale, "z": zero, "so": steps, "zo": np.dtype(dtype).type(lowest)}
    levels = rng.integers(-128, 128, (30, width))
    levels[:, 0] = 127
    levels[:, 1:] = np.minimum(levels[:, 1:], 127 - 4 * np.arange(30)[:, None])  # one stands out, more and more
    x = (levels * scale).astype(np.float32)
    model = quantized("Softmax", x.shape, constants, axis=-1)
    off = distances(model, integers(model), x)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.05


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_along_another_axis(axis: int) -> None:
    rng = np.random.default_rng(axis)
    constants = {"s": np.float32(0.1), "z": np.uint8(3), "so": np.float32(1 / 255), "zo": np.uint8(0)}
    model = quantized("Softmax", (4, 5, 6), constants, axis=axis)
    module = integers(model)
    assert references(module, Op.SOFTMAX) == [False]
    assert distances(model, module, rng.normal(12, 2, (4, 5, 6)).astype(np.float32)).max() <= 1


@pytest.mark.parametrize("axis", [1, 2, -1])
def test_softmax_of_a_map_is_one_layer(axis: int, tmp_path: Path) -> None:
    """Behind a convolution, along channels, rows or columns: in the report, too, it is within one step."""
    network = OnnxModel((1, 3, 7, 6))
    network.conv(5, pads=[1, 1, 1, 1])
    network.add("Softmax", axis=axis)
    model = onnx.load(quantize(network, tmp_path, "QDQ", "QUInt8", True))
    module = integers(model)
    assert references(module, Op.SOFTMAX) == [False]
    x = np.random.default_rng(1).normal(0, 1, (1, 3, 7, 6)).astype(np.float32)
    (given,) = executable(module)({"x": x})
    (expected,) = exact_session(model.SerializeToString()).run(None, {"x": x})
    scale = numpy_helper.to_array(next(one for one in model.graph.initializer if one.name == last_scale(model)))
    assert np.abs(given - expected).max() <= 1.01 * scale
    assert len(np.unique(expected)) > 10


def last_scale(model: onnx.ModelProto) -> str:
    """The name of the scale in which the output is dequantized."""
    return model.graph.node[-1].input[1]


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("width", [8, 64, 192, 1024])
@seeded(2, 20)
def test_layer_normalization(seed: int, width: int, dtype: str, *, small: bool) -> None:
    """Rows of large and of small deviations, and one without any; gains of either sign, none, and hardly any."""
    rng = np.random.default_rng(seed)
    low = np.iinfo(dtype).min
    scale, kind = np.float32(rng.uniform(0.005, 0.2)), np.dtype(dtype).type
    levels = np.rint(rng.normal(0, rng.uniform(1, 60, (30, 1)), (30, width))).clip(-128, 127)
    levels[0] = 5
    gain = (rng.normal(1, 0.6, width) * rng.uniform(0.1, 4)).astype(np.float32)
    gain[1] = 0
    bias = (rng.normal(0, 0.3, width)).astype(np.float32)
    steps = np.float32(np.abs(gain).max() * rng.uniform(2, 6) / 255)
    if small:
        gain, bias, steps = gain * np.float32(10.0 ** rng.uniform(-6, -2)), bias * 4, np.float32(0.02)
    constants = {
        "s": scale,
        "z": kind(low + 128),
        "so": steps,
        "zo": kind(low + rng.integers(90, 160)),
        "gain": gain,
        "bias": bias,
    }
    x = (levels * scale).astype(np.float32)
    epsilon = float(rng.choice([1e-5, 1e-2, 1]))
    model = quantized("LayerNormalization", x.shape, constants, axis=-1, epsilon=epsilon)
    off = distances(model, integers(model), x)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.05


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize(
    ("kind", "attributes", "opset", "parameters", "layers"),
    [
        ("InstanceNormalization", {}, 17, (6, 1, 1), 6),
        ("GroupNormalization", {"num_groups": 3}, 21, (6, 1, 1), 3),
        ("LayerNormalization", {"axis": 1}, 17, (6, 5, 4), 1),
        ("LayerNormalization", {"axis": -2}, 17, (5, 4), 1),
        ("LayerNormalization", {"axis": 2}, 17, (1, 4), 1),
    ],
)
def test_normalization_of_maps(
    kind: str, attributes: dict[str, Any], opset: int, parameters: tuple[int, ...], layers: int, *, alike: bool
) -> None:
    """Channels are normalized, groups of them and several axes; gains and biases that all rows share are a layer."""
    rng = np.random.default_rng(opset)
    levels = np.rint(rng.normal(0, rng.uniform(10, 60, (1, 6, 1, 1)), (1, 6, 5, 4))).clip(-128, 127)
    gain, bias = rng.normal(1, 0.5, parameters), rng.normal(0, 0.3, parameters)
    if alike:
        gain, bias = np.full(parameters, 0.8), np.full(parameters, -0.1)
    if kind != "LayerNormalization":
        gain, bias = gain.reshape(-1), bias.reshape(-1)
    constants = {
        "s": np.float32(0.05),
        "z": np.int8(0),
        "so": np.float32(np.abs(gain).max() * 5 / 255),
        "zo": np.int8(4),
        "gain": gain.astype(np.float32),
        "bias": bias.astype(np.float32),
    }
    model = quantized(kind, levels.shape, constants, opset=opset, epsilon=1e-4, **attributes)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.INT8, levels.shape))
    module = integers(model)
    assert references(module, Op.NORMALIZE) == [False] * (1 if alike else layers)
    off = distances(model, module, (levels * 0.05).astype(np.float32))
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.05


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("affine", [False, True])
def test_layer_normalization_written_out(dtype: str, *, affine: bool) -> None:
    """As exporters wrote it before ONNX had the operator."""
    rng, low, width = np.random.default_rng(4), np.iinfo(dtype).min, 48
    kind, scale = np.dtype(dtype).type, np.float32(0.05)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s", "z"], ["real"]),
        helper.make_node("ReduceMean", ["real"], ["mean"], axes=[-1]),
        helper.make_node("Sub", ["real", "mean"], ["distance"]),
        helper.make_node("Pow", ["distance", "two"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["variance"], axes=[-1]),
        helper.make_node("Add", ["variance", "epsilon"], ["more"]),
        helper.make_node("Sqrt", ["more"], ["deviation"]),
        helper.make_node("Div", ["distance", "deviation"], ["normal"]),
        helper.make_node("Mul", ["normal", "gain"], ["scaled"]),
        helper.make_node("Add", ["scaled", "bias"], ["moved"]),
        helper.make_node("QuantizeLinear", ["moved" if affine else "normal", "so", "zo"], ["y"]),
    ]
    constants = {
        "s": scale,
        "z": kind(low + 128),
        "so": np.float32(0.03),
        "zo": kind(low + 120),
        "two": np.float32(2),
        "epsilon": np.float32(1e-5),
        "gain": rng.normal(1, 0.4, width).astype(np.float32),
        "bias": rng.normal(0, 0.3, width).astype(np.float32),
    }
    graph = helper.make_graph(
        nodes if affine else [*nodes[:9], nodes[11]],
        "normalization",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (40, width))],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), (40, width))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = (rng.normal(0, rng.uniform(0.2, 3, (40, 1)), (40, width))).astype(np.float32)
    module = integers(model)
    off = distances(model, module, x)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.05
    assert references(module, Op.NORMALIZE) == [False]


def test_gains_that_are_no_numbers_stay_in_floating_point() -> None:
    gain = np.array([1, np.nan, 2, 3, 4, 5, 6, 7], np.float32)
    constants = {"s": np.float32(0.1), "z": np.uint8(3), "so": np.float32(0.02), "zo": np.uint8(0), "gain": gain}
    module = integers(quantized("LayerNormalization", (1, 3, 8), constants, axis=-1))
    assert "sqrt" in written(module).astext(show_meta_data=False)


@pytest.mark.parametrize("scale", [0, -0.1, np.nan, np.inf])
def test_a_scale_that_is_none_is_refused(scale: float) -> None:
    constants = {"s": np.float32(0.1), "z": np.uint8(3), "so": np.float32(scale), "zo": np.uint8(0)}
    with pytest.raises(ModelError, match=rf"QuantizeLinear \(number 3\) with a scale of {scale:g}; scales must be"):
        load(quantized("Softmax", (1, 5, 6), constants, axis=-1))


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize(
    ("shape", "axes"), [((1, 40, 7, 5), [2, 3]), ((1, 12, 33), [1]), ((1, 21, 30), [-1]), ((1, 4, 5, 30), [1, 2])]
)
@seeded(2, 20)
def test_means(seed: int, shape: tuple[int, ...], axes: list[int], *, same: bool) -> None:
    """Within one quantization many are halves, which go where a sum in float32 takes them."""
    rng = np.random.default_rng(seed)
    scale, zero = np.float32(rng.uniform(0.005, 0.2)), np.uint8(rng.integers(110, 146))
    steps, other = (scale, zero) if same else (np.float32(scale * rng.uniform(0.5, 1)), np.uint8(rng.integers(92, 164)))
    x = ((rng.integers(0, 256, shape) - int(zero)) * scale).astype(np.float32)
    model = quantized("ReduceMean", shape, {"s": scale, "z": zero, "so": steps, "zo": other}, axes=axes, keepdims=0)
    module = integers(model)
    off = distances(model, module, x)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.2
    (proven,) = references(module, Op.AVG_POOL2D)
    assert not (proven and off.any())


@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize("size", [(14, 10), (11, 13), (3, 4), (1, 5), (21, 15)])
@seeded(1, 10)
def test_interpolation(seed: int, size: tuple[int, int], mode: str) -> None:
    """To larger and to smaller maps; onnxruntime's outputs are rounded or cut off, as its version has it."""
    rng = np.random.default_rng(seed)
    scale, zero = np.float32(rng.uniform(0.005, 0.2)), np.uint8(rng.integers(0, 256))
    x = ((rng.integers(0, 256, (1, 6, 7, 5)) - int(zero)) * scale).astype(np.float32)
    model = quantized(
        "Resize",
        x.shape,
        {"s": scale, "z": zero, "so": scale, "zo": zero, "sizes": np.array([1, 6, *size])},
        more=["", "", "sizes"],
        mode="linear",
        coordinate_transformation_mode=mode,
    )
    module = integers(model)
    assert distances(model, module, x).max() <= 1
    assert references(module, Op.RESIZE) == [False]


@pytest.mark.parametrize(("factor", "zero", "layers"), [(1.3, 100, 1), (0.8, 200, 1), (0.5, 128, 0)])
@seeded(1, 10)
def test_interpolation_to_another_scale(seed: int, factor: float, zero: int, layers: int) -> None:
    """The smaller steps that have no room for all of the input are not half as large, or it stays in floating point."""
    rng = np.random.default_rng(seed)
    scale = np.float32(rng.uniform(0.005, 0.2))
    x = ((rng.integers(0, 256, (1, 6, 7, 5)) - 128) * scale).astype(np.float32)
    scales = {"s": scale, "z": np.uint8(128), "so": np.float32(scale * factor), "zo": np.uint8(zero)}
    constants = scales | {"sizes": np.array([1, 6, 14, 9])}
    model = quantized("Resize", x.shape, constants, more=["", "", "sizes"], mode="linear")
    module = integers(model)
    assert references(module, Op.RESIZE) == [False] * layers
    assert not layers or distances(model, module, x).max() <= 1


WINDOWS: list[dict[str, Any]] = [
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 2], "strides": [1, 2]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 0, 1, 2], "count_include_pad": 1},
    {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [3, 5], "strides": [2, 2], "pads": [1, 2, 0, 2]},
    {"kernel_shape": [3, 2], "strides": [2, 3], "ceil_mode": 1},
]


@pytest.mark.parametrize(("windows", "dtype"), in_turn([(one,) for one in WINDOWS], [("uint8",), ("int8",)]))
def test_averages_of_parts_of_a_map(windows: dict[str, Any], dtype: str) -> None:
    """Exact halves may go either way; of nine values there are none, and of four all is exact where that was asked."""
    rng = np.random.default_rng(7)
    constants = {"s": np.float32(0.03), "z": np.dtype(dtype).type(20), "so": np.float32(0.03)}
    model = quantized("AveragePool", (1, 5, 11, 12), constants | {"zo": constants["z"]}, **windows)
    x = rng.normal(0, 2, (1, 5, 11, 12)).astype(np.float32)
    close, exact = integers(model, exact=False), integers(model)
    assert distances(model, close, x).max() <= 1
    assert distances(model, exact, x).max() == 0 or windows["kernel_shape"] != [2, 2]
    proven = windows["kernel_shape"] == [3, 3] and "count_include_pad" in windows
    assert all(references(close, Op.AVG_POOL2D)) == proven
    assert references(exact, Op.AVG_POOL2D) == ([True] if proven else [])
    assert not proven or not distances(model, close, x).any()


def addition() -> onnx.ModelProto:
    """An addition of all pairs of values; onnxruntime's float32 puts two of them on the other side of a half."""
    scales = {"sa": 0.032729506, "sb": 0.032717656, "so": 0.023869662}
    zeros = {"za": 120, "zb": 116, "zo": 0}
    nodes = [
        *(helper.make_node("QuantizeLinear", [name, f"s{name}", f"z{name}"], [f"{name}q"]) for name in "ab"),
        *(helper.make_node("DequantizeLinear", [f"{name}q", f"s{name}", f"z{name}"], [f"{name}r"]) for name in "ab"),
        helper.make_node("Add", ["ar", "br"], ["result"]),
        helper.make_node("QuantizeLinear", ["result", "so", "zo"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "addition",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 1, 256, 256)) for name in "ab"],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, (1, 1, 256, 256))],
        [
            *(numpy_helper.from_array(np.array(value, np.float32), name) for name, value in scales.items()),
            *(numpy_helper.from_array(np.array(value, np.uint8), name) for name, value in zeros.items()),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_an_addition_that_no_plane_describes() -> None:
    """A table of all pairs, or if that suffices the plane that is off at the fewest."""
    model, levels = addition(), np.arange(256, dtype=np.float32)
    x = {
        "a": ((levels - 120) * np.float32(0.032729506))[:, None] + np.zeros((1, 1, 1, 256), np.float32),
        "b": ((levels - 116) * np.float32(0.032717656))[None, :] + np.zeros((1, 1, 256, 1), np.float32),
    }
    (expected,) = exact_session(model.SerializeToString()).run(None, x)
    exact, close = integers(model), integers(model, exact=False)
    for module, most in ((exact, 0), (close, 2)):
        (given,) = executable(module)(x)
        off = np.abs(given.astype(np.int64) - expected)
        assert off.max() <= 1
        assert np.count_nonzero(off) == most
    assert references(close, Op.ADD) == [False]
    assert references(exact, Op.ADD) == []
