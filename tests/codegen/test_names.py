"""Names of the model and of its file that C, Make or CMake could take for something else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import match

pytestmark = pytest.mark.cc

DIGITS = Path(match.__file__).parent / "devtools" / "demo" / "digits.onnx"

NAMES = (
    "x\u202ey",
    "\u2067left\u200f",
    "??/ ??' ???/",
    "a*/b/*c*/*/*d",
    "// \\",
    '"quoted\\" %s%n',
    "$(error made) ${PATH} $@ #",
    "#[[ ]] ;",
    "tab\tline\nbell\x07\x1b[31m\x7f",
    "caf\u00e9 \u05d0\u05d1 \U0001f600",
    "one, two (three, four && five, " * 8,
    "\ufeff\u2028\ue000\U000e0001",
)


def renamed(names: tuple[str, ...]) -> onnx.ModelProto:
    """The demo's network; each node and tensor of it has one of the names, and a number."""
    model = onnx.load(DIGITS)
    graph = model.graph
    given: dict[str, str] = {}

    def other(name: str) -> str:
        return given.setdefault(name, f"{names[len(given) % len(names)]}{len(given)}") if name else name

    for node in graph.node:
        node.name = other(node.name or f"node {len(given)}")
        for tensors in (node.input, node.output):
            tensors[:] = [other(name) for name in tensors]
    for tensor in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        tensor.name = other(tensor.name)
    return model


@pytest.mark.parametrize("first", range(0, len(NAMES), 4))
def test_any_name_compiles_and_comes_back(first: int, tmp_path: Path) -> None:
    """In inputs, outputs and operators, of a file with such a name; without a warning, and the outputs are right."""
    names = (*NAMES[first:], *NAMES[:first])
    stem = names[1].translate({ord(character): "_" for character in "/\0"})[:60]
    path = tmp_path / f"{stem}.onnx"
    onnx.save(renamed(names), path)
    compiled = match.compile(path, "gap9", output=tmp_path / "project")
    text = subprocess.run(
        ["make", "-s", "-C", str(tmp_path / "project"), "WERROR=1", "TRACE=1", "DUMP=1", "all", "lib", "help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not text.returncode, text.stderr
    assert not text.stderr
    image = np.random.default_rng(1).uniform(0, 1, (1, 1, 16, 16)).astype(np.float32)
    (plain,) = match.compile(DIGITS, "gap9").run({"image": image}).values()
    (tensor,) = compiled.inputs
    (found,) = compiled.run({tensor.name: image}).values()
    assert np.array_equal(found, plain)
    assert tensor.name in {f"{name}{number}" for name in NAMES for number in range(200)}


def test_any_name_is_a_comment_of_cmake_and_of_other_makefiles(tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    path = tmp_path / "#[[ $(error made) ??.onnx"
    onnx.save(renamed(NAMES), path)
    match.compile(path, "gap9", name="digits", output=tmp_path / "project")
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.13)\nproject(app C)\ninclude({tmp_path}/project/digits.cmake)\n"
    )
    (tmp_path / "Makefile").write_text(f"include {tmp_path}/project/digits.mk\nall:\n\t@echo $(words $(APP_SRCS))\n")
    for command in (["cmake", "-S", ".", "-B", "build"], ["make", "all"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
