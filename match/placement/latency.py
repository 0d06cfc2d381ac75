"""Predicted cycles of a network whose constants and tensors come from external memory.

One core executes the steps, and one DMA serves transfers in the order of their start. A step first waits for
its own constants, then starts the transfers that the choice assigns to it. A cut layer uses the DMA from its
beginning to its end: transfers that were started earlier go first and delay it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from match.placement.problem import Choice, Cut, PlacementProblem, cut_steps


@dataclass(frozen=True)
class Arrival:
    """Constants of step `step` come in whole: step `at` starts that, and the DMA does it from `begin` to `end`.

    started: when the core has started it; it takes `PlacementProblem.issue` cycles before.
    """

    step: int
    at: int
    started: float
    begin: float
    end: float


@dataclass(frozen=True)
class Latency:
    """Total cycles. `exposed` are the extra cycles of each step, compared with everything in main memory.

    traffic: cycles in which the DMA of the external memory is at work.
    begins: when each step begins, and last when the network ends. works: when each step begins with its own work, after
        it has waited for its constants, started the transfers of others, and, if it is cut, waited for the DMA.
    arrivals: of all constants that are fetched whole, in the order in which they are started.
    """

    cycles: float
    exposed: tuple[float, ...]
    traffic: float
    begins: tuple[float, ...]
    works: tuple[float, ...]
    arrivals: tuple[Arrival, ...]

    @property
    def hidden(self) -> float:
        """Share of the external memory's traffic that is hidden by other work; 1 without traffic."""
        return max(0.0, 1.0 - sum(self.exposed) / self.traffic) if self.traffic else 1.0


@dataclass(frozen=True)
class Course:
    """When the steps of a network run under a choice, in cycles from its beginning.

    begins: when each step begins, and last when the network ends.
    free: at each of these times, when the DMA will have served all transfers that were started.
    arrived: by step, when its constants are there, if they are fetched whole at an earlier step; else 0.
    """

    choice: Choice
    begins: Sequence[float]
    free: Sequence[float]
    arrived: Sequence[float]

    @property
    def cycles(self) -> float:
        """Total cycles."""
        return self.begins[-1]


def predict(problem: PlacementProblem, choice: Choice, cuts: Mapping[int, Cut]) -> Latency:
    """The latency of a choice; `cuts` has the steps that were searched, and the others are estimated."""
    found = course(problem, choice, cuts)
    begins = found.begins
    exposed = [end - begin - step.cycles for begin, end, step in zip(begins, begins[1:], problem.steps, strict=False)]
    fetches = [(at, 0, problem.steps[step].fetch) for step, at in enumerate(choice.fetched) if at is not None]
    pieces = [(n, 1, _cut(problem, choice, cuts, n).traffic) for n in cut_steps(problem, choice)]
    traffic = sum(cycles for *_, cycles in sorted([*fetches, *pieces], key=lambda one: one[:2]))
    arrivals = tuple(_arrivals(problem, found))
    in_pieces = cut_steps(problem, choice)
    own = [
        _cut(problem, choice, cuts, number).cycles if number in in_pieces else step.cycles
        for number, step in enumerate(problem.steps)
    ]
    works = [end - cycles for end, cycles in zip(begins[1:], own, strict=True)]
    return Latency(begins[-1], tuple(exposed), traffic, tuple(begins), tuple(works), arrivals)


def _arrivals(problem: PlacementProblem, found: Course) -> Iterator[Arrival]:
    """The transfers of a course: the DMA serves them in the order of their start."""
    starting: dict[int, list[int]] = {}
    for step, at in enumerate(found.choice.fetched):
        if at is not None:
            starting.setdefault(at, []).append(step)
    for at, steps in sorted(starting.items()):
        now, free = max(found.begins[at], found.arrived[at]), found.free[at]
        for step in steps:
            now += problem.issue
            begin = max(now, free)
            free = begin + problem.steps[step].fetch
            yield Arrival(step, at, now, begin, free)
            if step == at:
                now = free


def course(problem: PlacementProblem, choice: Choice, cuts: Mapping[int, Cut]) -> Course:
    """The course of a choice."""
    steps = len(problem.steps)
    found = _followed(problem, choice, cuts, Course(choice, (0.0,), (0.0,), (0.0,) * steps), (), range(steps))
    assert found is not None
    return found


def faster(problem: PlacementProblem, choice: Choice, cuts: Mapping[int, Cut], than: Course) -> Course | None:
    """The course of a choice, if it takes fewer cycles than another course; else None.

    Up to the first step at which the choices differ, both courses are the same. After the last such step, a course that
    is not ahead cannot get ahead, unless one of its transfers ends earlier: it is not followed to the end.
    """
    one, other = choice.fetched, than.choice.fetched
    moved = [step for step, (at, before) in enumerate(zip(one, other, strict=True)) if at != before]
    starts = {at for step in moved for at in (one[step], other[step]) if at is not None}
    spilled = choice.spilled ^ than.choice.spilled
    differing = starts.union(moved, choice.cut ^ than.choice.cut, *(problem.touching.get(name, ()) for name in spilled))
    if not differing:
        return None
    found = _followed(problem, choice, cuts, than, moved, range(min(differing), max(differing)))
    return None if found is None or found.cycles >= than.cycles else found


def _followed(
    problem: PlacementProblem,
    choice: Choice,
    cuts: Mapping[int, Cut],
    before: Course,
    moved: Iterable[int],
    differing: range,
) -> Course | None:
    """The course of a choice; None once it is certain that it ends no sooner than another one.

    They differ at steps from the first to the last of `differing`, its end included, and `moved` are the steps whose
    constants are fetched at other times.
    """
    first, last = differing.start, differing.stop
    begins, free_at, arrived = list(before.begins[:first]), list(before.free[:first]), list(before.arrived)
    now, free = before.begins[first], before.free[first]
    for step in moved:
        arrived[step] = 0.0
    starting: dict[int, list[int]] = {}
    for step, at in enumerate(choice.fetched[first:], first):
        if at is not None and at >= first:
            starting.setdefault(at, []).append(step)
    in_pieces = cut_steps(problem, choice)
    issue = problem.issue
    for number, step in enumerate(problem.steps[first:], first):
        if number > last and now >= before.begins[number]:
            return None
        begins.append(now)
        free_at.append(free)
        if arrived[number] > now:
            now = arrived[number]
        if number in starting:
            for fetched in starting[number]:  # its own first, as no step's are fetched later than it begins
                now += issue
                free = (now if now > free else free) + problem.steps[fetched].fetch
                if fetched == number:
                    now = free
                    continue
                arrived[fetched] = free
                if fetched > last and free < before.arrived[fetched]:
                    last = fetched
        if number in in_pieces:
            now = free = max(now, free) + _cut(problem, choice, cuts, number).cycles
        else:
            now += step.cycles
    return Course(choice, (*begins, now), (*free_at, free), arrived)


def _cut(problem: PlacementProblem, choice: Choice, cuts: Mapping[int, Cut], number: int) -> Cut:
    return cuts.get(number) or estimate(problem, choice, number)


def estimate(problem: PlacementProblem, choice: Choice, number: int) -> Cut:
    """Estimated cost of a cut step before its search: the longer of its work and its traffic, plus a first block.

    A spilled tensor is assumed to move as fast as constants.
    """
    step, speed = problem.steps[number], problem.slowest
    moved = sum(problem.by_name[name].bytes for name, _ in step.tensor_blocks if name in choice.spilled) * speed
    first = sum(size for name, size in step.tensor_blocks if name in choice.spilled) * speed
    if number in choice.cut:
        moved += step.fetch
        first += (step.constant_block or 0) * speed
    return Cut(0, max(step.cycles, moved) + first, moved)
