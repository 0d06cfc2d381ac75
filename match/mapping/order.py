"""The order in which steps are executed, each after those that it needs: that which holds the fewest bytes at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from match.mapping.packing import shared

MOST_STATES = 6_000
"""Sets of executed steps that are looked at, as many of each size."""


@dataclass(frozen=True)
class Held:
    """Bytes that are held from the first of some steps to the last, by their numbers.

    before: also before the first, since the caller writes them. after: also after the last, as the caller reads them.
    """

    bytes: int
    steps: frozenset[int]
    before: bool = False
    after: bool = False


class Work(NamedTuple):
    """A step: steps that come before it, bytes of its own, and what it may write over what.

    over: by the numbers of what it writes what that may lie over if no later step needs it (`mapping.packing.Item`).
    """

    needs: frozenset[int]
    scratch: int = 0
    over: Mapping[int, Mapping[int, int]] = {}


class _Best(NamedTuple):
    """The least peak with which a set of steps can be executed, the last of these, and the set before.

    alive: bytes that are held after them.
    """

    peak: int
    last: int
    before: int
    alive: int


def peak_of(order: Sequence[int], works: Sequence[Work], held: Sequence[Held]) -> int:
    """The most bytes that are held at once in an order."""
    problem = _Problem(works, held)
    best = problem.start
    done = 0
    for step in order:
        best = problem.after(done, best, step)
        done |= 1 << step
    return best.peak


def least_peak(works: Sequence[Work], held: Sequence[Held], given: Sequence[int]) -> tuple[int, ...]:
    """An order of execution with a small peak: the given one unless another has less.

    It has the least of all orders, by dynamic programming over the sets of steps that may have been executed, unless
    there are too many of these below the peak of the given order: then the best of each size are looked at.
    """
    problem = _Problem(works, held)
    known = peak_of(given, works, held)
    if not works or known <= problem.bound():
        return tuple(given)
    whole = (1 << len(works)) - 1
    levels = [{0: problem.start}]
    most = 1 + MOST_STATES // len(works)
    while whole not in levels[-1]:
        found: dict[int, _Best] = {}
        for done, best in levels[-1].items():
            for step, one in problem.next_steps(done, best, given):
                after = done | 1 << step
                if one.peak < known and (after not in found or one.peak < found[after].peak):
                    found[after] = one
        if not found:
            return tuple(given)
        if len(found) > most:
            kept = sorted(found, key=lambda done: (found[done].peak, found[done].alive, done))
            found = {done: found[done] for done in kept[:most]}
        levels.append(found)
    return tuple(_traced(levels, whole))


def _traced(levels: Sequence[Mapping[int, _Best]], whole: int) -> list[int]:
    order: list[int] = []
    done = whole
    for level in reversed(levels[1:]):
        order.append(level[done].last)
        done = level[done].before
    return order[::-1]


class _Problem:
    """Steps and bytes with sets of steps as bits of a number."""

    def __init__(self, works: Sequence[Work], held: Sequence[Held]) -> None:
        self._works, self._held = works, held
        self._needs = [_bits(work.needs) for work in works]
        self._touching = [_bits(one.steps) for one in held]
        self._touched: list[list[int]] = [[] for _ in works]
        for number, one in enumerate(held):
            for step in one.steps:
                self._touched[step].append(number)
        alive = sum(one.bytes for number, one in enumerate(held) if self._is_held(number, 0))
        self.start = _Best(alive, -1, 0, alive)

    def bound(self) -> int:
        """Bytes that some step needs in any order, at least."""
        return max(
            (
                work.scratch
                + sum(self._held[number].bytes for number in touched)
                - sum(self._shared(output, under, under) for output, under in work.over.items())
                for work, touched in zip(self._works, self._touched, strict=True)
            ),
            default=0,
        )

    def after(self, done: int, best: _Best, step: int) -> _Best:
        """What executing a step after some others comes to."""
        work, then = self._works[step], done | 1 << step
        load = best.alive + work.scratch
        alive = best.alive
        for number in self._touched[step]:
            size, before, later = self._held[number].bytes, self._is_held(number, done), self._is_held(number, then)
            alive += size * (later - before)
            if not before:
                under = work.over.get(number, {})
                ending = [own for own in under if self._is_held(own, done) and not self._is_held(own, then)]
                load += size - self._shared(number, under, ending)
        return _Best(max(best.peak, load), step, done, alive)

    def next_steps(self, done: int, best: _Best, given: Sequence[int]) -> Iterator[tuple[int, _Best]]:
        """Steps that may be executed next, in the given order: one alone if nothing is lost by executing it now.

        That is one which needs no more than is needed anyway, and after which no more is held than before.
        """
        ready = [
            (step, self.after(done, best, step))
            for step in given
            if not done >> step & 1 and self._needs[step] & ~done == 0
        ]
        free = next((one for one in ready if one[1].peak == best.peak and one[1].alive <= best.alive), None)
        yield from ready if free is None else [free]

    def _shared(self, number: int, under: Mapping[int, int], ending: Iterable[int]) -> int:
        """Bytes that what a step writes shares with what it lies over."""
        return shared(self._held[number].bytes, [(self._held[own].bytes, under[own]) for own in ending])

    def _is_held(self, number: int, done: int) -> bool:
        """Whether bytes are held between two steps."""
        touching, one = self._touching[number], self._held[number]
        return (one.before or touching & done != 0) and (one.after or touching & ~done != 0)


def _bits(steps: frozenset[int]) -> int:
    return sum(1 << step for step in steps)
