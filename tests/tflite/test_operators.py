"""Every operator that TFLite Micro has an int8 kernel for, byte for byte against TFLite Micro."""

from __future__ import annotations

from pathlib import Path

import pytest

import match
from match.errors import ModelError
from match.frontend import load
from match.frontend.tflite.variables import OPERATORS
from tests.passes.tflite_models import Micro, schema
from tests.tflite.case import Network, written
from tests.tflite.cases import BOOL, FLOAT, by_operator
from tests.tflite.compare import TARGET, compare, in_c, in_numpy, in_relay

pytestmark = pytest.mark.cc

CASES = by_operator()
ALL = {name for name in vars(schema.BuiltinOperator) if not name.startswith("_")}

OTHER = {
    "BROADCAST_ARGS",  # shapes alone
    *("CALL_ONCE", "IF", "WHILE"),  # subgraphs
    *("ASSIGN_VARIABLE", "READ_VARIABLE", "VAR_HANDLE"),  # state that outlives a call
    "CUSTOM",  # named by a text
}

# What errors call those whose name the file's reader does not know.
UNNAMED = {"CUSTOM": "custom operator", "STABLEHLO_CASE": "builtin operator 209"}

# Every case of these takes seconds.
SLOW = ("L2_NORMALIZATION", "LOG_SOFTMAX", "SOFTMAX", "UNIDIRECTIONAL_SEQUENCE_LSTM")
PARTS = 4
STATEFUL = ("SVDF",)  # streams of these are in test_variables.py
COMPILED = [name for name in CASES if name not in STATEFUL]


def one_operator(name: str) -> bytes:
    """A file with an operator of one 8-bit tensor, whatever the operator takes."""
    network = Network()
    network.apply(name, [network.input((1, 4, 4, 4))], network.tensor((1, 4, 4, 4), (0.05, 3)))
    return network.model.build([number for number, _ in network.inputs], list(network.outputs))


@pytest.mark.parametrize("name", sorted(ALL - set(CASES) - FLOAT - BOOL - OTHER))
def test_no_operator_of_tflite_micro_is_without_cases(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """TFLite Micro has no kernel for what is neither in the cases nor listed as having none of 8 bits."""
    with pytest.raises(RuntimeError):
        Micro(one_operator(name), 1)
    assert f"Didn't find op for builtin opcode '{name}'" in capfd.readouterr().err


def refusal(path: Path) -> str | None:
    """What loading a file says, if it is refused."""
    try:
        load(path)
    except ModelError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", sorted(ALL - set(CASES) - OPERATORS))
def test_what_cannot_be_compiled_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "network.tflite"
    path.write_bytes(one_operator(name))
    said = refusal(path)
    assert said is None or UNNAMED.get(name, name) in said


@pytest.mark.parametrize("name", [*CASES, *sorted(OPERATORS)])
def test_missing_operands_and_options_are_no_traceback(tmp_path: Path, name: str) -> None:
    """An operator with one operand and without options is compiled where that makes sense, or else refused."""
    path = tmp_path / "network.tflite"
    path.write_bytes(one_operator(name))
    said = refusal(path)
    assert said is None or name in said or "'t1'" in said


@pytest.mark.parametrize("name", COMPILED)
def test_graph(tmp_path: Path, name: str) -> None:
    """All cases of an operator in one file, as the graph's classes compute them."""
    file = written(CASES[name])
    compare(file.data, tmp_path / f"{name}.tflite", file.samples(8), file.outputs, in_numpy)


@pytest.mark.parametrize("name", COMPILED)
def test_integer_form(tmp_path: Path, name: str) -> None:
    """All cases of an operator in one file, in integer form; of those that take seconds each, one."""
    file = written(CASES[name][:1] if name in SLOW else CASES[name])
    compare(file.data, tmp_path / f"{name}.tflite", file.samples(8), file.outputs, in_relay)


@pytest.mark.sweep
@pytest.mark.parametrize("name", SLOW)
def test_integer_form_of_slow_operators(tmp_path: Path, name: str) -> None:
    file = written(CASES[name])
    compare(file.data, tmp_path / f"{name}.tflite", file.samples(8), file.outputs, in_relay)


@pytest.mark.parametrize("start", range(PARTS))
def test_sample_in_c(tmp_path: Path, start: int) -> None:
    """A case of every operator in C, many operators in a file."""
    names = [name for name in COMPILED if name not in SLOW][start::PARTS]
    file = written([CASES[name][-1] for name in names])
    compare(file.data, tmp_path / "network.tflite", file.samples(4), file.outputs, in_c)


@pytest.mark.parametrize(
    "name", ["ADD_N", *(pytest.param(name, marks=pytest.mark.sweep) for name in ("CUMSUM", *SLOW, "DIV", "PRELU"))]
)
def test_control_core_has_no_undefined_behaviour(tmp_path: Path, name: str) -> None:
    """Such as left shifts of negative numbers."""
    file = written(CASES[name][-1:])
    path = tmp_path / "network.tflite"
    path.write_bytes(file.data)
    match.compile(path, target=TARGET, numerics="exact", modules=[]).run(file.samples(4), sanitize=True)


@pytest.mark.sweep
@pytest.mark.parametrize("name", COMPILED)
def test_generated_c(tmp_path: Path, name: str) -> None:
    """All cases of an operator in one file, in C."""
    file = written(CASES[name])
    compare(file.data, tmp_path / f"{name}.tflite", file.samples(8), file.outputs, in_c)
