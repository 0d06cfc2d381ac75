"""States that are inputs and outputs of the model, kept by the network, beside the model's own runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.errors import OptionError
from match.frontend import load
from match.graph.evaluate import evaluate
from match.passes.pipeline import integer_network
from match.passes.with_states import with_states
from tests.tflite.case import VALID, Network

pytestmark = pytest.mark.cc


class Recurrent:
    """An ONNX network of x and h_in with the outputs y and h_out, its next h_in."""

    def __init__(self, *shape: int, scale: float = 0.03, next_scale: float = 0.03) -> None:
        self.shape, self.next_scale = shape, next_scale
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []
        self.x, self.h = self.quantized("x", 0.02, 128), self.quantized("h_in", scale, 120)

    def constant(self, values: Any) -> str:
        name = f"c{len(self._initializers)}"
        self._initializers.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = output or f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}_{name}", **attributes))
        return name

    def quantized(self, x: str, scale: float, zero_point: int, output: str = "") -> str:
        parameters = self.constant(np.float32(scale)), self.constant(np.uint8(zero_point))
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *parameters), *parameters, output=output)

    def weights(self, *shape: int) -> str:
        values = np.random.default_rng(len(self._nodes)).integers(-127, 128, shape).astype(np.int8)
        return self.node("DequantizeLinear", *map(self.constant, (values, np.float32(0.01), np.int8(0))))

    def write(self, folder: Path, total: str) -> Path:
        """The file, with the sum of both as the next state, and the positive part of that as the output."""
        after = self.quantized(total, self.next_scale, 120, "h_out")
        self.quantized(self.node("Relu", after), 0.02, 0, "y")
        values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shape) for name in INPUTS + OUTPUTS}
        sides = [[values[name] for name in side] for side in (INPUTS, OUTPUTS)]
        graph = helper.make_graph(self._nodes, "recurrent", *sides, self._initializers)
        path = folder / "recurrent.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        return path


INPUTS, OUTPUTS, STATES = ["x", "h_in"], ["y", "h_out"], {"h_in": "h_out"}


def cell(folder: Path, **scales: float) -> Path:
    """Rows times matrices."""
    model = Recurrent(1, 8, **scales)
    parts = [model.quantized(model.node("MatMul", one, model.weights(8, 8)), 0.02, 128) for one in (model.x, model.h)]
    return model.write(folder, model.node("Add", *parts))


def maps(folder: Path) -> Path:
    """Convolutions of maps, which have their channels last in C."""
    model = Recurrent(1, 8, 4, 5)
    own = model.node("Conv", model.x, model.weights(8, 8, 3, 3), pads=[1, 1, 1, 1])
    held = model.node("Conv", model.h, model.weights(8, 8, 1, 1))
    return model.write(folder, model.node("Add", *(model.quantized(one, 0.05, 128) for one in (own, held))))


def other(folder: Path) -> Path:
    """With an operator that is read as Relay."""
    model = Recurrent(1, 8)
    own = model.quantized(model.node("MatMul", model.x, model.weights(8, 8)), 0.02, 128)
    turned = model.constant(np.arange(8)[None, ::-1].copy())
    return model.write(folder, model.node("GatherElements", model.node("Add", own, model.h), turned, axis=1))


@pytest.mark.parametrize("target", ["gap9", "diana"])
@pytest.mark.parametrize(("write", "shape"), [(cell, (1, 8)), (maps, (1, 4, 5, 8))])
def test_streams_are_those_of_onnxruntime(write: Any, shape: tuple[int, ...], target: str, tmp_path: Path) -> None:
    compiled = match.compile(write(tmp_path), target, states=STATES, numerics="exact")
    assert [tensor.name for tensor in compiled.inputs] == ["x"]
    assert [tensor.name for tensor in compiled.outputs] == ["y"]
    (state,) = compiled.report.model.states
    assert (state.name, state.output, state.shape, state.dtype) == ("h_in", "h_out", shape, "uint8")
    assert compiled.validate(samples=20).equal


def test_operators_are_compared_over_time(tmp_path: Path) -> None:
    compiled = match.compile(cell(tmp_path), "gap9", states=STATES, numerics="exact")
    result = compiled.validate(samples=6, layers=True)
    assert result.equal
    assert result.layers
    assert not any(layer.differing for layer in result.layers)


def test_a_state_with_another_scale_as_an_output(tmp_path: Path) -> None:
    """Its real number goes on, which the network quantizes again."""
    compiled = match.compile(cell(tmp_path, next_scale=0.05), "gap9", states=STATES, numerics="exact")
    assert compiled.validate(samples=20).equal


def test_operators_of_the_control_core_are_beside_states(tmp_path: Path) -> None:
    path = other(tmp_path)
    compiled = match.compile(path, "gap9", states=STATES, numerics="exact")
    assert compiled.validate(samples=20).equal
    predicted = match.predict(path, "gap9", states=STATES, numerics="exact")
    assert compiled.report.totals.cycles == predicted.totals.cycles
    assert compiled.report.model == predicted.model


def test_inputs_of_another_type_beside_states(tmp_path: Path) -> None:
    compiled = match.compile(cell(tmp_path), "gap9", states=STATES, numerics="exact", input_type="uint8")
    assert [(tensor.name, tensor.dtype) for tensor in compiled.inputs] == [("x", "uint8")]
    assert compiled.validate(samples=20).equal


def test_saved_projects_are_validated_with_their_states(tmp_path: Path) -> None:
    path = cell(tmp_path)
    match.compile(path, "gap9", states=STATES, numerics="exact", output=tmp_path / "out")
    result = match.validate(tmp_path / "out", path, samples=12)
    assert (result.equal, result.samples) == (True, 12)


def test_the_graph_keeps_what_the_model_hands_out(tmp_path: Path) -> None:
    """Step by step, in NumPy: the network in integer form, and the model without states."""
    model = load(cell(tmp_path))
    kept, free = integer_network(with_states(model, STATES)), integer_network(model)
    held, (state,) = np.zeros((1, 8), np.float32), kept.states
    rng = np.random.default_rng(2)
    for _ in range(5):
        x = rng.normal(0, 1, (1, 8)).astype(np.float32)
        (found, state), (expected, held) = evaluate(kept, [x, state]), evaluate(free, [x, held])
        assert np.array_equal(found, expected)


def test_states_of_tflite_files(tmp_path: Path) -> None:
    """Inputs and outputs of integers: the state begins with the one that stands for 0."""
    network, one = Network(), (0.05, -5)
    x, held = (network.input((1, 1, 1, 8), one) for _ in range(2))
    sums = network.apply("ADD", [x, held], network.tensor((1, 1, 1, 8), one), "AddOptions")
    weights = network.weights((4, 1, 1, 8), 0.01)
    strides = {"strideH": 1, "strideW": 1}
    output = network.tensor((1, 1, 1, 4), (0.3, 2))
    network.apply("CONV_2D", [sums, weights], output, "Conv2DOptions", padding=VALID, **strides)
    network.outputs[sums] = "the next state"
    path = tmp_path / "sums.tflite"
    path.write_bytes(network.model.build([x, held], list(network.outputs)))
    compiled = match.compile(path, "gap9", states={f"t{held}": f"t{sums}"}, numerics="exact")
    assert compiled.validate(samples=10).equal
    (given,) = compiled.inputs
    (first,) = compiled.run({given.name: np.full((1, 1, 1, 8), -5, np.int8)}).values()
    assert set(first.ravel().tolist()) == {2}, "0 and a state of 0 give 0"


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        ({"h": "h_out"}, "recurrent has no input 'h' that could be a state; its inputs are: x, h_in."),
        ({"h_in": "h"}, "recurrent has no output 'h' that could be a state; its outputs are: y, h_out."),
        ({"h_in": "h_out", "x": "h_out"}, "output h_out is to be several states; name it once."),
        ({"h_in": "h_out", "x": "y"}, "all inputs of recurrent are to be states; leave one input to the caller."),
        (["h_in"], "states are names of outputs by names of inputs, not ['h_in']; give a mapping."),
    ],
)
def test_what_cannot_be_a_state(states: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        match.predict(cell(tmp_path), "gap9", states=states)
    assert str(caught.value) == sentence


def test_states_of_another_shape(tmp_path: Path) -> None:
    model = Recurrent(1, 8)
    after = model.quantized(model.node("Add", model.x, model.h), 0.03, 120)
    model.node("Reshape", after, model.constant(np.array([2, 4])), output="turned")
    path = model.write(tmp_path, after)
    proto = onnx.load(path)
    proto.graph.output.append(helper.make_tensor_value_info("turned", TensorProto.FLOAT, (2, 4)))
    with pytest.raises(OptionError) as caught:
        match.predict(proto, "gap9", states={"h_in": "turned"})
    assert str(caught.value) == (
        "state h_in:turned has the shape [1, 8] as an input and [2, 4] as an output; both have to be the same: export "
        "the model so, or leave the state to the caller."
    )
