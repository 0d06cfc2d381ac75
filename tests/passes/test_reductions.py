"""ONNX's reductions along any axes, named by an attribute or by an input, against onnxruntime."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from match.errors import ModelError
from match.frontend import load
from match.ir.layer import Op
from match.partitioning.pattern import Match
from tests.layers_of import find
from tests.passes.one_operator import distances, integers, quantized, references
from tests.seeds import seeded

pytestmark = pytest.mark.tvm

EXTENTS = (2, 3, 4, 5)
STEPS = {
    "ReduceSum": 0.5,
    "ReduceMean": 0.02,
    "ReduceMax": 0.03,
    "ReduceMin": 0.03,
    "ReduceProd": 0.004,
    "ReduceL1": 0.3,
    "ReduceL2": 0.05,
    "ReduceSumSquare": 0.4,
    "ReduceLogSumExp": 0.05,
}
"""Scales of the outputs, by operator."""


def reduction(kind: str, axes: list[int] | None, opset: int, **attributes: Any) -> onnx.ModelProto:
    constants: dict[str, Any] = {"s": np.float32(0.02), "z": np.uint8(100), "so": np.float32(STEPS[kind])}
    constants["zo"] = np.uint8(20)
    as_input = axes is not None and (opset >= 18 or kind == "ReduceSum")
    if as_input:
        constants["axes"] = np.array(axes, np.int64)
    elif axes is not None:
        attributes["axes"] = axes
    return quantized(kind, EXTENTS, constants, more=["axes"] if as_input else [], opset=opset, **attributes)


ALL_AXES = [[2, 3], [1], [-1, 1], [0], [1, 2, 3], None]
CASES = [
    *((kind, [3, 1], opset) for kind in STEPS for opset in (13, 18)),
    *((kind, axes, 18) for kind in ("ReduceSum", "ReduceMean", "ReduceL2") for axes in ALL_AXES),
]


@pytest.mark.parametrize(("kind", "axes", "opset"), CASES, ids=str)
def test_reductions(kind: str, axes: list[int] | None, opset: int) -> None:
    """Runtimes sum in any order, so that a half may go either way."""
    model = reduction(kind, axes, opset, keepdims=opset % 2)
    x = np.random.default_rng(3).normal(0, 1, EXTENTS).astype(np.float32)
    assert distances(model, integers(model), x, least=1).max() <= 1


def test_no_axes_may_be_nothing() -> None:
    model = reduction("ReduceSum", [], 13, noop_with_empty_axes=1)
    x = np.random.default_rng(3).normal(0, 1, EXTENTS).astype(np.float32)
    assert not distances(model, integers(model), x).any()


def test_axes_that_depend_on_the_inputs_are_refused() -> None:
    model = reduction("ReduceSum", [1], 13)
    del model.graph.initializer[-1]
    model.graph.input.append(helper.make_tensor_value_info("axes", TensorProto.INT64, [1]))
    with pytest.raises(
        ModelError, match=r"uses ReduceSum \(result\) along axes that depend on the inputs, which cannot be"
    ):
        load(model)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("kind", ["ReduceSumSquare", "ReduceMean"])
def test_squares_of_rows_are_products(kind: str, dtype: str) -> None:
    """Their sums, and their means behind a power."""
    low, number = np.iinfo(dtype).min, np.dtype(dtype).type
    constants = {"s": np.float32(0.02), "z": number(low + 100), "so": np.float32(0.2), "zo": number(low)}
    constants["so"] = np.float32(0.3 if kind == "ReduceSumSquare" else 0.02)
    model = quantized(kind, (2, 9, 24), constants | {"two": np.float32(2)}, more=[], axes=[-1], keepdims=0)
    if kind == "ReduceMean":
        model.graph.node[2].input[0] = "square"
        model.graph.node.insert(2, helper.make_node("Pow", ["real", "two"], ["square"]))
    module = integers(model)
    assert references(module, Op.MATRICES) == [False]
    x = np.random.default_rng(1).normal(0, 1, (2, 9, 24)).astype(np.float32)
    off = distances(model, module, x, least=8)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.05


@pytest.mark.parametrize(("axis", "op"), [(1, Op.CONV2D), (-1, Op.DENSE)])
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *(("ReduceSum", "uint8"), ("ReduceMean", "uint8"), ("ReduceMean", "int8")),
        *(("ReduceL1", "uint8"), ("ReduceL1", "int8")),
    ],
)
def test_totals_are_products_with_ones(kind: str, dtype: str, axis: int, op: Op) -> None:
    """Along the channels of a map, and along rows; those of magnitudes behind a table."""
    low, number = np.iinfo(dtype).min, np.dtype(dtype).type
    constants = {"s": np.float32(0.02), "z": number(low + 100), "zo": number(low + 120)}
    constants["so"] = np.float32({"ReduceSum": 0.2, "ReduceMean": 0.01, "ReduceL1": 0.1}[kind])
    as_input = kind == "ReduceSum"
    more = {"axes": np.array([axis], np.int64)} if as_input else {}
    attributes: dict[str, Any] = {} if as_input else {"axes": [axis]}
    model = quantized(kind, (1, 9, 6, 11), constants | more, more=[*more], keepdims=int(as_input), **attributes)
    module = integers(model)
    assert references(module, op) == [False]
    x = np.random.default_rng(1).normal(0, 1, (1, 9, 6, 11)).astype(np.float32)
    off = distances(model, module, x, least=20)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.1


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("kind", ["ReduceSum", "ReduceMean"])
def test_totals_of_what_a_relu_leaves(kind: str, dtype: str) -> None:
    """As linear attention has them in QOperator files: the Relu is in floating point."""
    low, number = np.iinfo(dtype).min, np.dtype(dtype).type
    constants = {"s": np.float32(0.02), "z": number(low + 100), "zo": number(low + 20)}
    constants |= {"so": np.float32(0.06 if kind == "ReduceSum" else 0.006), "axes": np.array([-1], np.int64)}
    model = quantized(kind, (1, 9, 6, 11), constants, more=["axes"], opset=18)
    model.graph.node.insert(2, helper.make_node("Relu", ["real"], ["positive"]))
    model.graph.node[3].input[0] = "positive"
    module = integers(model)
    assert references(module, Op.DENSE) == [False]
    x = np.random.default_rng(1).normal(0, 1, (1, 9, 6, 11)).astype(np.float32)
    off = distances(model, module, x, least=20)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.1


def less_its_means(extents: tuple[int, ...], axes: list[int], dtype: str) -> onnx.ModelProto:
    """A quantized tensor less its means along axes."""
    low, number = np.iinfo(dtype).min, np.dtype(dtype).type
    constants = {"s": np.float32(0.02), "z": number(low + 100), "so": np.float32(0.017), "zo": number(low + 130)}
    model = quantized("ReduceMean", extents, constants | {"axes": np.array(axes, np.int64)}, more=["axes"], opset=18)
    model.graph.node[2].output[0] = "means"
    model.graph.node.insert(3, helper.make_node("Sub", ["real", "means"], ["result"]))
    return model


@pytest.mark.parametrize("axes", [[2, 3], [1], [3], [1, 2], [2]])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_a_tensor_less_its_means_is_a_product(axes: list[int], dtype: str) -> None:
    model = less_its_means((1, 9, 6, 11), axes, dtype)
    module = integers(model)
    assert references(module, Op.DENSE) == [False]
    assert all(isinstance(one, Match) and one.layer.op is not Op.DEQUANTIZE for one in find(module))
    x = np.random.default_rng(1).normal(0.5, 1, (1, 9, 6, 11)).astype(np.float32)
    off = distances(model, module, x, least=100)
    assert off.max() <= 1
    assert np.mean(off > 0) < 0.05


@pytest.mark.parametrize(("count", "product"), [(128, True), (129, False)])
def test_means_of_more_elements_than_weights_can_count_stay(count: int, *, product: bool) -> None:
    model = less_its_means((2, 3, count), [2], "uint8")
    module = integers(model)
    found = [one for one in find(module) if isinstance(one, Match) and one.layer.op is Op.DENSE]
    alone = (1, True)  # the sums of the means, exactly
    assert [(one.layer.k, one.reference) for one in found] == [(count, False) if product else alone]
    x = np.random.default_rng(1).normal(0.5, 1, (2, 3, count)).astype(np.float32)
    assert distances(model, module, x, least=100).max() <= 1


@seeded(16, 60)
def test_totals_along_any_axes(seed: int) -> None:
    """All is on modules, within a step."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 6))
    extents = tuple(rng.permutation([1, 2, 3, 4, 5, 6])[:rank].tolist())
    axes = sorted(rng.permutation(rank)[: rng.integers(1, rank + 1)].tolist())
    kind, number = rng.choice(["ReduceSum", "ReduceMean", "ReduceL1"]), (np.uint8, np.int8)[rng.integers(2)]
    low, count = np.iinfo(number).min, math.prod(extents[axis] for axis in axes)
    step = 0.02 * (1 if kind == "ReduceMean" else count) / np.sqrt(count)
    constants = {"s": np.float32(0.02), "z": number(low + 100), "zo": number(low + 120), "so": np.float32(step)}
    model = quantized(
        kind, extents, constants | {"axes": np.array(axes, np.int64)}, more=["axes"], opset=18, keepdims=seed % 2
    )
    module = integers(model)
    assert all(isinstance(one, Match) and one.layer.op is not Op.DEQUANTIZE for one in find(module))
    x = rng.normal(0, 1, extents).astype(np.float32)
    assert distances(model, module, x, least=1).max() <= 1


@pytest.mark.parametrize(
    ("axes", "op", "count"),
    [
        ([2], Op.AVG_POOL2D, 6),
        ([1, 2], Op.AVG_POOL2D, 54),
        ([2, 3], Op.AVG_POOL2D, 66),
        ([3], Op.DENSE, 11),
        ([1, 3], Op.DENSE, 99),
        ([1, 2, 3], Op.DENSE, 594),
    ],
)
def test_sums_are_pooled_or_products(axes: list[int], op: Op, count: int) -> None:
    """Pooled where others are behind the axes, or where these are a map's."""
    constants = {"s": np.float32(0.02), "z": np.uint8(100), "so": np.float32(0.01 * count), "zo": np.uint8(120)}
    model = quantized("ReduceSum", (1, 9, 6, 11), constants | {"axes": np.array(axes, np.int64)}, more=["axes"])
    module = integers(model)
    assert references(module, op) == [False]
    x = np.random.default_rng(1).normal(0, 1, (1, 9, 6, 11)).astype(np.float32)
    assert distances(model, module, x, least=1).max() <= 1


@pytest.mark.parametrize(
    ("axes", "channels"),
    [
        ([2, 3], [9]),
        ([1], [6 * 7]),
        ([-1], [9 * 6]),
        ([0, 2], [7]),
        ([1, 2], [7]),
        ([1, 3], [9 * 6, 6]),
        (None, [1]),
    ],
)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("kind", ["ReduceMax", "ReduceMin"])
def test_extrema_are_pools(kind: str, dtype: str, axes: list[int] | None, channels: list[int]) -> None:
    """One for each run of neighbouring axes, with all other numbers as channels where nothing is behind it.

    The smallest is between two tables.
    """
    low, number = np.iinfo(dtype).min, np.dtype(dtype).type
    constants = {"s": np.float32(0.02), "z": number(low + 100), "zo": number(low + 140), "so": np.float32(0.03)}
    given: dict[str, Any] = {} if axes is None else {"axes": axes}
    model = quantized(kind, (1, 9, 6, 7), constants, more=[], **given, keepdims=0)
    module = integers(model)
    found = [one.layer for one in find(module) if isinstance(one, Match) and one.layer.op is not Op.TRANSPOSE]
    assert [layer.k for layer in found if layer.op is Op.MAX_POOL2D] == channels
    assert {layer.op for layer in found} <= {Op.MAX_POOL2D, Op.LOOKUP, Op.QUANTIZE}
    for seed in range(8):
        x = np.random.default_rng(seed).normal(0, 0.6, (1, 9, 6, 7)).astype(np.float32)
        assert not distances(model, module, x, least=1 if axes is None else 4).any()
