from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from match.codegen.manifest import MANIFEST
from match.codegen.project import export
from match.errors import InputError, OutputError, ToolchainError
from match.relay import relay
from match.run import build, random_inputs, read_manifest, run
from match.run.make import make
from tests.codegen import networks
from tests.codegen.mock_target import MockTarget

pytestmark = pytest.mark.cc

GOOD = {"a": np.full((1, 4), 3, np.int8), "b:0": np.full((2,), 2.5, np.float32)}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with inputs a (int8, 1x4) and b:0 (float32, 2) and outputs a + 1 and 2b."""
    a, b = relay.var("a", shape=(1, 4), dtype="int8"), relay.var("b:0", shape=(2,), dtype="float32")
    outputs = relay.Tuple([relay.add(a, relay.const(np.int8(1))), relay.add(b, b)])
    made = networks.module([], [a, b], lambda: outputs)
    folder = tmp_path_factory.mktemp("run") / "small"
    export(networks.build(made, MockTarget(), networks.model(made, ["plus", "twice"], "small")), MockTarget(), folder)
    return folder


@pytest.mark.parametrize("kind", [Path, str])
def test_one_sample(project: Path, kind: type) -> None:
    outputs = run(kind(project), GOOD)
    assert outputs["plus"].tolist() == [[4, 4, 4, 4]]
    assert outputs["plus"].dtype == np.int8
    assert outputs["twice"].tolist() == [5.0, 5.0]


def test_many_samples_in_one_process(project: Path) -> None:
    rng = np.random.default_rng(0)
    batch = {
        "a": rng.integers(-128, 127, (50, 1, 4)).astype(np.int8),
        "b:0": rng.random((50, 2)).astype(np.float32),
    }
    outputs = run(project, batch)
    assert np.array_equal(outputs["plus"], batch["a"] + np.int8(1))
    assert np.array_equal(outputs["twice"], batch["b:0"] * 2)


@pytest.mark.parametrize("count", [1, 5])
def test_a_batch_along_the_first_axis(project: Path, count: int) -> None:
    """The first axis of `a` is 1 in the network; `b` has one more axis in front."""
    rng = np.random.default_rng(1)
    batch = {
        "a": rng.integers(-128, 127, (count, 4)).astype(np.int8),
        "b:0": rng.random((count, 2)).astype(np.float32),
    }
    outputs = run(project, batch)
    assert np.array_equal(outputs["plus"], batch["a"] + np.int8(1))
    assert np.array_equal(outputs["twice"], batch["b:0"] * 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b:0": None}, r"inputs given are a; small takes: a int8 \[1, 4\], b:0 float32 \[2\]\."),
        ({"c": GOOD["a"]}, "inputs given are a, b:0, c"),
        ({"a": np.zeros((4,), np.int8)}, r"input a is int8 \[4\]; small takes"),
        ({"a": np.zeros((1, 5), np.int8)}, r"input a is int8 \[1, 5\]"),
        ({"a": np.zeros((1, 4), np.uint8)}, r"input a is uint8 \[1, 4\]"),
        ({"a": np.zeros((0, 1, 4), np.int8), "b:0": np.zeros((0, 2), np.float32)}, r"input a is int8 \[0, 1, 4\]"),
        ({"a": np.zeros((2, 5), np.int8)}, r"input a is int8 \[2, 5\]"),
        ({"b:0": np.zeros((3,), np.float32)}, r"input b:0 is float32 \[3\]"),
        ({"a": np.zeros((2, 4), np.int8), "b:0": np.zeros((3, 2), np.float32)}, "different numbers of samples"),
        ({"a": np.zeros((2, 1, 4), np.int8)}, "different numbers of samples"),
        ({"a": np.zeros((2, 1, 4), np.int8), "b:0": np.zeros((3, 2), np.float32)}, "different numbers of samples"),
    ],
)
def test_wrong_inputs(project: Path, change: dict[str, np.ndarray | None], message: str) -> None:
    given = {name: array for name, array in {**GOOD, **change}.items() if array is not None}
    with pytest.raises(InputError, match=message):
        run(project, given)


def test_no_project(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no compiled network"):
        run(tmp_path, GOOD)


@pytest.mark.parametrize("text", ["", "[]", '{"schema_version": 2}'])
def test_damaged_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match="another version or damaged"):
        run(tmp_path, GOOD)


@pytest.mark.parametrize("missing", ["make", "cc"])
def test_missing_tool(project: Path, missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / ("cc" if missing == "make" else "make")
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ToolchainError, match=f"needs '{missing}', which is not on the PATH"):
        run(project, GOOD)


def test_source_that_does_not_compile(project: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(project, broken, ignore=shutil.ignore_patterns("build"))
    source = broken / "src" / "network.c"
    source.write_text(source.read_text() + "\nint32_t unfinished(void) { return 0 }\n")
    with pytest.raises(ToolchainError, match=r"make in .*broken failed: src/network.c:\d+:\d+: error: ") as caught:
        run(broken, GOOD)
    assert "\n" not in str(caught.value)


def test_program_that_fails(project: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(project, broken, ignore=shutil.ignore_patterns("build"))
    source = broken / "src" / "network.c"
    source.write_text(source.read_text().replace("return 0;", "return -4;"))
    with pytest.raises(ToolchainError, match=r"the program of .* failed: small: status -4"):
        run(broken, GOOD)


def test_random_inputs(project: Path) -> None:
    manifest = read_manifest(project)
    first, second, other = random_inputs(manifest, 1), random_inputs(manifest, 1), random_inputs(manifest, 2)
    assert {name: (a.dtype, a.shape) for name, a in first.items()} == {n: (a.dtype, a.shape) for n, a in GOOD.items()}
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert any(not np.array_equal(first[name], other[name]) for name in first)
    assert set(run(project, first)) == {"plus", "twice"}


def test_other_flags_build_again(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flags of the environment and those that are given, quotes and all; the same ones build nothing."""
    folder = tmp_path / "small"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("build"))

    def made(flags: str | None = None) -> list[tuple[str, int]]:
        build(folder, flags=flags)
        files = [path for path in (folder / "build").rglob("*") if path.suffix == ".o" or path.name == "network"]
        return sorted((path.name, path.stat().st_mtime_ns) for path in files)

    monkeypatch.setenv("CFLAGS", "-O0")
    first = made()
    assert "network" in dict(first)
    assert made() == first
    monkeypatch.setenv("CFLAGS", "-O0 -DA='\"$(CC) x\"'")
    second = made()
    assert {name for name, _ in first} == {name for name, _ in second}
    assert not set(first) & set(second)
    assert made() == second
    assert not set(second) & set(made("-O0 -DB"))
    assert made() != second


def test_compilers_leave_no_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers that are ended by force do not remove theirs."""
    project, temporary, compiler = tmp_path / "project", tmp_path / "temporary", tmp_path / "cc"
    project.mkdir()
    temporary.mkdir()
    (project / "Makefile").write_text("all:\n\t$(CC)\n")
    compiler.write_text('#!/bin/sh\ntouch "$TMPDIR/left.s" && touch written && kill -9 $$\n')
    compiler.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    with pytest.raises(ToolchainError, match="was ended by a signal"):
        make(project, project / "build", str(compiler), [], "see why")
    assert (project / "written").exists()
    assert list(temporary.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(OutputError, match="compilers cannot write temporary files: No such file"):
        make(project, project / "build", str(compiler), [], "see why")
