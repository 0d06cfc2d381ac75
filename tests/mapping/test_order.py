"""Orders of execution beside all orders there are."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from match.mapping.order import Held, Work, least_peak, peak_of
from tests.seeds import seeded

pytestmark = pytest.mark.unit


def orders(works: Sequence[Work], done: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """All orders of execution."""
    if len(done) == len(works):
        yield done
    for step, work in enumerate(works):
        if step not in done and work.needs <= set(done):
            yield from orders(works, (*done, step))


def held_at_once(order: Sequence[int], works: Sequence[Work], held: Sequence[Held]) -> int:
    """The peak by the definition, with what lies over what as one block where it may: each may begin before it."""
    place = {step: number for number, step in enumerate(order)}
    lives = {
        number: [
            0 if one.before else min(place[step] for step in one.steps),
            len(order) - 1 if one.after else max(place[step] for step in one.steps),
        ]
        for number, one in enumerate(held)
    }
    peaks: list[int] = []
    for now, step in enumerate(order):
        total = works[step].scratch + sum(
            held[number].bytes for number, (first, last) in lives.items() if first <= now <= last
        )
        for output, under in works[step].over.items():
            for own, lag in under.items():
                if lives[own][1] == now == lives[output][0]:
                    apart = held[output].bytes + held[own].bytes
                    total -= apart - min(apart, max(held[output].bytes, lag + held[own].bytes))
        peaks.append(total)
    return max(peaks)


def network(seed: int) -> tuple[list[Work], list[Held]]:
    """Some operators; each reads tensors of earlier ones or of the caller, and some may write over one of these."""
    rng = random.Random(seed)
    count = rng.randint(1, 8)
    writers: list[int | None] = [None]
    sizes = [rng.randint(1, 9)]
    readers: list[set[int]] = [set()]
    works: list[Work] = []
    for step in range(count):
        near = rng.sample(range(len(writers)), min(len(writers), rng.randint(1, 3)))
        for tensor in near:
            readers[tensor].add(step)
        over: dict[int, dict[int, int]] = {}
        output = len(writers)
        size = rng.randint(1, 9)
        if rng.random() < 0.3:
            over = {output: {near[0]: rng.choice((0, 1, 4))}}
        needs = frozenset(writer for tensor in near if (writer := writers[tensor]) is not None)
        works.append(Work(needs, rng.choice((0, 0, rng.randint(1, 5))), over))
        writers.append(step)
        sizes.append(size)
        readers.append(set())
    held = [
        Held(
            size,
            frozenset(read | ({writer} if writer is not None else set())),
            before=writer is None,
            after=not read,
        )
        for size, read, writer in zip(sizes, readers, writers, strict=True)
    ]
    return works, held


@seeded(60, 2000)
def test_no_order_has_less(seed: int) -> None:
    works, held = network(seed)
    every = list(orders(works))
    peaks = [held_at_once(order, works, held) for order in every]
    for order, peak in zip(every[:: 1 + len(every) // 10], peaks[:: 1 + len(every) // 10], strict=True):
        assert peak_of(order, works, held) == peak
    found = least_peak(works, held, range(len(works)))
    assert found in every
    assert held_at_once(found, works, held) == min(peaks)
    if peaks[every.index(tuple(range(len(works))))] == min(peaks):
        assert found == tuple(range(len(works)))


def branches(count: int, length: int) -> tuple[list[Work], list[Held]]:
    """Branches from one tensor, each of which widens and narrows again, given side by side; all are read at the end."""
    works = [Work(frozenset())]
    held: list[Held] = []
    ends: list[int] = []
    chains = [[1 + branch + count * step for step in range(length)] for branch in range(count)]
    works += [Work(frozenset({max(0, 1 + number - count)})) for number in range(count * length)]
    held.append(Held(10, frozenset({0, *(chain[0] for chain in chains)})))
    for chain in chains:
        held += [Held(100, frozenset(pair)) for pair in pairwise(chain)]
        ends.append(chain[-1])
    last = len(works)
    works.append(Work(frozenset(ends)))
    held += [Held(1, frozenset({end, last})) for end in ends]
    return works, held


def test_branch_after_branch() -> None:
    works, held = branches(3, 4)
    given = range(len(works))
    assert peak_of(given, works, held) == 400
    order = least_peak(works, held, given)
    assert peak_of(order, works, held) == 10 + 1 + 200  # while the third waits


def test_of_many_branches_some_order_is_found() -> None:
    """More sets of steps than are looked at."""
    works, held = branches(12, 6)
    order = least_peak(works, held, range(len(works)))
    assert sorted(order) == list(range(len(works)))
    assert peak_of(order, works, held) < peak_of(range(len(works)), works, held) / 4


def test_a_network_of_nothing_has_an_order() -> None:
    """Its output is its input."""
    assert least_peak([], [Held(100, frozenset(), before=True, after=True)], []) == ()
