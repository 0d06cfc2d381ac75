"""Constants of other shapes than the tensors beside them ask for: a sentence says which, and onnxruntime refuses them.

The same operators are taken with constants that fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from match.frontend import load
from match.validation.exact_session import exact_session
from tests.frontend.refusals import refused
from tests.passes.one_operator import quantized

pytestmark = pytest.mark.cc

QUANTIZATION = {"s": np.float32(0.1), "z": np.uint8(3), "so": np.float32(0.1), "zo": np.uint8(3)}
MAP, ROWS = (1, 4, 8, 8), (5, 1, 6)


def ones(*shape: int) -> Any:
    """Real constants."""
    return np.ones(shape, np.float32)


@dataclass(frozen=True)
class Case:
    """An operator on a map or on rows, constants that fit, others that do not, and what is said of those."""

    kind: str
    fitting: list[Any]
    other: list[Any]
    said: str
    shape: tuple[int, ...] = MAP
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])


LSTM = [ones(1, 16, 6), ones(1, 16, 4), ones(1, 32)]
SIZE = {"hidden_size": 4}
CASES = {
    "bias of other outputs": Case(
        "Conv", [ones(6, 4, 3, 3), ones(6)], [ones(6, 4, 3, 3), ones(5)], "a bias of shape (5,), where (6,)"
    ),
    "bias of a transposed one": Case(
        "ConvTranspose", [ones(4, 6, 3, 3), ones(6)], [ones(4, 6, 3, 3), ones(4)], "a bias of shape (4,), where (6,)"
    ),
    "filters larger than the map": Case("Conv", [ones(6, 4, 8, 8)], [ones(6, 4, 20, 20)], "(1, 6, -11, -11)"),
    "weights of other inputs": Case(
        "LSTM", LSTM, [ones(1, 16, 5), *LSTM[1:]], "weights of inputs of shape (1, 16, 5), where (1, 16, 6)", ROWS, SIZE
    ),
    "weights of other states": Case(
        "LSTM", LSTM, [LSTM[0], ones(1, 16, 3), LSTM[2]], "weights of states of shape (1, 16, 3)", ROWS, SIZE
    ),
    "bias of other states": Case("LSTM", LSTM, [*LSTM[:2], ones(1, 16)], "a bias of shape (1, 16)", ROWS, SIZE),
    "gates of another operator": Case(
        "GRU", [ones(1, 12, 6), ones(1, 12, 4)], LSTM[:2], "of shape (1, 16, 6), where (1, 12, 6)", ROWS, SIZE
    ),
    "one direction of two": Case(
        "RNN",
        [ones(2, 4, 6), ones(2, 4, 4)],
        [ones(1, 4, 6), ones(1, 4, 4)],
        "of shape (1, 4, 6), where (2, 4, 6)",
        ROWS,
        {**SIZE, "direction": "bidirectional"},
    ),
    "index behind the last": Case(
        "Gather", [np.array([3, -4])], [np.array([3, 4])], "the index 4 along an axis of 4", MAP, {"axis": 1}
    ),
    "index before the first": Case(
        "Gather", [np.array([-8])], [np.array([-9])], "the index -9 along an axis of 8", MAP, {"axis": -1}
    ),
    "index of an element": Case(
        "GatherElements",
        [np.full(MAP, 7)],
        [np.full(MAP, 8)],
        "the index 8 along an axis of 8",
        MAP,
        {"axis": 2},
    ),
    "point outside": Case(
        "GatherND", [np.array([[0, 3, 7]])], [np.array([[0, 7, 3]])], "the index 7 along an axis of 4"
    ),
    "replaced point outside": Case(
        "ScatterND",
        [np.array([[0, 3], [0, -4]]), ones(2, 8, 8)],
        [np.array([[0, 3], [0, -5]]), ones(2, 8, 8)],
        "the index -5 along an axis of 4",
    ),
    "replaced element outside": Case(
        "ScatterElements",
        [np.full((1, 2, 8, 1), 7), ones(1, 2, 8, 1)],
        [np.full((1, 2, 8, 1), 8), ones(1, 2, 8, 1)],
        "the index 8 along an axis of 8",
        MAP,
        {"axis": 3},
    ),
    "updates of other points": Case(
        "ScatterND",
        [np.array([[0, 3], [0, 1]]), ones(2, 8, 8)],
        [np.array([[0, 3], [0, 1]]), ones(8, 2, 8)],
        "updates of shape (8, 2, 8), where (2, 8, 8)",
    ),
    "updates of other elements": Case(
        "ScatterElements",
        [np.full((1, 4, 1, 8), 3), ones(1, 4, 1, 8)],
        [np.full((1, 4, 1, 8), 3), ones(1, 4, 8, 1)],
        "updates of shape (1, 4, 8, 1), where (1, 4, 1, 8)",
        MAP,
        {"axis": 2},
    ),
    "more padding cut than there is": Case(
        "Pad",
        [np.array([0, 0, -7, 0, 0, 0, 0, 0])],
        [np.array([0, 0, -9, 0, 0, 0, 0, 0])],
        "the shape (1, 4, -1, 8)",
    ),
}


def model_of(case: Case, constants: list[Any]) -> onnx.ModelProto:
    """The operator with constants, between quantizations."""
    further = {f"c{place}": array for place, array in enumerate(constants)}
    return quantized(case.kind, case.shape, {**QUANTIZATION, **further}, **case.attributes)


@pytest.mark.parametrize("name", CASES)
def test_constants_that_do_not_fit(name: str, tmp_path: Path) -> None:
    case, path = CASES[name], tmp_path / "model.onnx"
    x = {"x": np.zeros(case.shape, np.float32)}
    fitting, other = (model_of(case, constants) for constants in (case.fitting, case.other))
    onnx.save(fitting, path)
    load(path)
    exact_session(fitting.SerializeToString(), signed=True).run(None, x)
    onnx.save(other, path)
    sentence = refused(path)
    assert f"has {case.kind} (number 2) " in sentence
    assert case.said in sentence
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        exact_session(other.SerializeToString(), signed=True).run(None, x)


@pytest.mark.parametrize("size", [9, 20])
def test_windows_larger_than_the_map(size: int, tmp_path: Path) -> None:
    """Outputs without elements are refused, too: no C array is empty."""
    path = tmp_path / "model.onnx"
    onnx.save(quantized("MaxPool", MAP, QUANTIZATION, kernel_shape=[size, size]), path)
    said = "has MaxPool (number 2) whose output would have" if size > 9 else "whose output has no elements"
    assert said in refused(path)
