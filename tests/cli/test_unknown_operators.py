"""TFLite operators that no front end reads: a sentence, which says whether TFLite Micro has a kernel."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from tflite_micro.python.tflite_micro import runtime

from tests.cli.conftest import Command
from tests.tflite.case import Network

pytestmark = pytest.mark.cc

WITHOUT_KERNEL = (
    "CONV_3D",
    "CONV_3D_TRANSPOSE",
    "LOCAL_RESPONSE_NORMALIZATION",
    "RELU_N1_TO_1",
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
    "TOPK_V2",
    "POW",
    "REDUCE_PROD",
    "ONE_HOT",
    "REVERSE_SEQUENCE",
    "NON_MAX_SUPPRESSION_V4",
    "SCATTER_ND",
    "STABLEHLO_ADD",
    "STABLEHLO_COMPOSITE",
)
WITH_KERNEL = ("CEIL", "L2_POOL_2D", "FLOOR_DIV", "SQUARE", "ROUND")


def file_of(name: str) -> bytes:
    """An operator on a map, without options."""
    network = Network()
    x, y = network.input((1, 4, 4, 3)), network.tensor((1, 4, 4, 3), (0.05, 3))
    network.apply(name, [x], y)
    return network.model.build([x], [y])


@pytest.mark.parametrize("name", [*WITHOUT_KERNEL, *WITH_KERNEL])
def test_an_operator_without_a_reader_is_a_sentence(name: str, command: Command, tmp_path: Path) -> None:
    model, project = tmp_path / "network.tflite", tmp_path / "project"
    model.write_bytes(file_of(name))
    error = command("compile", model, "--target", "gap9", "-o", project).error
    assert f"network.tflite has {name} (operator 0 at 't1'), which cannot be compiled" in error
    assert ("TFLite Micro, whose integers are computed, has no kernel of it" in error) == (name in WITHOUT_KERNEL)
    assert ("quantize the network as ONNX" in error) == (name == "CONV_3D")
    assert not project.exists()


@pytest.mark.parametrize("name", [*WITHOUT_KERNEL, *WITH_KERNEL])
def test_tflite_micro_has_the_kernels_that_the_sentence_says(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with suppress(RuntimeError):  # which it raises for a missing kernel, and for most operators without options
        runtime.Interpreter.from_bytes(file_of(name))
    assert ("Didn't find op for builtin opcode" in capfd.readouterr().err) == (name in WITHOUT_KERNEL)
