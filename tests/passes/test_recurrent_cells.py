"""LSTM and GRU of ONNX in floating point, written out step by step, beside onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from match.frontend.onnx_canonical import without_unread_cells
from match.graph.cells import RealCells
from match.graph.evaluate import evaluate
from match.relay.graph_writer import write_graph
from match.rewrites.cells_written_out import with_cells_written_out
from match.validation.exact_session import exact_session
from tests.frontend.qdq.float_models import graph_of
from tests.passes.running import Compiled

pytestmark = pytest.mark.tvm

GATES = {"LSTM": 4, "GRU": 3}
FUNCTIONS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}
BATCH = 2

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Recurrent:
    """An operator, and which of its optional inputs and outputs there are.

    begin: whether it is told to begin with states (and cells) of zero. shown: the places of its outputs.
    reset_first: of a GRU, what ONNX has without `linear_before_reset`.
    """

    kind: str
    direction: str = "forward"
    steps: int = 3
    features: int = 4
    units: int = 5
    biases: bool = True
    begin: bool = False
    named: bool = False
    shown: tuple[int, ...] = (0, 1)
    reset_first: bool = False

    def model(self, first: float = 0.0, more: tuple[str, ...] = (), **attributes: Any) -> onnx.ModelProto:
        """The network; `first` is what states begin with, and `more` names inputs behind it."""
        ways, rows = (2 if self.direction == "bidirectional" else 1), GATES[self.kind] * self.units
        rng = np.random.default_rng(7)
        states = np.full((ways, BATCH, self.units), first, np.float32)
        constants: dict[str, npt.NDArray[Any]] = {
            "w": rng.normal(0, 0.5, (ways, rows, self.features)).astype(np.float32),
            "r": rng.normal(0, 0.5, (ways, rows, self.units)).astype(np.float32),
            "b": rng.normal(0, 0.5, (ways, 2 * rows)).astype(np.float32),
            "h": states,
            "c": states,
            "p": rng.normal(0, 0.5, (ways, 3 * self.units)).astype(np.float32),
            "n": np.full(BATCH, self.steps, np.int32),
        }
        cells = ("c",) if self.kind == "LSTM" else ()
        inputs = ["x", "w", "r", "b" if self.biases else "", "", *(("h", *cells) if self.begin else ())]
        for name in more:
            place = {"n": 4, "p": 7}[name]
            inputs += [""] * (place + 1 - len(inputs))
            inputs[place] = name
        outputs = [f"y{place}" if place in self.shown else "" for place in range(max(self.shown) + 1)]
        if self.kind == "GRU" and not self.reset_first:
            attributes = {"linear_before_reset": 1, **attributes}
        if self.named:
            attributes["activations"] = FUNCTIONS[self.kind] * ways
        node = helper.make_node(
            self.kind, inputs, outputs, hidden_size=self.units, direction=self.direction, **attributes
        )
        graph = helper.make_graph(
            [node],
            "recurrent",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (self.steps, BATCH, self.features))],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name],
            [numpy_helper.from_array(value, name) for name, value in constants.items() if name in inputs],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def compare(model: onnx.ModelProto, whole: int) -> None:
    """All outputs, and how many layers are one operator before they are written out."""
    (given_input,) = model.graph.input
    shape = [extent.dim_value for extent in given_input.type.tensor_type.shape.dim]
    x = np.random.default_rng(1).normal(0, 1, shape).astype(np.float32)
    read = onnx.ModelProto.FromString(model.SerializeToString())
    without_unread_cells(read.graph)
    graph = graph_of(read)
    assert sum(isinstance(value.operator, RealCells) for value in graph.values) == whole
    written = with_cells_written_out(graph)
    assert not any(isinstance(value.operator, RealCells) for value in written.values)
    expected = exact_session(model.SerializeToString()).run(None, {"x": x})
    found = Compiled(write_graph(written).module)({"x": x})
    for one, other in zip(evaluate(graph, [x]), found, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)
    for right, states in zip(expected, found, strict=True):
        assert np.asarray(right).any()
        np.testing.assert_allclose(states, right, atol=2e-6)


@given(
    layer=st.builds(
        Recurrent,
        kind=st.sampled_from(["LSTM", "GRU"]),
        direction=st.sampled_from(["forward", "reverse", "bidirectional"]),
        steps=st.integers(1, 3),
        features=st.integers(1, 5),
        units=st.integers(1, 5),
        biases=st.booleans(),
        begin=st.booleans(),
        named=st.booleans(),
        shown=st.sampled_from([(0,), (1,), (0, 1)]),
        reset_first=st.booleans(),
    )
)
@example(Recurrent("LSTM", "bidirectional", named=True, begin=True))
@example(Recurrent("GRU", "bidirectional", biases=False))
@example(Recurrent("GRU", "bidirectional", reset_first=True))
@settings(max_examples=4, deadline=None)
def test_cells_are_one_operator_for_each_direction(layer: Recurrent) -> None:
    compare(layer.model(), 2 if layer.direction == "bidirectional" else 1)


@pytest.mark.parametrize(
    ("layer", "given_more"),
    [
        (Recurrent("LSTM", shown=(0, 2)), {}),
        (Recurrent("LSTM", begin=True), {"first": 0.3}),
        (Recurrent("LSTM"), {"more": ("p",)}),
        (Recurrent("GRU", begin=True), {"first": 0.3}),
        (Recurrent("GRU"), {"activations": ["HardSigmoid", "Tanh"]}),
        (Recurrent("GRU"), {"activations": ["Sigmoid", "Relu"]}),
    ],
    ids=["cells", "states", "peepholes", "states of a GRU", "hard sigmoid", "relu"],
)
def test_what_is_no_plain_cell_is_written_out_by_the_importer(layer: Recurrent, given_more: dict[str, Any]) -> None:
    compare(layer.model(**given_more), 0)


def test_cells_that_nothing_reads_are_no_obstacle() -> None:
    """The file of an LSTM lists a third output without a reader, as exporters write it."""
    model = Recurrent("LSTM").model()
    model.graph.node[0].output.append("y2")
    compare(model, 1)
