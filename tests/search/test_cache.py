"""Solutions on disk: found again for the same problem alone, whatever happens to the files."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import match.search.cache
from match.errors import ScheduleError
from match.ir.layer import Dim, Layer, Op, Padding
from match.mapping.memory import Memory
from match.mapping.schedule import Schedule
from match.processes.workers import Workers
from match.search.cache import Cache
from match.search.problem import SearchProblem, Solution
from match.search.solutions import solutions
from match.search.solve import solve
from match.target.cost import Energy
from tests.mapping.random_schedules import SteppedCost, random_cost, random_layer
from tests.search.networks import auto_encoder, ds_cnn, mobilenet, resnet8
from tests.search.problems import Logged, gap9_problems, problem
from tests.seeds import seeded

pytestmark = pytest.mark.unit

CONV = Layer("conv", Op.CONV2D, 6, 4, 7, 5, 7, 5, 3, 3, padding=Padding(1, 1, 1, 1))
PROBLEM = problem(CONV, SteppedCost())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a" / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_what_was_found_is_found_again(folder: Path) -> None:
    hopeless = replace(PROBLEM, memories=(Memory("L1", 20),))
    found = solutions([PROBLEM, hopeless], Cache(folder), Workers(1))
    assert found[0] == solve(PROBLEM)
    assert found[1] == Solution(refusal=found[1].refusal, needed=found[1].needed)
    assert (found[1].refusal or "").startswith("it needs at least ")
    assert found[1].needed is not None
    assert len(entries(folder)) == 1
    assert [Cache(folder).look_up(one) for one in (PROBLEM, hopeless)] == found


def test_searched_once(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    mine = problem(CONV, Logged(log=log))
    first = solutions([mine], Cache(folder), Workers(1))
    searched = log.read_text()
    named = replace(mine, layer=replace(CONV, name="other", pad_value=9, clip=(1, 2)))
    (second,) = solutions([named], Cache(folder), Workers(1))
    assert log.read_text() == searched
    assert second.schedule is not None
    assert second.schedule.layer == named.layer
    assert replace(second.schedule, layer=CONV) == first[0].schedule
    assert solutions([mine], None, Workers(1)) == first
    assert log.read_text() == searched * 2


@pytest.mark.parametrize(
    "change",
    [
        lambda p: replace(p, module="other"),
        lambda p: replace(p, objective="bytes"),
        lambda p: replace(p, layer=replace(CONV, stride=(2, 2))),
        lambda p: replace(p, operands=(replace(p.operands[0], partial_bytes=4), *p.operands[1:])),
        lambda p: replace(p, memories=(Memory("L1", 701),)),
        lambda p: replace(p, memories=(Memory("L1", 700, 8),)),
        lambda p: replace(p, memories=(Memory("L1", 700, private=(("weights", 64),)),)),
        lambda p: replace(p, multiples=((Dim.K, 2),)),
        lambda p: replace(p, cost_model=SteppedCost(fixed=11.0)),
        lambda p: replace(p, cost_model=SteppedCost(energy=Energy(3.0, {"L1": 1.75}))),
        lambda p: replace(p, cost_model=Logged()),
    ],
)
def test_anything_else_is_another_problem(folder: Path, change: Callable[[SearchProblem], SearchProblem]) -> None:
    cache = Cache(folder)
    cache.store([(PROBLEM, solve(PROBLEM))])
    assert cache.look_up(PROBLEM) is not None
    assert cache.look_up(change(PROBLEM)) is None


class Stubborn:
    """An engine that builds a mapping that cannot be."""

    def search(self, problem: SearchProblem) -> Schedule:
        raise ScheduleError(f"layer {problem.layer.name}: this cannot be.")


def test_refusals_that_name_their_layer_are_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("match.search.solve.engine", lambda name: Stubborn())
    for name in ("conv", "other"):
        (found,) = solutions([replace(PROBLEM, layer=replace(CONV, name=name))], Cache(folder), Workers(1))
        assert (found.refusal or "").startswith(f"layer {name}: ")
    assert entries(folder) == []


def test_models_that_cannot_be_told_apart_are_not_cached(folder: Path) -> None:
    def model(cycles: float) -> SteppedCost:
        class Local(SteppedCost):
            def launch(self, layer: Layer) -> float:
                return cycles

        return Local()

    unnamed = replace(PROBLEM, cost_model=model(3.0))
    (found,) = solutions([unnamed], Cache(folder), Workers(1))
    assert found.schedule is not None
    assert entries(folder) == []


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign", "folder"])
def test_damaged_entries_are_found_anew_and_mended(folder: Path, damage: str) -> None:
    (right,) = solutions([PROBLEM], Cache(folder), Workers(1))
    (path,) = entries(folder)
    whole = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 4
        path.write_bytes({"empty": b"", "cut": whole[:-9], "flipped": bytes(flipped), "foreign": b"x" * 200}[damage])
    assert Cache(folder).look_up(PROBLEM) is None
    assert solutions([PROBLEM], Cache(folder), Workers(1)) == [right]
    if damage != "folder":
        assert path.read_bytes() == whole


def test_an_entry_that_does_not_fit_its_problem_is_none(folder: Path) -> None:
    """Even a whole entry in the wrong place cannot become an impossible mapping."""
    cache = Cache(folder)
    cache.store([(PROBLEM, solve(PROBLEM))])
    (path,) = entries(folder)
    larger = problem(replace(CONV, k=2 * CONV.k, c=2 * CONV.c), SteppedCost())
    cache.store([(larger, solve(larger))])
    (other,) = (entry for entry in entries(folder) if entry != path)
    path.replace(other)
    assert cache.look_up(larger) is None


def test_an_unwritable_folder_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/match-cache")):
        assert solutions([PROBLEM], Cache(folder), Workers(1)) == [solve(PROBLEM)]


def test_the_entries_used_last_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match.search.cache, "MOST_ENTRIES", 10)
    cache, solution = Cache(folder), solve(PROBLEM)
    problems = [replace(PROBLEM, module=f"unit{n}") for n in range(11)]
    for age, one in enumerate(problems[:10]):
        cache.store([(one, solution)])
        for path in entries(folder):
            os.utime(path, (path.stat().st_atime - 10 * age, path.stat().st_mtime - 10))
    assert cache.look_up(problems[0]) is not None
    cache.store([(problems[10], solution)])
    assert len(entries(folder)) == 9
    assert cache.look_up(problems[0]) is not None
    assert cache.look_up(problems[1]) is None
    assert cache.look_up(problems[10]) is not None


WRITER = """
import random, sys
from pathlib import Path
from match.search.solutions import solutions
from match.processes.workers import Workers
from match.search.cache import Cache
from tests.search.test_cache import many_problems
problems = many_problems()
random.Random(int(sys.argv[2])).shuffle(problems)
for one in problems:
    (found,) = solutions([one], Cache(Path(sys.argv[1])), Workers(1))
    assert found.schedule is not None
"""


def many_problems() -> list[SearchProblem]:
    rng = random.Random(5)
    return [
        problem(replace(CONV, k=k, oy=oy), SteppedCost(), 1 << 16) for k in (2, 3, 5) for oy in (1, 2, rng.choice([3]))
    ]


def test_compilations_share_a_folder(folder: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), str(n)], stderr=subprocess.PIPE) for n in range(3)
    ]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    assert [path.suffix for path in entries(folder)] == [".schedule"] * 9
    for one in many_problems():
        assert Cache(folder).look_up(one) == solve(one)


@pytest.mark.parametrize("network", [resnet8, ds_cnn, auto_encoder, mobilenet])
def test_a_network_is_found_again_without_a_search(
    network: Callable[[], list[Layer]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = gap9_problems(network())
    searched = solutions(problems, Cache(folder), Workers(1))
    monkeypatch.setattr("match.search.solutions.solve", None)
    assert solutions(problems, Cache(folder), Workers(1)) == searched


@pytest.mark.parametrize("source", ["ir/layer.py", "prediction/walk.py", "search/exact/search.py"])
def test_another_compiler_searches_anew(
    source: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with another source, of the vocabulary, of mappings or of the search."""
    for name in ("ir", "prediction", "search/exact"):
        (tmp_path / "match" / name).mkdir(parents=True)
    for name in ("ir/layer.py", "prediction/walk.py", "search/cache.py", "search/exact/search.py"):
        (tmp_path / "match" / name).write_text(name)
    monkeypatch.setattr(match.search.cache, "__file__", str(tmp_path / "match" / "search" / "cache.py"))
    Cache(folder).store([(PROBLEM, solve(PROBLEM))])
    assert Cache(folder).look_up(PROBLEM)
    (tmp_path / "match" / source).write_text("another")
    assert Cache(folder).look_up(PROBLEM) is None


def test_losses_are_kept(folder: Path) -> None:
    solution: Any = solve(PROBLEM)
    thinned = replace(solution, schedule=replace(solution.schedule, loss=12.5))
    cache = Cache(folder)
    cache.store([(PROBLEM, thinned)])
    found = cache.look_up(PROBLEM)
    assert found is not None
    assert found.schedule is not None
    assert found.schedule.loss == 12.5


@seeded(12, 200)
def test_a_mapping_serves_smaller_memories_that_it_fits(seed: int, folder: Path) -> None:
    """A search would find the same one there; of a mapping that does not fit nothing is known."""
    rng = random.Random(seed)
    layer = random_layer(rng)
    whole = problem(layer, random_cost(rng), rng.choice((400, 700, 1500, 4000)), rng.choice(("latency", "bytes")))
    solution = solve(whole)
    Cache(folder).store([(whole, solution)])
    used = solution.schedule.used_bytes(whole.memories[0]) if solution.schedule else whole.memories[0].size
    for size in {*range(used - 2, used + 3), rng.randint(1, used), rng.randint(used, whole.memories[0].size)}:
        smaller = replace(whole, memories=(replace(whole.memories[0], size=size),))
        found = Cache(folder).look_up(smaller)
        if size <= whole.memories[0].size and solution.schedule is not None:
            assert (found is not None) == (size >= used)
        if found is not None:
            assert found == solve(smaller)


def test_sizes_of_one_problem_are_one_file(folder: Path) -> None:
    several = [replace(PROBLEM, memories=(Memory("L1", size),)) for size in (700, 350, 20)]
    cache = Cache(folder)
    for one in several:
        cache.store([(one, solve(one))])
    assert len(entries(folder)) == 1
    assert [Cache(folder).look_up(one) for one in several] == [solve(one) for one in several]


def test_what_may_not_serve_other_sizes_does_not(folder: Path) -> None:
    """A mapping with a loss, and one by a search that knows the size."""
    smaller = replace(PROBLEM, memories=(Memory("L1", 699),))
    solution: Any = solve(PROBLEM)
    assert solution.schedule.used_bytes(PROBLEM.memories[0]) <= 699
    Cache(folder / "a").store([(PROBLEM, solution)])
    assert Cache(folder / "a").look_up(smaller)
    Cache(folder / "b").store([(PROBLEM, replace(solution, schedule=replace(solution.schedule, loss=12.5)))])
    assert Cache(folder / "b").look_up(smaller) is None
    dory = replace(PROBLEM, engine="dory")
    Cache(folder / "c").store([(dory, solution)])
    assert Cache(folder / "c").look_up(dory)
    assert Cache(folder / "c").look_up(replace(smaller, engine="dory")) is None
