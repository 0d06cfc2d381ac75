"""QLinearMatMul, and QLinearConv and ConvInteger of sequences, maps and volumes: every output is onnxruntime's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.ir.layer import Op
from match.partitioning.pattern.types import Match
from match.passes.pipeline import integer_network
from match.validation.exact_session import exact_session
from tests.frontend.refusals import refused
from tests.layers_of import find
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

CHANNELS, FILTERS = 4, 6
CONVOLUTIONS = Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D


def model_of(nodes: Sequence[Any], extents: Sequence[int], dtype: str, constants: dict[str, Any]) -> onnx.ModelProto:
    """Operators from the float input x to the output y."""
    graph = helper.make_graph(
        nodes,
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, CHANNELS, *extents))],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def convolution(
    extents: Sequence[int],
    window: Sequence[int],
    *,
    dtype: str = "uint8",
    weights: str = "int8",
    bias: bool = True,
    per_channel: bool = True,
    group: int = 1,
    filters: int = FILTERS,
    changed: dict[str, Any] | None = None,
    **attributes: Any,
) -> onnx.ModelProto:
    """A QLinearConv of a quantized input. Weights have 7 bits, as onnxruntime may saturate sums of larger ones."""
    rng = np.random.default_rng(5)
    low, middle = np.iinfo(dtype).min, 0 if weights == "int8" else 128
    shape = (filters, CHANNELS // group, *window)
    steps = rng.uniform(0.002, 0.01, filters if per_channel else ()).astype(np.float32)
    constants: dict[str, Any] = {
        "xs": np.float32(0.0314),
        "xz": np.dtype(dtype).type(low + 120),
        "w": (rng.integers(-64, 64, shape) + middle).astype(weights),
        "ws": steps,
        "wz": np.full(steps.shape, middle, weights),
        "ys": np.float32(0.0023 * np.prod(shape[1:]) ** 0.5),
        "yz": np.dtype(dtype).type(low + 110),
        **({"b": rng.integers(-900, 900, filters).astype(np.int32)} if bias else {}),
        **(changed or {}),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["levels"]),
        helper.make_node(
            "QLinearConv",
            ["levels", "xs", "xz", "w", "ws", "wz", "ys", "yz", *(["b"] if bias else [])],
            ["y"],
            name="filtered",
            group=group,
            **attributes,
        ),
    ]
    return model_of(nodes, extents, dtype, constants)


def compared(model: onnx.ModelProto, dtype: str = "uint8") -> list[Match]:
    """The layers of the network, whose integers are those of onnxruntime."""
    extents = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(3).normal(0, 1.5, extents).astype(np.float32)
    module = integer_network(load(model), "uint8")
    (ours,) = executable(module)({"x": x})
    (expected,) = exact_session(model.SerializeToString(), signed=dtype == "int8").run(None, {"x": x})
    assert len(np.unique(expected)) > 2
    assert ours.dtype == expected.dtype
    np.testing.assert_array_equal(ours, expected)
    return [one for one in find(module) if isinstance(one, Match)]


AXIS = st.tuples(st.integers(4, 9), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2))
"""Extent, window, stride, dilation, and padding, of which one less is behind."""


@settings(max_examples=24, deadline=None)
@given(
    axes=st.lists(AXIS, min_size=1, max_size=3),
    form=st.sampled_from([("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")]),
    bias=st.booleans(),
    per_channel=st.booleans(),
)
def test_every_output_is_onnxruntimes(axes: Any, form: tuple[str, str], *, bias: bool, per_channel: bool) -> None:
    extents, window, strides, dilations, before = (list(numbers) for numbers in zip(*axes, strict=True))
    behind = [max(side - 1, 0) for side in before]
    assume(all(side < size for side, size in zip(before, window, strict=True)))
    outputs = [
        (extent + sides - (size - 1) * hole - 1) // step + 1
        for extent, size, step, hole, sides in zip(
            extents, window, strides, dilations, map(sum, zip(before, behind, strict=True)), strict=True
        )
    ]
    assume(min(outputs) > 0)
    dtype, weights = form
    model = convolution(
        extents,
        window,
        dtype=dtype,
        weights=weights,
        bias=bias,
        per_channel=per_channel,
        strides=strides,
        dilations=dilations,
        pads=before + behind,
    )
    layers = [layer for layer in compared(model, dtype) if layer.layer.op in CONVOLUTIONS]
    assert len(layers) == (outputs[0] if len(axes) == 3 else 1)
    assert all(layer.reference for layer in layers)


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("extents", [[9], [8, 7], [5, 6, 4]])
def test_padding_that_follows_from_shapes(mode: str, extents: list[int]) -> None:
    compared(convolution(extents, [2] * len(extents), strides=[2] + [1] * (len(extents) - 1), auto_pad=mode))


@pytest.mark.parametrize("filters", [4, 8])
def test_a_sequence_in_groups(filters: int) -> None:
    """A filter for each channel, and two."""
    layers = compared(convolution([12], [3], group=CHANNELS, filters=filters, pads=[2, 0]))
    assert {Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D} & {layer.layer.op for layer in layers}


@pytest.mark.parametrize("rest", [{"group": 2}, {"dilations": [2, 1, 1]}])
def test_volumes_in_groups_and_with_holes_between_depths(rest: dict[str, Any]) -> None:
    layers = [layer for layer in compared(convolution([5, 5, 4], [2, 3, 2], **rest)) if layer.layer.op in CONVOLUTIONS]
    assert len(layers) == 5 - rest.get("dilations", [1])[0]
    assert all(layer.reference for layer in layers)


@pytest.mark.parametrize("extents", [[12], [7, 6]])
def test_sums_of_integers(extents: list[int]) -> None:
    """ConvInteger with zero points, behind which the network scales numbers."""
    rng = np.random.default_rng(2)
    axes = len(extents)
    constants = {
        "s": np.float32(0.03),
        "z": np.uint8(120),
        "w": rng.integers(0, 128, (FILTERS, CHANNELS, *[3] * axes)).astype(np.uint8),
        "wz": np.uint8(60),
        "f": np.float32(0.0003),
        "so": np.float32(0.01),
        "zo": np.uint8(100),
    }
    sides = {
        "pads": [*range(axes), *[1] * axes],
        "strides": [*[1] * (axes - 1), 2],
        "dilations": [2, *[1] * (axes - 1)],
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("ConvInteger", ["levels", "w", "z", "wz"], ["sums"], **sides),
        helper.make_node("Cast", ["sums"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["numbers", "f"], ["scaled"]),
        helper.make_node("QuantizeLinear", ["scaled", "so", "zo"], ["y"]),
    ]
    compared(model_of(nodes, extents, "uint8", constants))


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (convolution([6] * 4, [2] * 4), "QLinearConv (filtered) of tensors with 6 axes"),
        (
            convolution([8], [3], changed={"ws": np.full(3, 0.01, np.float32), "wz": np.zeros(3, np.int8)}),
            "QLinearConv (filtered) with 3 scales for 6 filters",
        ),
        (
            convolution([8], [3], changed={"wz": np.zeros(3, np.int8)}),
            "QLinearConv (filtered) with 3 zero points for 6 filters",
        ),
    ],
)
def test_what_is_refused(model: onnx.ModelProto, named: str, tmp_path: Path) -> None:
    onnx.save(model, tmp_path / "refused.onnx")
    assert named in refused(tmp_path / "refused.onnx")


def test_sums_of_volumes_are_refused(tmp_path: Path) -> None:
    constants = {
        "s": np.float32(0.03),
        "z": np.uint8(120),
        "w": np.ones((FILTERS, CHANNELS, 2, 2, 2), np.int8),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("ConvInteger", ["levels", "w", "z"], ["y"], name="summed"),
    ]
    onnx.save(model_of(nodes, [4, 4, 4], "int32", constants), tmp_path / "refused.onnx")
    assert "ConvInteger (summed) of volumes" in refused(tmp_path / "refused.onnx")


def product(
    left: Sequence[int], right: Sequence[int], *, dtype: str = "uint8", constant: bool = True, **changed: Any
) -> onnx.ModelProto:
    """A QLinearMatMul of a quantized input by weights with a scale for each column, or by the input, transposed."""
    rng = np.random.default_rng(7)
    low, columns = np.iinfo(dtype).min, right[-1]
    kind = np.dtype("int8" if constant else dtype)
    constants: dict[str, Any] = {
        "xs": np.float32(0.0314),
        "xz": np.dtype(dtype).type(low + 120),
        "w": rng.integers(-64, 64, right).astype(np.int8),
        "ws": rng.uniform(0.002, 0.01, columns).astype(np.float32) if constant else np.float32(0.0314),
        "wz": np.zeros(columns, kind) if constant else kind.type(low + 120),
        "ys": np.float32((0.004 if constant else 0.03) * left[-1] ** 0.5),
        "yz": np.dtype(dtype).type(low + 110),
        **changed,
    }
    order = [*range(len(left) - 2), len(left) - 1, len(left) - 2]
    other = "w" if constant else "turned"
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["levels"]),
        *([] if constant else [helper.make_node("Transpose", ["levels"], ["turned"], perm=order)]),
        helper.make_node(
            "QLinearMatMul", ["levels", "xs", "xz", other, "ws", "wz", "ys", "yz"], ["y"], name="multiplied"
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, left)],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


@settings(max_examples=12, deadline=None)
@given(
    batch=st.lists(st.integers(1, 3), max_size=2),
    sizes=st.tuples(st.integers(2, 5), st.integers(2, 9), st.integers(3, 6)),
    dtype=st.sampled_from(["uint8", "int8"]),
)
def test_a_matrix_with_a_scale_for_each_column(batch: list[int], sizes: tuple[int, int, int], dtype: str) -> None:
    rows, inner, columns = sizes
    layers = compared(product([*batch, rows, inner], [inner, columns], dtype=dtype), dtype)
    assert [(layer.layer.op, layer.reference) for layer in layers if layer.layer.op is Op.DENSE] == [(Op.DENSE, True)]


@pytest.mark.parametrize("left", [(3, 4, 5), (1, 2, 3, 8)])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_two_activations(left: tuple[int, ...], dtype: str) -> None:
    right = (*left[:-2], left[-1], left[-2])
    layers = compared(product(left, right, dtype=dtype, constant=False), dtype)
    assert [layer.reference for layer in layers if layer.layer.op is Op.MATRICES] == [True]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (
            {"ws": np.full(3, 0.01, np.float32)},
            "QLinearMatMul (multiplied) with other scales or zero points for its columns",
        ),
        (
            {"xs": np.full(5, 0.01, np.float32), "xz": np.zeros(5, np.uint8)},
            "QLinearMatMul (multiplied) with other scales or zero points for its rows",
        ),
    ],
)
def test_products_that_are_refused(changed: dict[str, Any], named: str, tmp_path: Path) -> None:
    model = product((5, 6), (6, 4), **changed)
    if "xs" in changed:  # the quantize in front has one scale
        model.graph.node[0].input[1:] = ["ys", "yz"]
    onnx.save(model, tmp_path / "refused.onnx")
    assert named in refused(tmp_path / "refused.onnx")


def test_a_choice_between_integers() -> None:
    """QLinearWhere, and QLinearAveragePool with the attribute that onnxruntime writes into the files that it saves."""
    rng = np.random.default_rng(4)
    constants = {
        "mask": rng.random((1, 3, 4, 5)) < 0.5,
        "s": np.float32(0.02),
        "z": np.uint8(120),
        "other": rng.integers(0, 256, (1, 3, 1, 1)).astype(np.uint8),
        "so": np.float32(0.031),
        "zo": np.uint8(100),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node(
            "QLinearWhere",
            ["mask", "levels", "s", "z", "other", "so", "z", "so", "zo"],
            ["chosen"],
            domain="com.microsoft",
        ),
        helper.make_node(
            "QLinearAveragePool",
            ["chosen", "so", "zo", "so", "zo"],
            ["means"],
            domain="com.microsoft",
            kernel_shape=[3, 1],
            channels_last=0,
        ),
        helper.make_node("DequantizeLinear", ["means", "so", "zo"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "choice",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 4, 5))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 3, 2, 5))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    x = rng.normal(0, 1, (1, 3, 4, 5)).astype(np.float32)
    (found,) = executable(integer_network(load(model), "uint8"))({"x": x})
    (expected,) = exact_session(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_array_equal(found, expected)
