"""Where the tensors and constants of a group lie, and when they come."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from match.ir.group import MOST_INPUTS, calls, grouped
from match.ir.layer import Axis, Component, Dim, Group, Layer, Op, Operand, Role
from match.mapping.group_plan import (
    MOST_TRANSFERS,
    GroupPlan,
    Order,
    Room,
    Sizes,
    fault,
    group_plan,
    least_bytes,
    one_by_one,
)
from match.mapping.memory import Memory, align, component_bytes
from match.mapping.under_way import Lane, ends
from tests.mapping.random_calls import random_calls
from tests.seeds import seeded

pytestmark = pytest.mark.unit

LARGE = 1 << 20


def group(operators: int, outside: int = 1) -> Layer:
    """Operators in a row, the first of which reads `outside` tensors."""
    layer = Layer("add", Op.ADD, 8, 1, 1, 1, 1, 1)
    links = [tuple(~number for number in range(outside)), *((number,) for number in range(operators - 1))]
    return grouped([layer] * operators, tuple(links))


def tensor(name: str, size: int) -> Operand:
    """An activation of so many bytes."""
    return Operand(name, Role.INPUT, (Component(name, (Axis(Dim.FX, size, window=size),)),))


def constants(*sizes: tuple[int, int]) -> Operand:
    """Components of (part, bytes)."""
    components = (
        Component(f"part_{number}", (Axis(Dim.FX, size, window=size),), part=part)
        for number, (part, size) in enumerate(sizes)
    )
    return Operand("weights", Role.CONSTANT, tuple(components))


def planned(
    layer: Layer,
    operands: list[Operand],
    size: int,
    sizes: Sizes,
    part_bytes: int = 4096,
    order: Order | None = None,
) -> GroupPlan | None:
    """The plan in a memory of `size` bytes, whose blocks begin at multiples of 8."""
    memory = Memory("L1", size, alignment=8)
    return group_plan(layer, operands, memory, sizes, part_bytes, order or one_by_one(layer))


def small(operators: int) -> Sizes:
    """Tensors of 8 bytes, no scratch."""
    return Sizes((8,) * operators, (0,) * operators)


def test_a_part_ends_with_a_call() -> None:
    """Components are aligned; small ones wait for more, the last part is what is left."""
    operands = [tensor("input", 8), constants((0, 4095), (0, 3), (1, 100), (2, 9000), (4, 8), (5, 1))]
    plan = planned(group(6), operands, LARGE, small(6))
    assert plan
    parts = [(f.awaited, f.last, f.components, f.start, f.room.bytes) for f in plan.fetches if f.operand == "weights"]
    assert parts == [(0, 0, 2, 0, 4104), (1, 2, 2, 4104, 9104), (4, 5, 2, 13208, 16)]


def test_all_comes_at_once_where_there_is_room() -> None:
    operands = [tensor("input", 8), constants((2, 5000), (3, 5000))]
    plan = planned(group(4), operands, LARGE, small(4))
    assert plan
    assert [(fetch.operand, fetch.started, fetch.awaited) for fetch in plan.fetches] == [
        ("input", 0, 0),
        ("weights", 0, 2),
        ("weights", 0, 3),
    ]
    assert plan.ended == (0, 1, 2, 3)


def test_what_the_first_call_reads_comes_alone() -> None:
    """However little it is: all waits for that call."""
    operands = [tensor("input", 8), constants((0, 8), (1, 8), (2, 8))]
    plan = planned(group(3), operands, LARGE, small(3))
    assert plan
    assert [(fetch.awaited, fetch.last) for fetch in plan.fetches if fetch.operand == "weights"] == [(0, 0), (1, 2)]


def test_constants_take_the_place_of_others() -> None:
    """Two of three fit: the third one comes when the first is used up, beside the second call."""
    operands = [tensor("input", 8), constants((0, 5000), (1, 5000), (2, 5000))]
    plan = planned(group(3), operands, 10100, small(3))
    assert plan
    first, second, third = (fetch for fetch in plan.fetches if fetch.operand == "weights")
    assert (first.started, second.started, third.started) == (0, 0, 1)
    assert third.room.offset < 5000 + 100
    assert planned(group(3), operands, 5016, small(3))
    assert planned(group(3), operands, 5008, small(3)) is None


def test_so_many_transfers_are_under_way() -> None:
    """The next one starts behind the call that waits for the first of these."""
    operands = [*(tensor(f"input_{n}", 8) for n in range(MOST_INPUTS)), constants(*((n, 4096) for n in range(40)))]
    plan = planned(group(40, MOST_INPUTS), operands, LARGE, small(40))
    assert plan
    started = [fetch.started for fetch in plan.fetches]
    assert started[:MOST_TRANSFERS] == [0] * MOST_TRANSFERS
    assert max(started[:MOST_TRANSFERS]) < started[MOST_TRANSFERS]
    for number, fetch in enumerate(plan.fetches):
        under_way = [other for other in plan.fetches[:number] if other.awaited >= fetch.started]
        assert len(under_way) < MOST_TRANSFERS


def random_problem(rng: random.Random) -> tuple[Layer, list[Operand], Sizes]:
    """A group of random operators, some of which are cut, that read each other's outputs and tensors from outside."""
    count, outside = rng.randint(2, 9), rng.randint(1, 3)
    links = [tuple(rng.choice([*range(n), *(~t for t in range(outside))]) for _ in range(2)) for n in range(count)]
    for number in reversed(range(count - 1)):  # all is read
        if not any(number in own for own in links):
            links[number + 1] = (number, links[number + 1][1])
    unread = [t for t in range(outside) if not any(~t in own for own in links)]
    links[0] = (*links[0], *(~t for t in unread))
    stage = Layer("add", Op.ADD, 8, 1, 6, 1, 6, 1)
    layer = grouped([stage] * count, tuple(links), [rng.choice([0, 0, 3]) for _ in range(count)])
    sizes = Sizes(tuple(rng.randint(1, 99) for _ in range(count)), tuple(rng.choice([0, 0, 20]) for _ in range(count)))
    parts = constants(*((n, rng.randint(1, 9000)) for n in range(len(calls(layer))) if rng.random() < 0.8))
    inputs = [tensor(f"input_{t}", rng.randint(1, 99)) for t in range(outside)]
    return layer, [*inputs, parts] if parts.components else inputs, sizes


def random_lanes(rng: random.Random, count: int) -> list[Lane]:
    """Operators on three modules that take two calls, one, or none while the core goes on; some are alone."""
    units = Lane("accelerator", 2), Lane("cores", 1), Lane("slow", 0)
    return [rng.choice(units)._replace(alone=rng.random() < 0.2) for _ in range(count)]


@seeded(100, swept=900)
def test_nothing_lies_on_what_is_needed(seed: int) -> None:
    """Byte for byte and call by call: what a call reads, writes or uses is what was put there, until it has ended.

    Operators are cut in channels, in rows or in both, and calls of others are between theirs.
    """
    rng = random.Random(seed)
    layer, operands, sizes = random_problem(rng)
    least = least_bytes(layer, operands, Memory("L1", LARGE, alignment=8), sizes)
    late = rng.random() < 0.5
    order = one_by_one(layer)
    if late:
        own = random_calls(rng, layer, [rng.random() < 0.5 for _ in layer.operators])
        order = Order(own, ends(layer, own, random_lanes(rng, len(layer.operators))))
    size = int(least * rng.uniform(1, 1.6 + 2 * late))
    plan = planned(layer, operands, size, sizes, part_bytes=1, order=order)
    if plan is None:
        assert late or size < 1.3 * least, "no packing, though there is much room"
        return
    assert (plan.calls, plan.ended) == (order.calls, order.ended)
    holds: list[object] = [None] * size

    def fill(room: Room, what: object) -> None:
        holds[room.offset : room.offset + room.bytes] = [what] * room.bytes

    def has(room: Room, what: object) -> bool:
        return set(holds[room.offset : room.offset + room.bytes]) <= {what}

    own = order.calls
    parts = [call[:3] for call in calls(layer)]
    weights = next((operand for operand in operands if operand.role is Role.CONSTANT), None)

    def holds_all(number: int) -> None:
        """What a call needs is there."""
        operator = own[number].operator
        begin = 0
        for component in weights.components if weights else ():
            if parts[component.part] == own[number][:3]:
                (fetch,) = (
                    one for one in plan.fetches if one.components and one.start <= begin < one.start + one.room.bytes
                )
                assert fetch.awaited <= number <= fetch.last
                assert has(fetch.room, fetch)
                assert plan.constant(begin) == fetch.room.offset + begin - fetch.start
            begin += align(component_bytes(component, layer.extents), 8)
        for link in layer.get(Group).links[operator]:
            if link >= 0:
                assert has(plan.outputs[link], link)
            else:
                source = next(fetch for fetch in plan.fetches if fetch.operand == f"input_{~link}")
                assert source.awaited <= number
                assert has(source.room, source)
        assert has(plan.outputs[operator], operator)
        assert has(plan.scratch[operator], ("scratch", operator))

    under_way: list[int] = []
    for number, call in enumerate(own):
        for fetch in plan.starting(number):
            fill(fetch.room, fetch)
        for other in under_way:  # until here, where the core waits for some of them
            holds_all(other)
        under_way = [other for other in under_way if plan.ended[other] > number]
        if all(other.operator != call.operator for other in own[:number]):
            fill(plan.outputs[call.operator], call.operator)
        fill(plan.scratch[call.operator], ("scratch", call.operator))
        for other in (*under_way, number):
            holds_all(other)
        if plan.ended[number] > number:
            under_way.append(number)
    components = sum(len(operand.components) for operand in operands if operand.role is Role.CONSTANT)
    assert sum(fetch.components for fetch in plan.fetches) == components
    assert fault(layer, plan) is None


@seeded(30, swept=300)
def test_a_wrong_plan_is_found(seed: int) -> None:
    """A room that is moved onto another one, a transfer that comes too late."""
    rng = random.Random(seed)
    layer, operands, sizes = random_problem(rng)
    plan = planned(layer, operands, LARGE, sizes)
    assert plan
    fetch = rng.choice(plan.fetches)
    late = replace(fetch, started=fetch.awaited + 1, awaited=fetch.awaited + 1)
    others = tuple(late if one is fetch else one for one in plan.fetches)
    wrong = replace(plan, fetches=others)
    assert fetch.last > fetch.awaited or fault(layer, wrong)
    assert fault(layer, replace(plan, ended=(*plan.ended[:-1], plan.ended[-1] - 1)))
    short = plan.calls[-1]._replace(rows=plan.calls[-1].rows - 1)
    assert fault(layer, replace(plan, calls=(*plan.calls[:-1], short)))
    assert fault(layer, replace(plan, calls=plan.calls[:-1], ended=plan.ended[:-1]))
    onto = replace(fetch, room=replace(fetch.room, offset=plan.outputs[layer_of(layer, fetch.awaited)].offset))
    assert fault(layer, replace(plan, fetches=tuple(onto if one is fetch else one for one in plan.fetches)))


def layer_of(layer: Layer, call: int) -> int:
    """The operator of a kernel call."""
    return calls(layer)[call].operator
