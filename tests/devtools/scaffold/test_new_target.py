"""`match new-target`: the package it writes is the example in the checkout, and passes its own tests when installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from match.devtools.scaffold import new_target, scaffold
from match.errors import OptionError, OutputError

pytestmark = pytest.mark.cc

PROJECT = Path(__file__).resolve().parents[3]
EXAMPLE = PROJECT / "examples" / "minichip"


def test_the_example_is_what_it_writes() -> None:
    written = {str(path.relative_to(EXAMPLE)) for path in EXAMPLE.rglob("*") if path.is_file()}
    files = scaffold("minichip")
    assert {path for path in written if "__pycache__" not in path and "egg-info" not in path} == set(files)
    for path, text in files.items():
        assert (EXAMPLE / path).read_text() == text, path


def passes_its_own_tests(package: Path, place: Path) -> bool:
    """Installs a package into a folder and runs the tests that it comes with, some of which may be skipped."""
    site = place / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--target", str(site), str(package)], check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(PROJECT)])}
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "tests"]
    done = subprocess.run(run, cwd=package, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.search(r"^([2-9]) passed", done.stdout, re.MULTILINE) is not None


@pytest.mark.parametrize("scratchpad", [True, False])
def test_the_package_passes_its_own_tests(tmp_path: Path, scratchpad: bool) -> None:
    assert passes_its_own_tests(new_target("my_chip", tmp_path, scratchpad=scratchpad), tmp_path)


@pytest.mark.sweep
def test_the_example_of_a_real_chip_passes_its_own_tests(tmp_path: Path) -> None:
    unwanted = shutil.ignore_patterns("*.egg-info", "build", "__pycache__")
    package = shutil.copytree(PROJECT / "examples" / "stm32h743", tmp_path / "stm32h743", ignore=unwanted)
    assert passes_its_own_tests(package, tmp_path)


@pytest.mark.parametrize("name", ["", "My-Chip", "9chip", "class", "match", "a b", "../chip", "string", "json"])
def test_names_that_cannot_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot name a target"):
        new_target(name, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["gap9", "pulp_open"])
def test_names_of_installed_targets(name: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=f"^'{name}' cannot name a target: one that is installed is called so; "):
        new_target(name, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("numpy", "an installed package that Python imports"),
        ("yaml", "an installed package that Python imports"),
        ("pillow", "the installed package pillow "),
        ("pyyaml", "the installed package PyYAML "),
        ("asyncio", "a module of Python"),
        ("lambda", "no word of Python"),
    ],
)
def test_names_of_installed_packages(name: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=f"^'{name}' cannot name a target.*{what}"):
        new_target(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_the_name_elsewhere_takes_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would import it as a package without __init__.py, from where the command is called."""
    (tmp_path / "here" / "chip").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "here")
    assert new_target("chip", tmp_path) == tmp_path / "chip"


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "chip").mkdir()
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(OutputError, match="exists already"):
        new_target("chip", tmp_path)
    with pytest.raises(OutputError, match="cannot be written"):
        new_target("chip", blocked)
    assert not list((tmp_path / "chip").iterdir())
