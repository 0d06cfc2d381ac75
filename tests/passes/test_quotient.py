"""Divisions of two activations, as ONNX writes them, against onnxruntime: a line for each divisor."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.ir.layer import Op
from tests.passes.one_operator import distances, integers, references

pytestmark = pytest.mark.tvm

PAIRS = (1, 1, 256, 256)
"""All pairs of two 8-bit values."""

Shapes = tuple[tuple[int, ...], tuple[int, ...]]


def model_of(
    dtype: str, scales: tuple[float, float, float], zeros: tuple[int, int, int], shapes: Shapes = (PAIRS, PAIRS)
) -> onnx.ModelProto:
    """Quantize nodes around Div; `scales` and `zeros`, above the lowest value, are of a, b and the output."""
    low = int(np.iinfo(dtype).min)
    constants = {
        **{f"s_{name}": np.float32(scale) for name, scale in zip("abo", scales, strict=True)},
        **{f"z_{name}": np.dtype(dtype).type(low + zero) for name, zero in zip("abo", zeros, strict=True)},
    }
    nodes = [
        node
        for name in "ab"
        for node in (
            helper.make_node("QuantizeLinear", [name, f"s_{name}", f"z_{name}"], [f"levels_{name}"]),
            helper.make_node("DequantizeLinear", [f"levels_{name}", f"s_{name}", f"z_{name}"], [f"real_{name}"]),
        )
    ]
    nodes += [
        helper.make_node("Div", ["real_a", "real_b"], ["quotient"]),
        helper.make_node("QuantizeLinear", ["quotient", "s_o", "z_o"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "quotient",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, extents)
            for name, extents in zip("ab", shapes, strict=True)
        ],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def pairs(scales: tuple[float, float, float], zeros: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """Numbers that are quantized to each pair of levels."""
    a, b = np.indices((256, 256)).reshape(2, *PAIRS)
    numbers = ((levels - zero) * scale for levels, scale, zero in zip((a, b), scales, zeros, strict=False))
    return {name: each.astype(np.float32) for name, each in zip("ab", numbers, strict=True)}


CASES = {
    "of attention": ((0.020818, 0.049233, 0.0047213), (140, 0, 120)),
    "not negative": ((0.0039216, 0.05552, 0.00029762), (0, 0, 0)),
    "divisors of both signs": ((0.031337, 0.027182, 0.051413), (120, 127, 128)),
    "two outputs": ((0.031337, 0.027182, 1.7), (120, 99, 254)),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("case", CASES)
def test_all_pairs(case: str, dtype: str) -> None:
    """Also of divisors that are 0: the lowest or the highest output, and the lowest for 0 / 0."""
    scales, zeros = CASES[case]
    model = model_of(dtype, scales, zeros)
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == [True]
    assert not distances(model, module, pairs(scales, zeros)).any()


@pytest.mark.parametrize(
    "shapes",
    [
        ((1, 2, 64, 8), (1, 2, 64, 1)),
        ((1, 16, 4, 18), (1, 1, 4, 18)),
        ((1, 1, 1, 7), (1, 5, 6, 1)),
    ],
)
def test_broadcasting(shapes: Shapes) -> None:
    scales, zeros = CASES["of attention"]
    model = model_of("uint8", scales, zeros, shapes)
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == [True]
    rng = np.random.default_rng(2)
    feed = {name: rng.uniform(-3, 6, extents).astype(np.float32) for name, extents in zip("ab", shapes, strict=True)}
    assert not distances(model, module, feed).any()


def test_a_function_of_a_quotient_by_0() -> None:
    """A line, too; in the middle of all pairs divisors are 0, so that nothing has a slope there."""
    scales, zeros = CASES["divisors of both signs"]
    model = model_of("uint8", scales, zeros)
    nodes = list(model.graph.node)
    at = next(index for index, node in enumerate(nodes) if node.op_type == "Div")
    nodes[at].output[0] = "turned"
    nodes.insert(at + 1, helper.make_node("Neg", ["turned"], ["quotient"]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == [True]
    assert not distances(model, module, pairs(scales, zeros)).any()


def test_a_pixel_is_no_dividend_of_a_map() -> None:
    """It would be another line of each dividend; there is no layer for that order, but the integers are the same."""
    scales, zeros = CASES["of attention"]
    model = model_of("uint8", scales, zeros, ((1, 1, 1, 7), (1, 5, 6, 7)))
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == []
    rng = np.random.default_rng(2)
    feed = {"a": rng.uniform(-3, 3, (1, 1, 1, 7)), "b": rng.uniform(0, 12, (1, 5, 6, 7))}
    assert not distances(model, module, {name: x.astype(np.float32) for name, x in feed.items()}).any()


def test_halves_that_no_lines_have() -> None:
    """Every other dividend of a divisor is a half of an output's step, which goes to an even one: a table of pairs."""
    scales, zeros = (0.5, 0.25, 1.0), (120, 0, 100)
    model = model_of("uint8", scales, zeros)
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == []
    assert not distances(model, module, pairs(scales, zeros)).any()
