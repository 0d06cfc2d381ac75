"""Networks with variables: what the C keeps from one run to the next, beside TFLite Micro."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import match
from match.dispatch.plan import CPU
from match.errors import ModelError
from match.frontend import load
from match.graph.text import arrays, parse, text
from match.graph.value import Graph
from match.report.memory_areas import STATES, network_areas
from match.report.schema import MemoryPlanSummary
from tests.tflite.case import Case, written
from tests.tflite.cases import by_operator
from tests.tflite.cases.recurrent import lstm
from tests.tflite.streams import Array, StreamingNetwork, micro, stream, wake_word

pytestmark = pytest.mark.cc

CASES = by_operator()
ONE = (0.05, -5)
SHAPE = (1, 1, 1, 8)


def compared(path: Path, steps: Array, target: str = "gap9", least: int = 20, **options: object) -> match.CompiledModel:
    """A network whose C gives what TFLite Micro does in each step."""
    compiled = match.compile(path, target, numerics="exact", **options)  # type: ignore[arg-type]
    (name,) = (tensor.name for tensor in compiled.inputs)
    (found,) = compiled.run({name: steps}, sanitize=True).values()
    expected = np.stack(micro(path, steps))
    assert len(np.unique(expected)) > least  # outputs move
    assert np.array_equal(found.reshape(expected.shape), expected)
    return compiled


@pytest.mark.parametrize("target", ["gap9", "gap8", "diana"])
@pytest.mark.parametrize("initial", [False, True])
def test_streams_are_those_of_tflite_micro(target: str, initial: bool, tmp_path: Path) -> None:
    compiled = compared(wake_word(tmp_path, initial=initial), stream((1, 2, 1, 8), 20), target)
    states = {state.name: (state.shape, state.bytes) for state in compiled.report.model.states}
    assert states == {"x": ((1, 3, 1, 8), 24), "hidden": ((1, 4, 1, 16), 64)}


def test_each_call_of_run_is_a_stream_of_its_own(tmp_path: Path) -> None:
    """Steps of one call follow one another, and the next call begins anew."""
    compiled = match.compile(wake_word(tmp_path), "gap9", numerics="exact")
    (name,) = (tensor.name for tensor in compiled.inputs)
    steps = stream((1, 2, 1, 8), 4)
    (whole,), (first,), (second,) = (compiled.run({name: part}).values() for part in (steps, steps[:1], steps[1:2]))
    assert np.array_equal(first[0], whole[0])
    assert not np.array_equal(second[0], whole[1])


def test_states_are_written_where_they_are(tmp_path: Path) -> None:
    """What replaces a state goes to its place at once, behind all that read it: nothing is copied at the end."""
    match.compile(wake_word(tmp_path), "gap9", output=tmp_path / "out")
    code = (tmp_path / "out" / "src" / "network.c").read_text()
    assert "state_x" in code
    assert "state_hidden" in code
    begin = code.index("static int32_t infer")
    assert "memcpy" not in code[begin : code.index("}", begin)]


def exchanged(network: StreamingNetwork, count: int, turn: int) -> None:
    """`count` variables that become each other's old values, `turn` places on; the output has all."""
    handles = [network.handle(f"v{number}") for number in range(count)]
    x = network.input(SHAPE, ONE)
    held = [network.read(handle, SHAPE, ONE) for handle in handles]
    both = network.tensor((1, count + 1, 1, 8), ONE)
    network.apply("CONCATENATION", [*held, x], both, "ConcatenationOptions", axis=1)
    for number, handle in enumerate(handles):
        network.assign(handle, (*held, x)[(number + turn) % (count if turn > 1 else count + 1)])
    network.outputs[both] = "all"


@pytest.mark.parametrize("case", CASES["SVDF"], ids=lambda case: case.label)
def test_svdf(case: Case, tmp_path: Path) -> None:
    """What filters gave before is the operator's own variable."""
    path, file = tmp_path / "svdf.tflite", written([case])
    path.write_bytes(file.data)
    compiled = compared(path, stream(file.inputs[0].shape, 20), least=9)
    (state,) = compiled.report.model.states
    assert state.name == "t4"


@pytest.mark.parametrize("kept", ["int8", "int16"])
def test_svdf_on_modules(kept: str, tmp_path: Path) -> None:
    """Wide enough for modules; the state of 8 bits has a zero point, and begins with it.

    Nothing saturates there: TFLite Micro added the zero point to what is saturated once, which then overflowed.
    """
    network, zero = StreamingNetwork(), 0 if kept == "int16" else 11
    features, times = (network.rng.integers(-127, 128, shape) for shape in ((80, 40), (80, 10)))
    operands = [
        network.input((1, 40), (0.05, 7)),
        network.constant(features, (0.01, 0), "int8"),
        network.constant(times, (0.01, 0), kept),
        network.constant(network.rng.integers(-3000, 3000, 40), (0.03, 0), "int32"),
        network.tensor((1, 800), (3.0, zero), kept, variable=True),
    ]
    network.apply(
        "SVDF", operands, network.tensor((1, 40), (1.0, -20)), "SVDFOptions", rank=2, fusedActivationFunction=0
    )
    compiled = compared(network.write(tmp_path), stream((1, 40), 20), modules=["cluster"])
    dense = [
        layer.module for layer in compiled.report.layers if "dense" in (layer.op, *(one.op for one in layer.operators))
    ]
    assert dense == (["cluster"] if kept == "int8" else [CPU])


@pytest.mark.parametrize(("count", "turn"), [(3, 1), (3, 2), (2, 3), (4, 2)])
def test_states_that_become_one_another(count: int, turn: int, tmp_path: Path) -> None:
    """A shift register, and circles: no state is overwritten before another one has its value."""
    network = StreamingNetwork()
    rng = np.random.default_rng(1)
    network.begin({f"v{n}": rng.integers(-128, 128, SHAPE).astype(np.int8) for n in range(count)}, ONE)
    exchanged(network, count, turn)
    compared(network.write(tmp_path), stream(SHAPE, 6))


def test_an_old_value_that_is_read_late_is_kept(tmp_path: Path) -> None:
    """The next value is made of the input alone, and the old one is read at the very end."""
    network = StreamingNetwork()
    handle = network.handle("last")
    x = network.input(SHAPE, ONE)
    held = network.read(handle, SHAPE, ONE)
    network.assign(handle, network.convolution(x, 1, (8, 8), network.tensor(SHAPE, ONE)))
    hidden = network.convolution(x, 1, (8, 8), network.tensor(SHAPE, ONE))
    network.apply("ADD", [hidden, held], network.tensor(SHAPE, (0.1, 3)), "AddOptions")
    compared(network.write(tmp_path), stream(SHAPE, 6))


def test_reads_behind_an_assignment_are_of_the_new_value(tmp_path: Path) -> None:
    network = StreamingNetwork()
    handle, other = network.handle("total"), network.handle("never read first")
    x = network.input(SHAPE, ONE)
    total = network.apply("ADD", [network.read(handle, SHAPE, ONE), x], network.tensor(SHAPE, ONE), "AddOptions")
    network.assign(handle, total)
    network.assign(other, x)
    both = network.tensor((1, 2, 1, 8), ONE)
    again = [network.read(one, SHAPE, ONE) for one in (handle, other)]
    network.apply("CONCATENATION", again, both, "ConcatenationOptions", axis=1)
    compiled = compared(network.write(tmp_path), stream(SHAPE, 6))
    assert [state.name for state in compiled.report.model.states] == ["total"]


def test_variables_that_nothing_assigns_are_constants(tmp_path: Path) -> None:
    network = StreamingNetwork()
    network.begin({"offset": np.arange(8, dtype=np.int8).reshape(SHAPE)}, ONE)
    x = network.input(SHAPE, ONE)
    held = network.read(network.handle("offset"), SHAPE, ONE)
    network.apply("ADD", [x, held], network.tensor(SHAPE, (0.1, 3)), "AddOptions")
    compiled = compared(network.write(tmp_path), stream(SHAPE, 6))
    assert not compiled.report.model.states


def test_external_memory_is_planned_beside_states(tmp_path: Path) -> None:
    """States stay in main memory, which has room for little else."""
    path = wake_word(tmp_path, channels=512)
    whole = match.predict(path, "gap9").totals
    compiled = compared(path, stream((1, 2, 1, 8), 12), l2=30_000, l1="16k")
    assert isinstance(compiled.report.memory, MemoryPlanSummary)
    assert sum(state.bytes for state in compiled.report.model.states) == 24 + 4 * 512
    assert whole.l2_peak_bytes > 30_000


def test_texts_of_graphs_have_states(tmp_path: Path) -> None:
    graph = load(wake_word(tmp_path)).network
    assert isinstance(graph, Graph)
    written = text(graph)
    again = parse(written, arrays(graph))
    assert text(again) == written
    assert [state.tolist() for state in again.states] == [state.tolist() for state in graph.states]
    with pytest.raises(ValueError, match="a line for each state"):
        parse("\n".join(line for line in written.split("\n") if not line.startswith("v1 =")), arrays(graph))


def test_memory_maps_show_states(tmp_path: Path) -> None:
    report = match.predict(wake_word(tmp_path), "gap9")
    areas = [area for area in network_areas(report).main.areas if area.kind == STATES]
    assert [(area.text, area.bytes) for area in areas] == [("x", 24), ("hidden", 64)]
    assert {(area.first, area.last) for area in areas} == {(0, len(network_areas(report).steps) - 1)}


def test_tvm_keeps_no_states(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match="keeps x, hidden from one inference to the next, which TVM's executor does not"
    ):
        match.build(wake_word(tmp_path), "gap9")


def refused(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        load(path)
    return str(caught.value).removeprefix(f"{path} ")


def test_a_variable_of_two_shapes(tmp_path: Path) -> None:
    network = StreamingNetwork()
    handle = network.handle("x")
    x = network.input(SHAPE, ONE)
    both = network.tensor((1, 2, 1, 8), ONE)
    network.apply("CONCATENATION", [network.read(handle, SHAPE, ONE), x], both, "ConcatenationOptions", axis=1)
    network.assign(handle, both)
    network.outputs[both] = "both"
    assert refused(network.write(tmp_path)) == (
        "has ASSIGN_VARIABLE (operator 3), which takes the variable 'x' for int8 [1, 2, 1, 8], which is int8 "
        "[1, 1, 1, 8] elsewhere; export the model again"
    )


def test_a_variable_without_a_handle(tmp_path: Path) -> None:
    network = StreamingNetwork()
    x = network.input(SHAPE, ONE)
    network.apply("ADD", [x, network.read(x, SHAPE, ONE)], network.tensor(SHAPE, (0.1, 3)), "AddOptions")
    assert "has a variable that no VAR_HANDLE names" in refused(network.write(tmp_path))


def test_a_subgraph_that_nothing_calls_once(tmp_path: Path) -> None:
    network = StreamingNetwork()
    network.convolution(network.input(SHAPE, ONE), 1, (8, 8), network.tensor(SHAPE, ONE))
    network.model.subgraph()
    assert "has 2 subgraphs; only models with one are supported" in refused(network.write(tmp_path))


def test_layers_whose_state_begins_anew_beside_variables(tmp_path: Path) -> None:
    network = StreamingNetwork()
    lstm(network, "UNIDIRECTIONAL_SEQUENCE_LSTM", size=3, units=4, steps=2)
    handle = network.handle("x")
    x = network.input(SHAPE, ONE)
    network.apply("ADD", [x, network.read(handle, SHAPE, ONE)], network.tensor(SHAPE, (0.1, 3)), "AddOptions")
    network.assign(handle, x)
    assert "whose state begins anew at each inference, beside variables" in refused(network.write(tmp_path))
