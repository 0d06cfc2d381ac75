"""Predicted cycles of a network whose constants and tensors come from external memory.

One core executes the steps, and one DMA serves transfers in the order of their start. A step first waits for
its own constants, then starts the transfers that the choice assigns to it. A cut layer uses the DMA from its
beginning to its end: transfers that were started earlier go first and delay it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from match.placement.problem import Choice, Cut, PlacementProblem, cut_steps


@dataclass(frozen=True)
class Latency:
    """Total cycles. `exposed` are the extra cycles of each step, compared with everything in main memory.

    traffic: cycles in which the DMA of the external memory is at work.
    """

    cycles: float
    exposed: tuple[float, ...]
    traffic: float

    @property
    def hidden(self) -> float:
        """Share of the external memory's traffic that is hidden by other work; 1 without traffic."""
        return max(0.0, 1.0 - sum(self.exposed) / self.traffic) if self.traffic else 1.0


def predict(problem: PlacementProblem, choice: Choice, cuts: Mapping[int, Cut]) -> Latency:
    """The latency of a choice; `cuts` has the steps that were searched, and the others are estimated."""
    now = free = traffic = 0.0
    steps, issue = problem.steps, problem.issue
    done = [0.0] * len(steps)
    exposed: list[float] = []
    starting: dict[int, list[int]] = {}
    for step, at in enumerate(choice.fetched):
        if at is not None:
            starting.setdefault(at, []).append(step)

    in_pieces = cut_steps(problem, choice)
    for number, step in enumerate(steps):
        began = now
        if done[number] > now:
            now = done[number]
        if number in starting:
            for fetched in starting[number]:  # its own first, as no step's are fetched later than it begins
                fetch = steps[fetched].fetch
                now += issue
                free = (now if now > free else free) + fetch
                traffic += fetch
                done[fetched] = free
                if fetched == number:
                    now = free
        if number in in_pieces:
            cut = cuts.get(number) or estimate(problem, choice, number)
            now = free = max(now, free) + cut.cycles
            traffic += cut.traffic
        else:
            now += step.cycles
        exposed.append(now - began - step.cycles)
    return Latency(now, tuple(exposed), traffic)


def estimate(problem: PlacementProblem, choice: Choice, number: int) -> Cut:
    """Estimated cost of a cut step before its search: the longer of its work and its traffic, plus a first block.

    A spilled tensor is assumed to move as fast as constants.
    """
    step = problem.steps[number]
    speed = max((other.fetch / other.constants for other in problem.steps if other.constants), default=1.0)
    moved = sum(problem.by_name[name].bytes for name, _ in step.tensor_blocks if name in choice.spilled) * speed
    first = sum(size for name, size in step.tensor_blocks if name in choice.spilled) * speed
    if number in choice.cut:
        moved += step.fetch
        first += (step.constant_block or 0) * speed
    return Cut(0, max(step.cycles, moved) + first, moved)
