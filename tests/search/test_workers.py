"""Searches shared out among processes: the same solutions and the same errors as in one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import match.search.pool
from match.errors import CostModelError
from match.ir.layer import Layer, Op
from match.mapping.schedule import Memory
from match.search.pool import solve_all
from match.search.problem import SearchProblem, Solution
from match.search.solve import solve
from tests.mapping.random_schedules import SteppedCost
from tests.search.networks import ds_cnn
from tests.search.problems import Failing, gap9_problems, problem

pytestmark = pytest.mark.unit

SURVIVOR = "MATCH_TEST_PROCESS"
"""Environment variable with the number of the process that tests run in."""

LAYERS = [Layer(f"conv{n}", Op.CONV2D, 8 + n, 4, 12, 12, 12, 12) for n in range(8)]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers start at once, and everything else waits for them."""
    monkeypatch.setattr(match.search.pool, "START_UP", 1e-6)


@pytest.fixture
def solved_here(monkeypatch: pytest.MonkeyPatch) -> list[SearchProblem]:
    """What this process solves, slowly, so that it leaves to the workers whatever they can do."""
    solved: list[SearchProblem] = []

    def slow(one: SearchProblem) -> Solution:
        time.sleep(1.0)
        solved.append(one)
        return solve(one)

    monkeypatch.setattr(match.search.pool, "solve", slow)
    return solved


def test_the_same_for_any_number_of_processes() -> None:
    problems = gap9_problems(ds_cnn(), 16384)
    problems.append(replace(problems[0], memories=(Memory("L1", 64),)))
    alone = solve_all(problems, 1)
    assert alone == [solve(one) for one in problems]
    assert alone[-1].schedule is None
    for jobs in (2, 3):
        assert solve_all(problems, jobs) == alone


def test_workers_do_their_part(solved_here: list[SearchProblem]) -> None:
    problems = [problem(layer, SteppedCost()) for layer in LAYERS]
    assert solve_all(problems, 3) == [solve(one) for one in problems]
    assert len(solved_here) < len(problems)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_failure_is_reported(jobs: int) -> None:
    problems = [problem(layer, Failing(name=layer.name if n in (3, 6) else "")) for n, layer in enumerate(LAYERS)]
    with pytest.raises(CostModelError, match=r"module unit: cost model Failing, layer conv3: compute.* returned nan"):
        solve_all(problems, jobs)


def test_models_that_no_worker_can_import_are_searched_with_here(solved_here: list[SearchProblem]) -> None:
    class Local(SteppedCost):
        pass

    problems = [problem(layer, Local() if n % 2 else SteppedCost()) for n, layer in enumerate(LAYERS[:4])]
    assert solve_all(problems, 3) == [solve(one) for one in problems]
    assert {one.layer.name for one in solved_here} >= {"conv1", "conv3"}


class Suicidal(SteppedCost):
    """Ends every process but the one that the tests run in."""

    def launch(self, layer: Layer) -> float:
        if os.environ[SURVIVOR] != str(os.getpid()):
            os._exit(1)
        return super().launch(layer)


def test_workers_that_die_are_missed_by_nobody(
    solved_here: list[SearchProblem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SURVIVOR, str(os.getpid()))
    problems = [problem(layer, Suicidal()) for layer in LAYERS[:4]]
    assert solve_all(problems, 3) == [solve(one) for one in problems]
    assert len(solved_here) == len(problems)


SCRIPT = """
import sys
sys.path.insert(0, {path!r})
import match.search.pool
from match.search.pool import solve_all
from match.search.solve import solve
from tests.search.test_workers import LAYERS, problem, SteppedCost
match.search.pool.START_UP = 1e-6

class Mine(SteppedCost):
    pass

problems = [problem(layer, Mine()) for layer in LAYERS]
assert solve_all(problems, 2) == [solve(one) for one in problems]
print("done")
"""


def test_scripts_without_a_guard_may_call_it(tmp_path: Path) -> None:
    """Workers must not execute the script that calls the compiler."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(path=str(Path(__file__).resolve().parents[2])))
    done = subprocess.run([sys.executable, script], check=False, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_no_python_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [problem(layer, SteppedCost()) for layer in LAYERS[:3]]
    executables: list[str] = ["", "/nonexistent/python", "/bin/true"]
    for executable in executables:
        monkeypatch.setattr(sys, "executable", executable)
        assert solve_all(problems, 3) == [solve(one) for one in problems]


def test_nothing_to_do() -> None:
    assert solve_all([], 1) == solve_all([], 4) == []
