"""ONNX's Einsum against onnxruntime: products of matrices are layers, other sums of products stay what they are."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.ir.layer import Op
from match.partitioning.pattern.types import Match
from match.passes.pipeline import integer_network
from match.validation.exact_session import exact_session
from tests.layers_of import find
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

Extents = tuple[int, ...]

# Extents of both tensors, the second one activations or weights.
ACTIVATIONS: dict[str, tuple[Extents, Extents]] = {
    "bhid,bhjd->bhij": ((1, 3, 4, 6), (1, 3, 5, 6)),
    "bhij,bhjd->bihd": ((2, 3, 4, 6), (2, 3, 6, 5)),
    "ij, jk": ((4, 6), (6, 5)),
    "bcxy,bcxz->byz": ((2, 3, 4, 5), (2, 3, 4, 6)),
}
WEIGHTS: dict[str, tuple[Extents, Extents]] = {
    "bnd,de->bne": ((2, 5, 6), (6, 4)),
    "bnd,dhe->bhne": ((1, 5, 6), (6, 2, 3)),
    "bnhe,hed->bnd": ((1, 5, 2, 3), (2, 3, 6)),
}
OTHERS: dict[str, tuple[Extents, Extents]] = {
    "bi,bj->bij": ((2, 5), (2, 4)),
    "...i,ij->...j": ((2, 3, 5), (5, 4)),
    "bik,jk->bj": ((2, 3, 5), (4, 5)),
}


def sums(
    equation: str, extents: tuple[Extents, Extents], weights: np.ndarray | None, axis: int | None
) -> onnx.ModelProto:
    """A sum of two quantized inputs, or of one and weights with one scale or as many as an axis has elements."""
    constants = {"s": np.float32(0.03), "z": np.uint8(120), "so": np.float32(0.1), "zo": np.uint8(130)}
    nodes = list[onnx.NodeProto]()
    for name in "ab" if weights is None else "a":
        nodes.append(helper.make_node("QuantizeLinear", [name, "s", "z"], [f"{name}q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}q", "s", "z"], [f"{name}r"]))
    if weights is not None:
        count = 1 if axis is None else weights.shape[axis]
        scales = np.linspace(0.01, 0.03, count, dtype=np.float32)
        constants |= {"w": weights, "sw": scales if axis is not None else scales[0]}
        constants["zw"] = np.zeros(count, np.int8) if axis is not None else np.int8(0)
        more = {} if axis is None else {"axis": axis}
        nodes.append(helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["br"], **more))
    nodes.append(helper.make_node("Einsum", ["ar", "br"], ["result"], equation=equation))
    nodes.append(helper.make_node("QuantizeLinear", ["result", "so", "zo"], ["y"]))
    graph = helper.make_graph(
        nodes,
        "sums",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, own)
            for name, own in zip("ab" if weights is None else "a", extents, strict=False)
        ],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, np.einsum(equation, *map(np.zeros, extents)).shape)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def layers_of(model: onnx.ModelProto, extents: tuple[Extents, ...]) -> list[str]:
    """The layers with sums of a model, whose outputs are onnxruntime's but for halves that its order of sums moves."""
    module = integer_network(load(model), "uint8")
    rng = np.random.default_rng(2)
    x = {name: rng.normal(0, 1.5, own).astype(np.float32) for name, own in zip("ab", extents, strict=False)}
    (given,) = executable(module)(x)
    (expected,) = exact_session(model.SerializeToString()).run(None, x)
    assert np.abs(given.astype(np.int64) - expected).max() <= 1
    assert np.mean(given != expected) < 0.02
    assert len(np.unique(expected)) > 5
    layers = [one for one in find(module) if isinstance(one, Match) and one.layer.op in (Op.DENSE, Op.MATRICES)]
    assert not any(one.reference for one in layers)
    return [one.layer.op.value for one in layers]


@pytest.mark.parametrize("equation", ACTIVATIONS)
def test_products_of_activations(equation: str) -> None:
    extents = ACTIVATIONS[equation]
    assert layers_of(sums(equation, extents, None, None), extents) == ["matrices"]


@pytest.mark.parametrize(("equation", "axis"), [*((name, None) for name in WEIGHTS), ("bnd,de->bne", 1)])
def test_products_with_weights(equation: str, axis: int | None) -> None:
    extents = WEIGHTS[equation]
    weights = np.random.default_rng(1).integers(-90, 91, extents[1]).astype(np.int8)
    assert layers_of(sums(equation, extents, weights, axis), extents[:1]) == ["dense"]


def test_weights_come_first() -> None:
    extents = ((2, 5, 6), (6, 4))
    weights = np.random.default_rng(1).integers(-90, 91, extents[1]).astype(np.int8)
    model = sums("bnd,de->ben", extents, weights, None)
    node = next(node for node in model.graph.node if node.op_type == "Einsum")
    node.input[:] = ["br", "ar"]
    node.attribute[0].s = b"de,bnd->ben"
    assert layers_of(model, extents[:1]) == ["dense"]


@pytest.mark.parametrize("equation", OTHERS)
def test_others(equation: str) -> None:
    assert layers_of(sums(equation, OTHERS[equation], None, None), OTHERS[equation]) == []
