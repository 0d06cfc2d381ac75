"""Properties are tried on the same examples in each run of the same tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.cc

PROPERTY = """
from hypothesis import given, settings
from hypothesis import strategies as st

drawn = []

@given(st.integers(0, 2**32 - 1))
def test_drawn(number):
    drawn.append(number)

def test_shown():
    given = settings.default
    print("drawn", drawn, given.database, given.deadline)
"""


@pytest.fixture
def session(tmp_path: Path) -> Callable[..., str]:
    """Runs a property in a process of its own under this suite's conftest; returns what it was tried on."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_property.py").write_text(PROPERTY)
    (folder / "conftest.py").write_text((Path(__file__).parents[1] / "conftest.py").read_text())

    def run(*options: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "_hypothesis_pytestplugin", *options, str(folder)]
        only = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(command, cwd=tmp_path, env=only, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return next(line for line in done.stdout.splitlines() if "drawn" in line)

    return run


def test_runs_draw_the_same_unless_asked_for_others(session: Callable[..., str]) -> None:
    drawn = session()
    assert drawn.endswith("] None None")
    assert drawn == session()
    others = session("--hypothesis-profile=random")
    assert others.endswith("] None None")
    assert others != drawn
