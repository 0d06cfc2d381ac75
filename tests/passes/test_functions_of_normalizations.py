"""Functions of each element behind a normalization, which nothing quantizes: within one step of onnxruntime's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

from match.arithmetic.interface import QuantizedType
from match.arithmetic.parts_of_functions import in_parts, parts_of
from match.ir.constants import LOOKUP_SUM_FRACTION
from match.ir.layer import Op
from tests.passes.one_operator import distances, integers, quantized, references
from tests.seeds import seeded

pytestmark = pytest.mark.tvm

Reals = npt.NDArray[np.float64]
Nodes = list[tuple[str, list[str], str, dict[str, Any]]]

FUNCTIONS: dict[str, Nodes] = {
    "relu": [("Relu", ["normal"], "result", {})],
    "relu6": [("Clip", ["normal", "zero", "six"], "result", {})],
    "leaky": [("LeakyRelu", ["normal"], "result", {"alpha": 0.1})],
    "hard swish": [("HardSwish", ["normal"], "result", {})],
    "swish": [("Sigmoid", ["normal"], "share", {}), ("Mul", ["normal", "share"], "result", {})],
    "tanh": [("Tanh", ["normal"], "result", {})],
    "exponential": [("Elu", ["normal"], "result", {})],
    "gelu": [("Gelu", ["normal"], "result", {})],
    "magnitude": [("Abs", ["normal"], "result", {})],
}


def network(kind: str, dtype: str, function: Nodes, rng: np.random.Generator, output: tuple[float, int]) -> Any:
    """A normalization of a map of 6 channels, of rows of 40 else, and a function of it; channels are alike by twos."""
    low, number = np.iinfo(dtype).min, np.dtype(dtype).type
    channels = 6 if kind == "InstanceNormalization" else 40
    gain = np.repeat(rng.uniform(0.5, 1.5, channels), 2)[:channels].astype(np.float32)
    bias = np.repeat(rng.normal(0, 0.5, channels), 2)[:channels].astype(np.float32)
    constants = {"s": np.float32(0.04), "z": number(low + 128), "so": np.float32(output[0])}
    constants |= {"zo": number(low + output[1]), "gain": gain, "bias": bias}
    shape = (1, 6, 9, 5) if channels == 6 else (28, 40)
    model = quantized(kind, shape, constants, opset=20)
    model.graph.node[2].output[0] = "normal"
    for place, (name, inputs, result, attributes) in enumerate(function):
        model.graph.node.insert(3 + place, helper.make_node(name, inputs, [result], **attributes))
    numbers = {"zero": np.float32(0), "six": np.float32(6)}
    model.graph.initializer.extend(numpy_helper.from_array(np.array(value), name) for name, value in numbers.items())
    model.opset_import[0].version = 20
    del model.graph.value_info[:]
    return onnx.shape_inference.infer_shapes(model)


@pytest.mark.parametrize("kind", ["InstanceNormalization", "LayerNormalization"])
@pytest.mark.parametrize("name", FUNCTIONS)
@seeded(1, 5)
def test_within_one_step(seed: int, name: str, kind: str) -> None:
    rng, dtype = np.random.default_rng(seed), "int8" if (seed + len(name)) % 2 else "uint8"
    signed = name not in ("relu", "relu6", "magnitude")
    model = network(kind, dtype, FUNCTIONS[name], rng, (0.02, 40 if signed else 0))
    module = integers(model)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    spread = rng.uniform(0.3, 2, (1, 6, 1, 1) if len(shape) == 4 else (28, 1))
    assert distances(model, module, rng.normal(0, spread, shape).astype(np.float32), least=20).max() <= 1
    normal = references(module, Op.NORMALIZE)
    assert len(normal) > 0
    both = references(module, Op.LOOKUP_SUM)
    assert not any((*normal, *both, *references(module, Op.LOOKUP)))
    two = name in ("leaky", "hard swish", "swish", "gelu", "magnitude")
    assert len(both) == (len(normal) // 2 if two else 0)


def test_steep_functions_stay_in_floating_point() -> None:
    rng = np.random.default_rng(3)
    function: Nodes = [("Mul", ["normal", "hundred"], "more", {}), ("Sin", ["more"], "result", {})]
    model = network("LayerNormalization", "uint8", function, rng, (0.01, 128))
    model.graph.initializer.append(numpy_helper.from_array(np.float32(100), "hundred"))
    module = integers(model)
    assert not references(module, Op.NORMALIZE)


def _logistic(n: Reals) -> Reals:
    return 1 / (1 + np.exp(-n))


CURVES: list[tuple[Callable[[Reals], Reals], int]] = [
    (lambda n: n.clip(0, 3) * 80, 1),
    (lambda n: 128 + 60 * np.tanh(n), 2),
    (lambda n: (n * (n + 3).clip(0, 6) / 6 * 40 + 15).clip(0, 255), 2),
    (lambda n: (np.where(n < 0, n / 10, n) * 30 + 30).clip(0, 255), 2),
    (lambda n: (np.abs(n) * 60).clip(0, 255), 2),
    (lambda n: (n * _logistic(n) * 235 + 65).clip(0, 255), 3),
    (lambda n: (n * _logistic(1.7 * n) * 500 + 85).clip(0, 255), 3),
    (lambda n: 128 + 127 * np.sin(n.clip(-2.5, 2.5) * 2), 4),
]
"""With the number of parts that they take."""


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("place", range(len(CURVES)))
def test_parts(place: int, dtype: str) -> None:
    """Random numbers are each rounded to levels after an error of an eighth of one."""
    (curve, count), rng = CURVES[place], np.random.default_rng(place)
    output = QuantizedType(np.float32(1), 0, dtype)
    lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    parted = in_parts(lambda n: curve(n) + lowest, output, 12)
    assert parted is not None
    assert len(parted.parts) == count
    numbers = rng.uniform(-12, 12, 200_000)
    first, *others = (
        np.rint((numbers - part.low) / part.step + rng.uniform(-1 / 8, 1 / 8, numbers.shape)).clip(0, 255).astype(int)
        for part in parted.parts
    )
    outputs = first if others else parted.tables[0][first]
    for levels, (below, more) in zip(others, parted.tables if others else (), strict=True):
        outputs = ((below[first] + more[levels]) >> LOOKUP_SUM_FRACTION).clip(lowest, highest)
        first = outputs - lowest
    assert np.abs(outputs - np.rint(curve(numbers) + lowest)).max() == 1
    assert np.mean(outputs != np.rint(curve(numbers) + lowest)) < 0.4


def test_functions_without_parts() -> None:
    """One that is too steep, one that never changes, and one that is no number everywhere."""
    curves: list[Callable[[Reals], Reals]] = [
        lambda n: 128 + 100 * np.sin(50 * n),
        lambda n: np.full_like(n, 7),
        lambda n: np.where(n < 0, np.nan, n),
    ]
    assert [parts_of(curve, 10) for curve in curves] == [None] * 3
