"""Compiles the C under test, with the checks it must pass in every project that contains it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import match
from match.target.hardware import Platform

PACKAGE = Path(match.__file__).parent
PROJECT = Path(__file__).resolve().parents[2]
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror")
SANITIZE = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-pthread")
"""These and `STRICT`, in this order, are the options of sanitized projects, so that ccache compiles a kernel once."""


def host_sources(target: str) -> list[Path]:
    """All C of a target's host platform: kernels, driver and model, platform."""
    return [PACKAGE / source for source in match.get_target(target).host.sources]


def gap9_sources() -> list[Path]:
    """All C of the GAP9 host platform."""
    return host_sources("gap9")


def compile_c(sources: list[Path], output: Path, *options: str, target: str = "gap9") -> Path:
    """Compile and link `sources` for a target's host platform into the program `output`; complaints are failures.

    Each source is compiled by itself, under the name that it has in a project: with ccache, those that programs and
    projects share are compiled once.
    """
    compiler = os.environ.get("CC", "cc").split()
    if shutil.which(compiler[-1]) is None:
        pytest.skip("no C compiler")
    include = [f"-I{folder}" for folder in match.get_target(target).host.include]
    folder = output.with_name(f"{output.name}-objects")
    folder.mkdir()
    objects = [folder / f"{number}_{source.stem}.o" for number, source in enumerate(sources)]
    for source, compiled in zip(sources, objects, strict=True):
        name = source.relative_to(PACKAGE) if source.is_relative_to(PACKAGE) else source
        _call([*compiler, *options, *include, "-c", name, "-o", compiled])
    _call([*compiler, *options, *objects, "-o", output, "-pthread"])
    return output


def _call(command: Sequence[str | Path]) -> None:
    result = subprocess.run(list(map(str, command)), cwd=PACKAGE, capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.fail(result.stderr)


def compile_for(platform: Platform, sources: Sequence[Path], output: Path) -> Path:
    """Compile and link `sources` with what a platform has for them, as its projects are; complaints are failures."""
    include = [f"-I{PACKAGE / folder}" for folder in (*platform.include, Path("codegen/include"))]
    defines = [f"-D{name}={value}" for name, value in platform.defines.items()]
    command = [platform.compiler, *STRICT, "-O1", *platform.flags, *defines, *include, *sources]
    command += ["-o", output, *platform.link]
    result = subprocess.run(list(map(str, command)), cwd=PACKAGE, capture_output=True, text=True, check=False)
    if result.returncode or result.stderr:
        pytest.fail(result.stderr)
    return output
