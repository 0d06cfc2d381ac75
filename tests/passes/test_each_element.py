"""Operators of a tensor and a constant for each element, and sums of several tensors, against onnxruntime."""

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
from match.passes.pipeline import integer_network
from match.validation.exact_session import exact_session
from tests.passes.one_operator import distances, integers, quantized, references
from tests.passes.onnx_models import OnnxModel, expose_integers, quantize
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

EXTENTS = (1, 4, 6, 5)
RNG_SEED = 5


def scales(dtype: str, *, same: bool = False) -> dict[str, Any]:
    low, kind = np.iinfo(dtype).min, np.dtype(dtype).type
    so, zo = (np.float32(0.03), kind(low + 120)) if same else (np.float32(0.05), kind(low + 90))
    return {"s": np.float32(0.03), "z": kind(low + 120), "so": so, "zo": zo}


def inputs(extents: tuple[int, ...] = EXTENTS) -> np.ndarray:
    return np.random.default_rng(RNG_SEED).normal(0, 1.5, extents).astype(np.float32)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("kind", ["Max", "Min"])
@pytest.mark.parametrize("in_front", [False, True])
def test_extrema(kind: str, dtype: str, *, in_front: bool) -> None:
    each = np.random.default_rng(1).normal(0, 1, EXTENTS).astype(np.float32)
    order = ["each", "real"] if in_front else ["real", "each"]
    model = quantized(kind, EXTENTS, scales(dtype) | {"each": each}, more=order[1:])
    model.graph.node[2].input[0] = order[0]
    module = integers(model)
    assert references(module, Op.MAXIMUM if kind == "Max" else Op.MINIMUM) == [True]
    assert not distances(model, module, inputs(), least=40).any()


@pytest.mark.parametrize("kind", ["Max", "Min"])
@pytest.mark.parametrize("extents", [EXTENTS, (6, 5), (4, 1, 1), (5,)])
def test_extrema_of_two_tensors(kind: str, extents: tuple[int, ...]) -> None:
    """In two scales; the second may be broadcast, by layers where it is a pixel or a channel."""
    constants = scales("uint8") | {"t": np.float32(0.02), "zt": np.uint8(99)}
    model = quantized(kind, EXTENTS, constants, more=["second"])
    model.graph.input.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, extents))
    for node in (
        helper.make_node("DequantizeLinear", ["levels2", "t", "zt"], ["second"]),
        helper.make_node("QuantizeLinear", ["b", "t", "zt"], ["levels2"]),
    ):
        model.graph.node.insert(0, node)
    module = integers(model)
    assert references(module, Op.MAXIMUM if kind == "Max" else Op.MINIMUM) == [True]
    assert not distances(model, module, {"x": inputs(), "b": inputs(extents)}, least=20).any()


MASKS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "each element": (EXTENTS, EXTENTS),
    "pixels": ((1, 1, 6, 5), EXTENTS),
    "channels": ((4, 1, 1), EXTENTS),
    "pairs of tokens": ((1, 1, 6, 6), (1, 3, 6, 6)),
}


CHOICES = [
    *(("each element", other, "int8") for other in ("number", "far", "each", "quantized")),
    *((masked, "number", "uint8") for masked in MASKS),
    ("pixels", "each", "uint8"),
]


@pytest.mark.parametrize(("masked", "other", "dtype"), CHOICES)
def test_choices(masked: str, other: str, dtype: str) -> None:
    """A number, one that no output has, one for each element, and numbers that are quantized; on either side."""
    extents, shape = MASKS[masked]
    rng = np.random.default_rng(2)
    constants = scales(dtype, same=other == "number") | {"mask": rng.random(extents) > 0.5}
    names = ["other", "other"]
    if other == "quantized":
        constants["steps"] = rng.integers(0, 100, shape).astype(dtype)
    else:
        far = np.float32(-np.inf if other == "far" else -1.1)
        constants["other"] = rng.normal(0, 1, shape).astype(np.float32) if other == "each" else far
    for at, in_front in enumerate((False, True)):
        model = quantized("Where", shape, constants, more=["real", names[0]])
        node = model.graph.node[2]
        node.input[:] = ["mask", names[0], "real"] if in_front else ["mask", "real", names[at]]
        if other == "quantized":
            model.graph.node.insert(2, helper.make_node("DequantizeLinear", ["steps", "so", "zo"], ["other"]))
        model = onnx.shape_inference.infer_shapes(model)
        module = integers(model)
        assert masked == "channels" or references(module, Op.MULTIPLY) == [True]
        assert not distances(model, module, inputs(shape), least=15).any()


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_choice_of_a_function_of_each_element(dtype: str) -> None:
    """As attention masks its scores over the root of their length, with nothing quantized between."""
    extents, shape = MASKS["pairs of tokens"]
    mask = np.random.default_rng(2).random(extents) > 0.5
    constants = scales(dtype) | {"mask": mask, "other": np.float32(-1.1), "root": np.float32(1.7)}
    model = quantized("Where", shape, constants, more=["real", "other"])
    model.graph.node[2].input[:] = ["mask", "other", "over"]
    model.graph.node.insert(2, helper.make_node("Div", ["real", "root"], ["over"]))
    model = onnx.shape_inference.infer_shapes(model)
    module = integers(model)
    assert references(module, Op.MULTIPLY) == [True]
    assert not distances(model, module, inputs(shape), least=15).any()


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_choice_of_two_tensors(dtype: str) -> None:
    mask = np.random.default_rng(2).random(EXTENTS) > 0.5
    constants = scales(dtype) | {"mask": mask, "t": np.float32(0.02)}
    model = quantized("Where", EXTENTS, constants, more=["real", "second"])
    model.graph.node[2].input[:] = ["mask", "real", "second"]
    for node in (
        helper.make_node("DequantizeLinear", ["levels2", "t", "zo"], ["second"]),
        helper.make_node("QuantizeLinear", ["squares", "t", "zo"], ["levels2"]),
        helper.make_node("Mul", ["x", "x"], ["squares"]),
    ):
        model.graph.node.insert(2, node)
    model = onnx.shape_inference.infer_shapes(model)
    assert not distances(model, integers(model), inputs(), least=40).any()


@pytest.mark.parametrize("kind", ["Equal", "Less", "GreaterOrEqual"])
def test_elements_that_compare_with_their_largest_neighbour(kind: str) -> None:
    """The peaks of a heat map: a comparison's truth values times the map."""
    constants = scales("uint8", same=True)
    model = quantized("MaxPool", EXTENTS, constants, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    nodes = [
        helper.make_node("DequantizeLinear", ["y", "so", "zo"], ["largest"]),
        helper.make_node(kind, ["largest", "real"], ["truth"]),
        helper.make_node("Cast", ["truth"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("QuantizeLinear", ["ones", "so", "zo"], ["levels2"]),
        helper.make_node("DequantizeLinear", ["levels2", "so", "zo"], ["factors"]),
        helper.make_node("Mul", ["factors", "real"], ["peaks"]),
        helper.make_node("QuantizeLinear", ["peaks", "so", "zo"], ["y2"]),
    ]
    model.graph.node.extend(nodes)
    model.graph.output[0].name = "y2"
    module = integers(model)
    assert references(module, Op.ADD) == [True]
    assert references(module, Op.MULTIPLY) == [True]
    assert not distances(model, module, inputs(), least=1).any()


@pytest.mark.parametrize(("diagonal", "upper"), [(None, 0), (None, 1), (-2, 1), (3, 0), (2, 1)])
def test_triangles(diagonal: int | None, upper: int) -> None:
    constants = scales("uint8") | ({} if diagonal is None else {"k": np.int64(diagonal)})
    model = quantized("Trilu", (2, 3, 6, 5), constants, upper=upper)
    module = integers(model)
    assert references(module, Op.MULTIPLY) == [True]
    assert not distances(model, module, inputs((2, 3, 6, 5)), least=20).any()


def test_a_diagonal_that_depends_on_the_inputs_is_refused() -> None:
    model = quantized("Trilu", EXTENTS, scales("uint8") | {"k": np.int64(1)})
    del model.graph.initializer[-1]
    model.graph.input.append(helper.make_tensor_value_info("k", TensorProto.INT64, []))
    with pytest.raises(
        ModelError, match=r"uses Trilu \(result\) with a diagonal that depends on the inputs, which cannot be"
    ):
        load(model)


@pytest.mark.parametrize(("largest", "dtype"), [(0.3, "uint8"), (-0.4, "int8")])
def test_slopes(largest: float, dtype: str) -> None:
    slopes = (largest * np.random.default_rng(4).random(EXTENTS[1:])).astype(np.float32)
    model = quantized("PRelu", EXTENTS, scales(dtype) | {"slopes": slopes})
    module = integers(model, exact=False)
    assert references(module, Op.ADD) == [False]
    off = distances(model, module, inputs(), least=30)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.1
    assert references(integers(model), Op.ADD) == []


def test_slopes_of_too_many_steps_stay() -> None:
    slopes = np.random.default_rng(4).normal(0, 20, EXTENTS[1:]).astype(np.float32)
    model = quantized("PRelu", EXTENTS, scales("uint8") | {"slopes": slopes})
    module = integers(model, exact=False)
    assert references(module, Op.ADD) == []
    assert not distances(model, module, inputs()).any()


def several(kind: str, steps: list[float], output: float) -> onnx.ModelProto:
    """An operator of as many inputs as `steps`, quantized in these, whose output is quantized in others."""
    count, nodes = len(steps), list[onnx.NodeProto]()
    names = [f"x{at}" for at in range(count)]
    constants = {f"s{at}": np.float32(step) for at, step in enumerate(steps)} | {"so": np.float32(output)}
    constants |= {f"z{at}": np.uint8(90 + 20 * at) for at in range(count)} | {"zo": np.uint8(110)}
    for at, name in enumerate(names):
        nodes.append(helper.make_node("QuantizeLinear", [name, f"s{at}", f"z{at}"], [f"{name}q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}q", f"s{at}", f"z{at}"], [f"{name}r"]))
    nodes.append(helper.make_node(kind, [f"{name}r" for name in names], ["total"]))
    nodes.append(helper.make_node("Relu", ["total"], ["result"]))
    nodes.append(helper.make_node("QuantizeLinear", ["result", "so", "zo"], ["y"]))
    graph = helper.make_graph(
        nodes,
        kind,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, EXTENTS) for name in names],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, EXTENTS)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("kind", "steps", "output"),
    [("Sum", [0.03, 0.02, 0.04], 0.05), ("Mean", [0.03, 0.02, 0.04], 0.02), ("Sum", [0.02] * 4, 0.06)],
)
def test_sums_of_several(kind: str, steps: list[float], output: float) -> None:
    """In integers within one step, unless all is to be exact."""
    model = several(kind, steps, output)
    rng = np.random.default_rng(6)
    x = {f"x{at}": rng.normal(0, 40 * step, EXTENTS).astype(np.float32) for at, step in enumerate(steps)}
    close = integers(model, exact=False)
    assert references(close, Op.ADD)[-1:] == [False]
    off = distances(model, close, x, least=20)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.35
    exact = integers(model)
    assert references(exact, Op.ADD) == []
    assert distances(model, exact, x).max() <= 1


def test_sums_of_many_steps_of_the_output_stay() -> None:
    module = integers(several("Sum", [0.03, 0.03, 0.04], 0.01), exact=False)
    assert references(module, Op.ADD) == []


def test_a_mask_of_a_map_is_laid_out_as_the_map_is(tmp_path: Path) -> None:
    """Between convolutions, whose channels are last."""
    network = OnnxModel((1, 3, 9, 8))
    network.conv(8)
    x = network.current
    network.current = network.constant(np.arange(42).reshape(1, 1, 7, 6) % 4)
    network.add("Cast", to=TensorProto.BOOL)
    network.add("Where", x, network.constant(np.array(-0.5)))
    network.conv(4, (1, 1))
    path = expose_integers(quantize(network, tmp_path, "QDQ", "QUInt8", per_channel=True))
    module = integer_network(load(path), "uint8")
    assert references(module, Op.MULTIPLY) == [True]
    values = {"x": np.random.default_rng(2).normal(0, 1, (1, 3, 9, 8)).astype(np.float32)}
    for one, other in zip(executable(module)(values), exact_session(path).run(None, values), strict=True):
        assert np.array_equal(one, other)
