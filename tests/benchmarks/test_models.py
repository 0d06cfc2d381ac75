"""Benchmarks of the MLPerf Tiny models say where these are not."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import benchmarks.memory.cli
from benchmarks import command

pytestmark = pytest.mark.cc


def sentence(main: object, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ending:
        command.run(main, "x", arguments)  # pyright: ignore[reportArgumentType]
    out, err = capsys.readouterr()
    assert (ending.value.code, out) == (2, "")
    return err


@pytest.mark.parametrize("name", ["instructions", "numerics", "published"])
def test_no_folder_of_models(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"benchmarks.{name}.__main__")
    place = tmp_path / "none"
    assert sentence(module.main, capsys, "--models", str(place)) == (
        f"python -m benchmarks.x: there is no folder of MLPerf Tiny models at {place}; set MATCH_MODELS to one.\n"
    )


def test_sizes_of_main_memory(capsys: pytest.CaptureFixture[str]) -> None:
    said = sentence(benchmarks.memory.cli.table, capsys, "--l2", "256k,9x")
    assert "'9x' is not a positive number of bytes, such as 65536, 64k or 1M" in said
