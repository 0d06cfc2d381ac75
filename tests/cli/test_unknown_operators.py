"""TFLite operators that no front end reads: a sentence, which says whether TFLite Micro has a kernel."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from tflite_micro.python.tflite_micro import runtime

from tests.cli.conftest import Command
from tests.passes.tflite_models import packed, schema
from tests.tflite.case import Network

pytestmark = pytest.mark.cc

WITHOUT_KERNEL = (
    "CONV_3D",
    "CONV_3D_TRANSPOSE",
    "LOCAL_RESPONSE_NORMALIZATION",
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
WITH_KERNEL = ("L2_POOL_2D", "FLOOR_DIV", "ROUND")
OF_REALS = ("CEIL", "COS", "FLOOR", "SIN", "SQRT", "SQUARE")
"""TFLite Micro computes them of real numbers alone."""


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


@pytest.mark.parametrize("name", [*WITHOUT_KERNEL, *WITH_KERNEL, *OF_REALS])
def test_tflite_micro_has_the_kernels_that_the_sentence_says(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with suppress(RuntimeError):  # which it raises for a missing kernel, and for most operators without options
        runtime.Interpreter.from_bytes(file_of(name))
    assert ("Didn't find op for builtin opcode" in capfd.readouterr().err) == (name in WITHOUT_KERNEL)


@pytest.mark.parametrize("name", OF_REALS)
def test_an_operator_of_real_numbers_alone_is_a_sentence(name: str, command: Command, tmp_path: Path) -> None:
    model = tmp_path / "network.tflite"
    model.write_bytes(file_of(name))
    error = command("compile", model, "--target", "gap9", "-o", tmp_path / "project").error
    assert f"network.tflite has {name} (operator 0 at 't1'), which reads int8: TFLite Micro's kernel computes" in error
    with pytest.raises(RuntimeError):
        runtime.Interpreter.from_bytes(model.read_bytes()).invoke()


def test_a_long_name_is_shown_from_its_end(command: Command, tmp_path: Path) -> None:
    """Converters join names of all layers around an operator."""
    data = schema.ModelT.InitFromPackedBuf(file_of("SQRT"), 0)
    data.subgraphs[0].tensors[1].name = b";".join([b"network.layers/first.layer"] * 20)
    model = tmp_path / "network.tflite"
    model.write_bytes(packed(data))
    error = command("compile", model, "--target", "gap9", "-o", tmp_path / "project").error
    assert "at '…" + ";".join(["network.layers/first.layer"] * 2)[-48:] + "')" in error
    assert "first.layer;network.layers/first.layer;" not in error
