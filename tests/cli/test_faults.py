"""What goes wrong outside of the arguments: targets from elsewhere, tools, disks, Ctrl-C."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match.__main__
from match.devtools.demo import INPUT
from match.files import npz
from match.report.operators import markdown
from match.target.registry import get_target
from tests.cli.conftest import DIGITS, Command

pytestmark = pytest.mark.cc

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minichip"
PLUGINS = {
    "at_import": "raise RuntimeError('no licence\\nfound')",
    "at_syntax": "class Chip(",
    "no_class": "chip = 3",
    "in_init": "class Chip(Minichip):\n    def __init__(self):\n        raise KeyError('revision')",
    "in_cost": (
        "class Cost(EngineCost):\n    def compute(self, layer, tile):\n        raise ZeroDivisionError('lanes')\n"
        "class Unit(Engine):\n    cost_model = Cost()\nclass Chip(Minichip):\n    modules = (Unit(),)"
    ),
    "in_operands": (
        "class Unit(Engine):\n    def operands(self, layer, requantizer):\n        raise KeyError(layer.op)\n"
        "class Chip(Minichip):\n    modules = (Unit(),)"
    ),
    "in_pack": (
        "class Unit(Engine):\n    def pack(self, *given):\n        return super().pack(*given)[:1]\n"
        "class Chip(Minichip):\n    modules = (Unit(),)"
    ),
    "in_weight_bits": (
        "class Unit(Engine):\n    def fewest_weight_bits(self, layer):\n        return 12\n"
        "class Chip(Minichip):\n    modules = (Unit(),)"
    ),
    "in_patterns": (
        "class Unit(Engine):\n    def patterns(self):\n        raise KeyError('conv')\n"
        "class Chip(Minichip):\n    modules = (Unit(),)"
    ),
}


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed packages with targets that fail."""
    site = tmp_path / "site"
    metadata = site / "faulty-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    entries = "".join(f"{name} = faulty_{name}:Chip\n" for name in PLUGINS)
    (metadata / "entry_points.txt").write_text(f"[match.targets]\n{entries}gone = faulty_gone:Chip\n")
    for name, code in PLUGINS.items():
        (site / f"faulty_{name}.py").write_text(f"from minichip.target import *\n{code}\n")
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.syspath_prepend(site)


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("at_import", "target at_import cannot be loaded from faulty_at_import:Chip: RuntimeError: no licence found."),
        ("at_syntax", "target at_syntax cannot be loaded from faulty_at_syntax:Chip: SyntaxError: "),
        ("no_class", "target no_class cannot be loaded from faulty_no_class:Chip: AttributeError: "),
        ("gone", "target gone cannot be loaded from faulty_gone:Chip: ModuleNotFoundError: "),
        ("in_init", "target in_init, faulty_in_init:Chip, cannot be made: KeyError: 'revision'."),
        ("in_cost", "module engine: cost model Cost, layer conv2d_2: compute(Tile("),
        (
            "in_operands",
            "module engine, layer conv2d_2: operands() raised KeyError: <Op.CONV2D: 'conv2d'> for a 3x3 conv",
        ),
        (
            "in_pack",
            "module engine, layer conv2d_2: pack() makes 1 components of a 3x3 conv2d of 1 to 16 channels where",
        ),
        (
            "in_weight_bits",
            "module engine, layer conv2d_2: its bits of weights: ValueError: fewest_weight_bits returned 12, and ",
        ),
        ("in_patterns", "module engine: its patterns: KeyError: 'conv'; `match check-target`"),
    ],
)
def test_targets_from_elsewhere(command: Command, tmp_path: Path, name: str, words: str) -> None:
    sentence = command("compile", DIGITS, "--target", name, "-o", tmp_path / "out").error
    assert sentence.startswith(words)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("plugins")
def test_targets_are_listed_beside_broken_ones(command: Command, tmp_path: Path) -> None:
    outcome = command("targets")
    assert outcome.status == 0
    assert all(name in outcome.out for name in ("diana", "gap8", "gap9", "pulp_open", "minichip"))
    assert "its patterns: KeyError: 'conv'" in " ".join(outcome.out.split()), "in a column of its own"
    lines = outcome.err.splitlines()
    named = [line.removeprefix("match: target ").split()[0].rstrip(",") for line in lines]
    assert named == ["at_import", "at_syntax", "gone", "in_init", "no_class"]
    made = "target in_init, faulty_in_init:Chip, cannot be made: KeyError: 'revision'."
    assert lines[3:4] == [f"match: {made}"]
    assert command("compile", DIGITS, "-o", tmp_path / "out").status == 0


@pytest.mark.parametrize(
    ("on", "missing", "words"),
    [
        ("qemu", "qemu-system-riscv32", "needs 'qemu-system-riscv32', which is not on the PATH"),
        ("rtl", "verilator", "verilator is not installed"),
    ],
)
def test_a_simulator_that_is_missing_is_told_before_anything_is_built(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: str, missing: str, words: str
) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == missing else which(tool) or f"/bin/{tool}")
    assert command("compile", DIGITS, "-o", tmp_path / "p", "--modules", "cluster", "-q").status == 0
    assert words in command("run", tmp_path / "p", "--on", on).error
    assert not (tmp_path / "p" / "build").exists()


@pytest.mark.parametrize(("engine", "package"), [("loma", "zigzag-dse"), ("dory", "ortools")])
def test_a_library_of_an_engine_that_is_missing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, package: str
) -> None:
    monkeypatch.setattr("match.search.engine.find_spec", lambda module: None)
    sentence = command("compile", tmp_path / "not-read.onnx", "--engine", engine, "-o", tmp_path / "p").error
    assert sentence == f"engine {engine!r} needs {package}, which is not installed: `pip install {package}`."


def test_an_empty_cc_is_none(command: Command, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", " ")
    assert command("run", project).status == 0


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 3", "ended with exit status 3 and did not say why when it made build/host/"),
        ("kill -KILL $$", "was ended by a signal (Killed) and did not say why when it made build/host/"),
        ("echo In file included from here: >&2; kill -TERM $$", "was ended by a signal (Terminated)"),
        ("echo licence expired >&2; exit 1", "failed: licence expired."),
        ("echo licence expired >&2; echo error: no seat left >&2; exit 1", "failed: error: no seat left."),
    ],
)
def test_a_compiler_that_fails(
    command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    """Given by a path from where `match` is called, not from the project, and in whatever language make speaks."""
    copy = shutil.copytree(project, tmp_path / "copy", ignore=shutil.ignore_patterns("build"))
    compiler = tmp_path / "compiler"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGUAGE", "de")
    monkeypatch.setenv("CC", "./compiler")
    sentence = command("run", copy).error
    assert words in sentence
    if "did not say why" in sentence:
        assert f"'{compiler}'" in sentence
        assert sentence.endswith(f"; see if `{compiler} --version` works, or set CC to another compiler.")


def test_c_that_is_gone(command: Command, project: Path, tmp_path: Path) -> None:
    """Which file it is, and not that make waits for the others."""
    copy = shutil.copytree(project, tmp_path / "copy", ignore=shutil.ignore_patterns("build"))
    shutil.rmtree(copy / "src")
    assert "No rule to make target" in command("run", copy).error


def test_no_make(command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None
    (tmp_path / "cc").symlink_to(compiler)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert "needs 'make', which is not on the PATH" in command("run", project).error


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_broken_npz(command: Command, project: Path, tmp_path: Path, share: float) -> None:
    npz.write(tmp_path / "whole.npz", {INPUT: np.zeros((1, 1, 16, 16), np.float32)})
    whole = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(whole[: int(len(whole) * share)])
    sentence = command("run", project, "--input", tmp_path / "x.npz", "--output", tmp_path / "y.npz").error
    assert "x.npz is not an .npz file of arrays" in sentence
    assert not (tmp_path / "y.npz").exists()


def test_nan(command: Command, project: Path, tmp_path: Path) -> None:
    image = np.zeros((1, 1, 16, 16), np.float32)
    image[0, 0, :2] = np.nan
    npz.write(tmp_path / "x.npz", {INPUT: image})
    assert f"input {INPUT} has 32 values that are NaN" in command("run", project, "--input", tmp_path / "x.npz").error


def files(folder: Path) -> dict[Path, bytes]:
    """Contents of a project but for its report, which has the seconds it took."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "report.json")
    return {path.relative_to(folder): path.read_bytes() for path in paths if "build" not in path.parts}


def test_a_broken_cache_changes_nothing(
    command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("MATCH_CACHE_DIR", str(cache))
    assert command("compile", DIGITS, "-o", tmp_path / "first").status == 0
    entries = sorted(cache.iterdir())
    assert len(entries) >= 3
    for n, entry in enumerate(entries):
        whole = entry.read_bytes()
        entry.write_bytes(b"text" if n % 3 else whole[: len(whole) // 2])
        if n % 3 == 2:
            entry.unlink()
            entry.mkdir()
    assert command("compile", DIGITS, "-o", tmp_path / "again").status == 0
    assert files(tmp_path / "again") == files(project)


def test_a_cache_that_cannot_be_written_changes_nothing(
    command: Command, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("MATCH_CACHE_DIR", str(tmp_path / "cache"))
    assert command("compile", DIGITS, "-o", tmp_path / "again").status == 0
    assert files(tmp_path / "again") == files(project)


@contextmanager
def small_files(most: int) -> Iterator[None]:
    """No file grows beyond `most` bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", DIGITS, "-o", "out"),
        ("zoo", "autoencoder", "-o", "x.onnx"),
        ("new-target", "chip"),
    ],
)
def test_a_full_disk(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str | Path, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    with small_files(1000):
        sentence = command(*arguments).error
    assert "File too large" in sentence
    assert not list(tmp_path.iterdir())


def test_no_room_for_temporary_files(command: Command, project: Path, tmp_path: Path) -> None:
    assert command("run", project).status == 0
    npz.write(tmp_path / "x.npz", {INPUT: np.zeros((9, 1, 1, 16, 16), np.float32)})
    with small_files(8000):
        sentence = command("run", project, "--input", tmp_path / "x.npz").error
    assert sentence == "tensors cannot be written to a temporary file: File too large; set TMPDIR."


def interrupted(*arguments: Any, **options: Any) -> None:
    """Ctrl-C comes; as the exception, because a process in the background may ignore the signal."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["match.external_memory.fit.lower", "pathlib.Path.rename"])
def test_interrupted(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(place, interrupted)
        outcome = command("compile", DIGITS, "-o", tmp_path / "out")
    assert (outcome.status, outcome.out, outcome.err) == (130, "", "match: interrupted.\n")
    assert not list(tmp_path.iterdir())


def test_interrupted_before_it_begins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("match.interrupt.watch.watch", interrupted)
    with pytest.raises(SystemExit) as ending:
        match.__main__.main()
    assert ending.value.code == 130
    assert capsys.readouterr() == ("", "match: interrupted.\n")


PROGRAM = "import sys; from match.__main__ import main; sys.argv = ['match', 'ops', 'gap9', '--markdown']; main()"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_letters_that_the_output_lacks(encoding: str) -> None:
    """They are written in UTF-8."""
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, env=environment, check=True)
    assert done.stderr == b""
    assert not done.stdout.isascii()
    assert done.stdout.decode() == markdown(get_target("gap9"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_letters_of_tables_that_the_output_lacks(encoding: str) -> None:
    program = PROGRAM.replace(", '--markdown'", "")
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment, check=True)
    assert done.stderr == b""
    assert "- conv2d → depthwise_conv2d." in done.stdout.decode()


def test_a_closed_output() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "{sys.executable}" -c "{PROGRAM}" >&-'], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
