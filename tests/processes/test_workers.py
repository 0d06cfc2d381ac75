"""Questions shared out among processes: the same answers and the same errors as in one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import match.processes.workers
from match.errors import CostModelError
from match.ir.layer import Layer, Op
from match.mapping.memory import Memory
from match.processes.workers import Workers
from match.search.problem import SearchProblem, Solution
from match.search.solutions import solutions
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
    monkeypatch.setattr(match.processes.workers, "START_UP", 1e-6)
    monkeypatch.setenv(SURVIVOR, str(os.getpid()))


def solve_all(problems: list[SearchProblem], jobs: int) -> list[Solution]:
    with Workers(jobs) as workers:
        return solutions(problems, None, workers)


def solved(problems: list[SearchProblem], jobs: int) -> tuple[list[Solution], set[str]]:
    """Solutions, and the names of the layers that this process solves, which leaves what they can do to the others."""
    with Workers(jobs) as workers:
        answers = workers.answers(solve_slowly_here, problems, lambda one: one.layer.k)
    here = str(os.getpid())
    return [found for found, _ in answers], {
        one.layer.name for one, (_, by) in zip(problems, answers, strict=True) if by == here
    }


def solve_slowly_here(one: SearchProblem) -> tuple[Solution, str]:
    """A solution, and the number of the process that found it."""
    if os.environ[SURVIVOR] == str(os.getpid()):
        time.sleep(0.3)
    return solve(one), str(os.getpid())


def test_the_same_for_any_number_of_processes() -> None:
    problems = gap9_problems(ds_cnn(), 16384)
    problems.append(replace(problems[0], memories=(Memory("L1", 64),)))
    alone = solve_all(problems, 1)
    assert alone == [solve(one) for one in problems]
    assert alone[-1].schedule is None
    for jobs in (2, 3):
        assert solve_all(problems, jobs) == alone


def test_workers_do_their_part() -> None:
    problems = [problem(layer, SteppedCost()) for layer in LAYERS]
    found, here = solved(problems, 3)
    assert found == [solve(one) for one in problems]
    assert len(here) < len(problems)


def test_workers_stay_for_other_questions() -> None:
    """They answer what comes after, about something else, and so it goes on after an error."""
    problems = [problem(layer, SteppedCost()) for layer in LAYERS[:5]]
    failing = [problem(layer, Failing(name=layer.name)) for layer in LAYERS[:5]]
    with Workers(2) as workers:
        first = workers.answers(solve_slowly_here, problems, lambda one: one.layer.k)
        with pytest.raises(CostModelError, match="layer conv0"):
            workers.answers(solve, failing, lambda one: one.layer.k)
        second = workers.answers(process_after_a_while, list(range(6)), lambda number: number)
    others = {by for _, by in first} - {str(os.getpid())}
    assert len(others) == 1
    assert set(second) == {*others, str(os.getpid())}


def process_after_a_while(number: int) -> str:
    """The number of the process that answers."""
    time.sleep(0.2 + number / 100)
    return str(os.getpid())


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_failure_is_reported(jobs: int) -> None:
    problems = [problem(layer, Failing(name=layer.name if n in (3, 6) else "")) for n, layer in enumerate(LAYERS)]
    with pytest.raises(CostModelError, match=r"module unit: cost model Failing, layer conv3: compute.* returned nan"):
        solve_all(problems, jobs)


def test_models_that_no_worker_can_import_are_searched_with_here() -> None:
    class Local(SteppedCost):
        pass

    problems = [problem(layer, Local() if n % 2 else SteppedCost()) for n, layer in enumerate(LAYERS[:4])]
    found, here = solved(problems, 3)
    assert found == [solve(one) for one in problems]
    assert here >= {"conv1", "conv3"}


def test_what_no_worker_can_import_is_asked_here() -> None:
    with Workers(2) as workers:
        assert workers.answers(lambda number: number * os.getpid(), [1, 2, 3], lambda number: number) == [
            number * os.getpid() for number in (1, 2, 3)
        ]


class Suicidal(SteppedCost):
    """Ends every process but the one that the tests run in."""

    def launch(self, layer: Layer) -> float:
        if os.environ[SURVIVOR] != str(os.getpid()):
            os._exit(1)
        return super().launch(layer)


def test_workers_that_die_are_missed_by_nobody() -> None:
    problems = [problem(layer, Suicidal()) for layer in LAYERS[:3]]
    found, here = solved(problems, 3)
    assert found == [solve(one) for one in problems]
    assert len(here) == len(problems)


def test_no_worker_is_left_behind() -> None:
    problems = [problem(layer, SteppedCost()) for layer in LAYERS]

    def by_whom() -> set[int]:
        with Workers(2) as workers:
            answers = workers.answers(solve_slowly_here, problems, lambda one: one.layer.k)
            raise KeyboardInterrupt({int(by) for _, by in answers})

    with pytest.raises(KeyboardInterrupt) as raised:
        by_whom()
    for process in raised.value.args[0] - {os.getpid()}:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


SCRIPT = """
import sys
sys.path.insert(0, {path!r})
import match.processes.workers
from match.processes.workers import Workers
from match.search.solve import solve
from tests.processes.test_workers import LAYERS, problem, SteppedCost
match.processes.workers.START_UP = 1e-6

class Mine(SteppedCost):
    pass

problems = [problem(layer, Mine()) for layer in LAYERS]
with Workers(2) as workers:
    found = workers.answers(solve, problems, lambda one: one.layer.k)
assert found == [solve(one) for one in problems]
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
