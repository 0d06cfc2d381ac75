"""Placement: nothing that is alive at the same time overlaps, nothing leaves its memory, and what fits is found."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.mapping.packing import Item, Packed, loads, pack
from match.placement.contents import load, packed
from match.placement.decide import Decision, Shortage, decide, least_main
from match.placement.latency import Arrival, course, faster, predict
from match.placement.leave import with_fewer_residents
from match.placement.place import Plan, place
from match.placement.problem import Choice, Cut, Lifetime, PlacementProblem, Step
from tests.placement.networks import chain, choices

pytestmark = pytest.mark.unit

items = st.lists(
    st.builds(
        lambda first, length, size: (first, first + length, size),
        st.integers(0, 9),
        st.integers(0, 5),
        st.integers(1, 100),
    ),
    max_size=12,
)


@given(items, st.sampled_from([1, 4, 8]))
def test_packing_never_overlaps(given_items: list[tuple[int, int, int]], alignment: int) -> None:
    blocks = [Item(n, *item) for n, item in enumerate(given_items)]
    packing = pack(blocks, alignment, 0)
    for one, other in itertools.combinations(blocks, 2):
        if one.first <= other.last and other.first <= one.last:
            start, end = packing.offsets[one.key], packing.offsets[one.key] + one.bytes
            assert end <= packing.offsets[other.key] or packing.offsets[other.key] + other.bytes <= start
    assert all(packing.offsets[block.key] % alignment == 0 for block in blocks)
    assert packing.peak >= max(loads(blocks, 16, alignment))
    assert all(packing.offsets[block.key] + block.bytes <= packing.peak for block in blocks)


def least_peak(items: list[Item]) -> int:
    """The least peak of all packings without alignment.

    One of the best is made by putting items to the lowest free place in an order.

    That is the order in which they lie in a best packing, the lowest first.
    """
    best = sum(item.bytes for item in items)
    for order in itertools.permutations(items):
        placed: list[tuple[int, Item]] = []
        for item in order:
            together = [(at, other) for at, other in placed if other.first <= item.last and item.first <= other.last]
            beside = [(start, start + other.bytes) for start, other in together]
            free = (0, *(end for _, end in beside))
            placed.append((min(s for s in free if all(end <= s or s + item.bytes <= b for b, end in beside)), item))
        best = min(best, max(start + item.bytes for start, item in placed))
    return best


def together(one: Item, other: Item) -> bool:
    return one.first <= other.last and other.first <= one.last


def apart(one: Item, at: int, other: Item, there: int) -> bool:
    """Whether two items may lie where they do, one behind the other or over it."""
    behind = at + one.bytes <= there or there + other.bytes <= at
    lags = [(at, there, one.over.get(other.key)), (there, at, other.over.get(one.key))]
    return behind or any(lag is not None and low + lag <= high for low, high, lag in lags)


def least_over(items: list[Item], most: int) -> int:
    """The least peak of all packings with offsets up to `most`, by the definition."""
    best = most

    def place_next(offsets: list[int], peak: int) -> None:
        nonlocal best
        if peak >= best:
            return
        if len(offsets) == len(items):
            best = peak
            return
        item = items[len(offsets)]
        for at in range(best - item.bytes):
            if all(
                apart(item, at, other, there)
                for other, there in zip(items, offsets, strict=False)
                if together(item, other)
            ):
                place_next([*offsets, at], max(peak, at + item.bytes))

    place_next([], 0)
    return best


@pytest.mark.parametrize("seed", range(60))
def test_some_lie_over_what_ends(seed: int) -> None:
    random = Random(seed)
    items: list[Item] = []
    for number in range(5):
        first = random.randrange(4)
        ending = [one.key for one in items if one.last == first]
        over = {key: random.choice((0, 1, 3)) for key in ending if random.random() < 0.7}
        items.append(Item(number, first, min(5, first + random.randrange(3)), random.randint(1, 8), over))
    packing = pack(items, 1, 0)
    for one, other in itertools.combinations(items, 2):
        if together(one, other):
            assert apart(one, packing.offsets[one.key], other, packing.offsets[other.key])
    assert packing.peak == max(packing.offsets[item.key] + item.bytes for item in items)
    assert packing.peak == least_over(items, 41)
    assert packing.peak >= max(loads(items, 6, 1))


def test_bytes_that_are_shared() -> None:
    """A chain of layers that write over their input takes the larger tensor and what they begin before it."""
    items = [Item(0, 0, 1, 100), Item(1, 1, 2, 100, {0: 9}), Item(2, 2, 3, 40, {1: 4}), Item(3, 3, 3, 200, {2: 170})]
    assert loads(items, 4, 8) == [104, 120, 112, 216]
    packing = pack(items, 8, 0)
    assert packing.peak == 216


CROSSING = (121, 159, 357, 448)
"""Random items of which no order of `pack` makes the best packing."""


def random_items(seed: int) -> list[Item]:
    random = Random(seed)
    starts = [random.randrange(8) for _ in range(6)]
    return [
        Item(n, first, min(8, first + random.randrange(4)), random.randint(1, 12)) for n, first in enumerate(starts)
    ]


@pytest.mark.parametrize("seed", [*range(20), *CROSSING])
def test_the_peak_is_the_least_of_all_packings(seed: int) -> None:
    assert pack(random_items(seed), 1, 0).peak == least_peak(random_items(seed))


@pytest.mark.parametrize("seed", CROSSING)
def test_the_solver_is_asked_only_where_orders_do_not_make_what_is_enough(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Packed] = []

    def known(items: object, alignment: int, known: Packed, enough: int) -> Packed:
        asked.append(known)
        return known

    monkeypatch.setattr("match.mapping.packing._least", known)
    packing = pack(random_items(seed), 1, 0)
    assert asked == [packing]
    assert packing.peak > least_peak(random_items(seed))
    assert pack(random_items(seed), 1, packing.peak).peak == packing.peak
    assert len(asked) == 1


def _plan(problem: PlacementProblem, decision: Decision, fraction: float) -> Plan:
    """The plan where layers that are cut take a fraction of their rooms, and their constants are some bytes longer."""
    cuts = {n: Cut(int(room * fraction), problem.steps[n].cycles + 7, 3.0) for n, room in decision.rooms.items()}
    images = {n: step.constants + 24 * (n in decision.rooms) for n, step in enumerate(problem.steps) if step.constants}
    return place(problem, decision, cuts, images)


def _in_main(problem: PlacementProblem, plan: Plan, step: int) -> Iterator[tuple[int, int]]:
    """Ranges of main memory in use at a step."""
    yield 0, problem.resident
    for tensor in problem.tensors:
        if tensor.name not in plan.choice.spilled and tensor.first <= step <= tensor.last:
            yield plan.tensors[tensor.name], tensor.bytes
    for number, asked in enumerate(problem.steps):
        at = plan.choice.fetched[number]
        if number in plan.choice.resident or (at is not None and at <= step <= number):
            yield plan.constants[number], asked.constants
    if step in plan.blocks:
        yield plan.blocks[step], plan.cuts[step].bytes


def _in_external(problem: PlacementProblem, plan: Plan, step: int) -> Iterator[tuple[int, int]]:
    yield 0, problem.resident
    for number, asked in enumerate(problem.steps):
        if asked.constants:
            yield plan.images[number], asked.constants + 24 * (number in plan.cuts)
    for tensor in problem.tensors:
        if tensor.name in plan.choice.spilled and tensor.first <= step <= tensor.last:
            yield plan.tensors[tensor.name], tensor.bytes


def _apart(ranges: Iterable[tuple[int, int]], limit: int) -> bool:
    ends = 0
    for start, size in sorted(ranges):
        if start < ends and size:
            return False
        ends = max(ends, start + size)
    return ends <= limit


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(200, 3000), st.floats(0.2, 1.0), st.sampled_from([0, 40]))
@settings(max_examples=80)
def test_a_plan_never_overlaps_and_stays_within_its_memories(
    seed: int, length: int, main: int, fraction: float, resident: int
) -> None:
    problem = replace(chain(seed, length, main), resident=resident)
    decision = decide(problem)
    if isinstance(decision, Shortage):
        assert decision.needed > decision.available == main
        assert sum(size for _, size in decision.parts) <= decision.needed
        return
    plan = _plan(problem, decision, fraction)
    assert plan.main <= main
    for step in range(length):
        assert _apart(_in_main(problem, plan, step), plan.main)
        assert _apart(_in_external(problem, plan, step), plan.external)
    for number, step in enumerate(problem.steps):
        at = plan.choice.fetched[number]
        ways = [at is not None, number in plan.choice.cut, number in plan.choice.resident]
        assert sum(ways) == (step.constants > 0)
        assert at is None or (at <= number and at in problem.starts)
    assert all(problem.by_name[name].movable for name in plan.choice.spilled)
    assert all(offset % problem.alignment == 0 for offset in (*plan.constants.values(), *plan.blocks.values()))
    latency, known = plan.latency, course(problem, plan.choice, plan.cuts)
    assert {one.step: one.at for one in latency.arrivals} == {
        n: at for n, at in enumerate(plan.choice.fetched) if at is not None
    }
    assert all(one.end == known.arrived[one.step] for one in latency.arrivals if one.at < one.step)
    assert all(a.end <= b.begin for a, b in pairwise(latency.arrivals)), "one DMA serves them"
    assert all(a <= b for a, b in zip(latency.begins, latency.works, strict=False)), "a step waits, and works then"


@pytest.mark.parametrize("main", [250, 400, 800])
def test_what_fits_is_found_and_costs_little_more_than_the_best(main: int) -> None:
    ratios: list[float] = []
    for seed in range(20):
        problem = chain(seed, 4, main)
        every = [predict(problem, choice, {}).cycles for choice in choices(problem) if packed(problem, choice, {})]
        decision = decide(problem)
        assert isinstance(decision, Shortage) == (not every)
        if isinstance(decision, Decision):
            ratios.append(predict(problem, decision.choice, {}).cycles / min(every))
    assert min(ratios) >= 1.0
    assert max(ratios) < 1.5
    assert sum(ratios) / len(ratios) < 1.03


@pytest.mark.parametrize("seed", range(12))
def test_the_least_main_memory_is_the_least_of_all_choices(seed: int) -> None:
    problem = chain(seed, 4, 8)
    least = least_main(problem)
    assert least is not None
    fitting = [
        any(packed(there, choice, {}) for choice in choices(there))
        for there in (replace(problem, main=least), replace(problem, main=least - 1))
    ]
    assert fitting == [True, False]
    assert least_main(replace(problem, main=least + 1)) == least + 1


def test_no_main_memory_is_enough_where_external_memory_is_too_small() -> None:
    assert least_main(PlacementProblem((Step("a", 1.0, ("t",), 64),), (Lifetime("t", 8, 0, 0, True),), 0, -64)) is None


def test_a_fetch_is_hidden_behind_the_step_before() -> None:
    steps = (Step("a", 100.0, ("t",), 8, 10.0), Step("b", 50.0, ("t",), 64, 70.0), Step("c", 30.0, (), 64, 60.0))
    problem = PlacementProblem(steps, (Lifetime("t", 8, 0, 1, True),), 400, 0, issue=2.0)
    latency = predict(problem, Choice((0, 0, 1)), {})
    # a waits for its fetch (2 + 10) and starts b's (2, done at 84); c's is started when b is (116) and takes until 176.
    assert latency.exposed == (14.0, 2.0, 10.0)
    assert latency.cycles == 206.0
    assert latency.traffic == 140.0
    assert latency.hidden == pytest.approx(1 - 26 / 140)
    assert latency.begins == (0.0, 114.0, 166.0, 206.0)
    assert latency.works == (14.0, 116.0, 176.0)
    assert latency.arrivals == (Arrival(0, 0, 2, 2, 12), Arrival(1, 0, 14, 14, 84), Arrival(2, 1, 116, 116, 176))


def test_a_cut_layer_waits_for_the_transfers_before_it() -> None:
    steps = (Step("a", 100.0, (), 8, 10.0, 8), Step("b", 50.0, (), 64, 70.0))
    problem = PlacementProblem(steps, (), 400, 0)
    latency = predict(problem, Choice((None, 0), frozenset({0})), {0: Cut(8, 110.0, 10.0)})
    assert latency.exposed == (80.0, 0.0)
    assert latency.cycles == 230.0


def _otherwise(problem: PlacementProblem, random: Random, choice: Choice, steps: Iterable[int]) -> Choice:
    """The choice with the constants of some steps fetched at other steps, cut, or in main memory for good."""
    fetched, cut, resident = list(choice.fetched), set(choice.cut), set(choice.resident)
    for step in (step for step in steps if problem.steps[step].constants):
        cut.discard(step)
        resident.discard(step)
        fetched[step] = random.choice([start for start in problem.starts if start <= step])
        if random.random() < 0.3:
            fetched[step] = None
            random.choice([cut, resident]).add(step)
    return replace(choice, fetched=tuple(fetched), cut=frozenset(cut), resident=frozenset(resident))


@pytest.mark.parametrize("seed", range(8))
def test_a_choice_near_another_one_is_faster_where_its_whole_course_is(seed: int) -> None:
    random, problem = Random(seed), chain(seed, 30, 1 << 20)
    movable = [tensor.name for tensor in problem.tensors if tensor.movable]
    compared = set[bool]()
    for _ in range(300):
        before = _otherwise(problem, random, Choice((None,) * 30), range(30))
        other = _otherwise(problem, random, before, random.sample(range(30), random.randint(0, 2)))
        if random.random() < 0.2:
            other = replace(other, spilled=frozenset({random.choice(movable)}))
        known, whole = course(problem, before, {}), course(problem, other, {})
        found = faster(problem, other, {}, known)
        compared.add(whole.cycles < known.cycles)
        assert (found is not None) == (whole.cycles < known.cycles)
        if found is not None:
            assert (found.choice, found.cycles) == (other, whole.cycles)
            assert list(found.begins) == list(whole.begins)
            assert list(found.free) == list(whole.free)
            assert list(found.arrived) == list(whole.arrived)
    assert compared == {False, True}


def test_each_way_out_is_taken_only_where_it_is_needed() -> None:
    steps = tuple(
        Step(f"s{n}", 1000.0, tuple(f"t{m}" for m in (n - 1, n) if 0 <= m < 3), 400, 400.0, 80, cuts)
        for n, cuts in enumerate(((("t0", 40),), (("t0", 40), ("t1", 40)), (("t1", 40), ("t2", 40)), (("t2", 40),)))
    )
    tensors = tuple(Lifetime(f"t{n}", 200, n, n + 1, True) for n in range(3))

    def choice(main: int) -> Choice:
        decision = decide(PlacementProblem(steps, tensors, main, 1 << 20))
        assert isinstance(decision, Decision)
        return decision.choice

    roomy = choice(1600)
    assert not roomy.cut | roomy.spilled
    assert 0 in roomy.resident  # nothing hides its fetch; another may stay, too, as there is room
    late = choice(900)
    assert not late.spilled
    assert all(at is None or at >= n - 1 for n, at in enumerate(late.fetched))
    cut = choice(500)
    assert not cut.spilled
    assert cut.cut >= {1, 2}
    assert choice(300).spilled
    short = decide(PlacementProblem(steps, tensors, 100, 1 << 20))
    assert isinstance(short, Shortage)
    assert short.needed > 100
    for room in (300, -64):  # for one tensor of the two at once, and not even for the constants
        outside = decide(PlacementProblem(steps, tensors, 300, room))
        assert isinstance(outside, Shortage)
        assert outside.available == room < outside.needed
        assert not outside.parts


def test_constants_stay_where_there_is_room_for_them() -> None:
    steps = tuple(Step(f"s{n}", 10.0, (), 64, cycles, 8) for n, cycles in enumerate((100.0, 5.0, 100.0)))
    problem = PlacementProblem(steps, (), 200, 0)
    decision = decide(problem)
    assert isinstance(decision, Decision)
    images = {n: step.constants for n, step in enumerate(steps)}
    plan = place(problem, decision, {}, images)
    assert plan.choice.resident == {0, 1, 2}
    assert plan.latency.cycles == 30.0
    assert plan.main == 192
    tight = decide(replace(problem, main=152))
    assert isinstance(tight, Decision)
    assert 1 not in tight.choice.resident
    assert max(load(problem, tight.choice, {})) <= 152


def _least(problem: PlacementProblem) -> float:
    """The fewest predicted cycles of all choices that fit."""
    return min(predict(problem, choice, {}).cycles for choice in choices(problem) if packed(problem, choice, {}))


@pytest.mark.parametrize("main", [400, 440, 480, 520, 560])
def test_large_constants_stay_where_small_ones_would_save_more_for_each_byte(main: int) -> None:
    steps = (*(Step(f"s{n}", 10.0, (), 40, 44.0) for n in range(4)), Step("large", 10.0, (), 400, 404.0))
    problem = PlacementProblem(steps, (), main, 0, issue=5.0)
    every = [predict(problem, choice, {}).cycles for choice in choices(problem) if packed(problem, choice, {})]
    decision = decide(problem)
    assert isinstance(decision, Decision)
    assert predict(problem, decision.choice, {}).cycles == min(every)
    assert (4 in decision.choice.resident) == (main > 400)


def test_constants_much_larger_than_what_is_lacking_stay() -> None:
    """What has 400 bytes would cost less for each of its own bytes than what has 40, but only 40 are lacking."""
    steps = (Step("a", 100.0, (), 40, 40.0), Step("b", 100.0, (), 40, 140.0), Step("c", 100.0, (), 400, 300.0))
    problem = PlacementProblem(steps, (), 440, 0)
    everything = Choice((None,) * 3, resident=frozenset(range(3)))
    fewer = with_fewer_residents(problem, everything)
    assert 2 in fewer.resident
    assert packed(problem, fewer, {}) is not None


def test_constants_are_fetched_long_before_short_steps() -> None:
    """A long step hides the fetch, fifteen steps before. They cannot stay, as the first step has a large tensor."""
    steps = (
        Step("wide", 5.0, ("t",), 8, 8.0),
        Step("long", 1000.0, (), 8, 8.0),
        *(Step(f"s{n}", 5.0, (), 8, 8.0) for n in range(15)),
        Step("z", 5.0, (), 800, 800.0),
    )
    problem = PlacementProblem(steps, (Lifetime("t", 600, 0, 0, False),), 960, 0)
    decision = decide(problem)
    assert isinstance(decision, Decision)
    assert decision.choice.fetched[-1] == 1
    assert predict(problem, decision.choice, {}).cycles == sum(step.cycles for step in steps)
