"""Compiles the C under test, with the checks it must pass in every project that contains it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
INCLUDE = tuple(
    PROJECT / folder
    for folder in (
        "kernels/include",
        "kernels/pulp",
        "kernels/ne16",
        "kernels/host",
        "targets/pulp/include",
        "targets/pulp/host",
        "targets/gap9/include",
    )
)
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror")
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1")


def gap9_sources() -> list[Path]:
    """All C of the GAP9 host platform: kernels, driver and model, platform."""
    folders = ("kernels/pulp", "kernels/ne16", "kernels/host", "targets/pulp", "targets/gap9/host")
    sources = [source for folder in folders for source in sorted((PROJECT / folder).glob("*.c"))]
    return [*sources, PROJECT / "targets/pulp/host/pulp_host.c"]


def compile_c(sources: list[Path], output: Path, *options: str) -> Path:
    """Compile and link `sources` into the program `output`; a compiler's complaint is a test failure."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    include = [f"-I{folder}" for folder in INCLUDE]
    command = [compiler, *options, *include, *map(str, sources), "-o", str(output), "-pthread"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.fail(result.stderr)
    return output
