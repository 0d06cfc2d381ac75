"""Warnings that a firmware team may ask for: the C that projects share has none."""

from __future__ import annotations

import subprocess

import pytest

import match
from tests.codegen.harness import STRICTER
from tests.kernels.toolchain import PACKAGE, STRICT, host_sources

pytestmark = pytest.mark.cc


@pytest.mark.parametrize("target", ["gap8", "gap9", "diana"])
def test_kernels_and_runtime_have_no_warnings(target: str) -> None:
    """On this machine, whose int and long differ from the chip's: conversions are all the same."""
    host = match.get_target(target).host
    include = [f"-I{folder}" for folder in (*host.include, PACKAGE / "codegen" / "include")]
    defines = [f"-D{name}={value}" for name, value in host.defines.items()]
    sources = [*host_sources(target), *sorted((PACKAGE / "codegen" / "runtime").glob("*.c"))]
    command = ["cc", *STRICT, *STRICTER, "-Wpointer-arith", "-fsyntax-only", *include, *defines, *sources]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
