"""Networks that threads compile at the same time are those that one thread compiles, byte for byte."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import match
from tests.passes.onnx_models import OnnxModel, quantize

pytestmark = pytest.mark.tvm


def compiled(path: Path, output: Path) -> dict[str, bytes]:
    """The C of a network."""
    match.compile(path, "gap8", jobs=1, cache=False, output=output)
    return {str(file.relative_to(output)): file.read_bytes() for file in output.rglob("*.[ch]")}


def test_threads(tmp_path: Path) -> None:
    paths: list[Path] = []
    for number in range(3):
        model = OnnxModel((1, 2, 6 + number, 7), seed=number)
        model.conv(4 + number)
        model.add("Softmax", axis=1)
        model.conv(3)
        folder = tmp_path / str(number)
        folder.mkdir()
        paths.append(quantize(model, folder, "QDQ", "QUInt8", True).rename(folder / f"net{number}.onnx"))
    alone = [compiled(path, path.parent / "alone") for path in paths]
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(compiled, paths, [path.parent / "together" for path in paths]))
    assert together == alone
