"""A stranger's way: the wheel in a clean environment, a target's package beside it, its tests, a network on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.cc

PROJECT = Path(__file__).resolve().parents[3]
Call = Callable[..., str]


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Call:
    """Runs a program of an environment that has the wheel and pytest, in a folder outside the checkout."""
    place = tmp_path_factory.mktemp("stranger")
    unwanted = ("PYTHONPATH", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}

    def run(program: str | Path, *arguments: str | Path) -> str:
        command = [str(place / "venv" / "bin" / program), *map(str, arguments)]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    checkout = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(PROJECT, place / "checkout", ignore=checkout, symlinks=True)
    run(sys.executable, "-m", "build", "--wheel", "--outdir", place, place / "checkout")
    run(sys.executable, "-m", "venv", place / "venv")
    (wheel,) = place.glob("*.whl")
    run("python", "-m", "pip", "install", "--quiet", wheel, "pytest")
    return run


def use(call: Call, package: Path | str, name: str) -> None:
    """Install a target's package, run its tests, have it checked, and compile and run digits on it."""
    call("python", "-m", "pip", "install", "--quiet", package)
    assert " passed" in call("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", Path(package) / "tests")
    assert "conv2d" in call("match", "check-target", name)
    where = (
        "import match.devtools.demo, pathlib; print(pathlib.Path(match.devtools.demo.__file__).parent / 'digits.onnx')"
    )
    digits = call("python", "-c", where).strip()
    assert not digits.startswith(str(PROJECT))
    call("match", "compile", digits, "--target", name, "-o", f"{name}-digits")
    assert "scores: float32 [1, 10]" in call("match", "run", f"{name}-digits", "--sanitize")


@pytest.mark.sweep
def test_a_target_of_ones_own(call: Call) -> None:
    call("match", "new-target", "mychip")
    use(call, "./mychip", "mychip")


@pytest.mark.sweep
def test_the_example(call: Call, tmp_path: Path) -> None:
    source = PROJECT / "examples" / "stm32h743"
    package = shutil.copytree(source, tmp_path / "stm32h743", ignore=shutil.ignore_patterns("*.egg-info", "build"))
    use(call, package, "stm32h743")
