"""What lies where in the innermost memory while a group runs, and when its transfers start.

The tensors of a group are whole. Each takes room from the first kernel call that writes it to the end of the last one
that reads it, also where these compute some of its rows, and calls of other operators are between them. What comes from
outside, tensors and constants, takes room from the call before which its transfer starts. So constants take the place
of what earlier calls have used up, and arrive while calls before theirs compute.

The core comes to each call twice: in front of what it waits for it starts transfers, then it starts the call. So there
are two steps for each call, and a last one, in which all calls have ended. A call that is waited for later
(`match.mapping.under_way`) takes room until the first step of the call in front of which it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

from match.ir.group import Call, Links, calls
from match.ir.layer import Group, Layer, Operand, Role
from match.mapping.memory import Memory, align, component_bytes
from match.mapping.packing import Item, Packed, aligned, loads, pack

MOST_TRANSFERS = 14
"""Transfers of a group that are under way at once: a DMA engine counts a limited number of them."""

_LEFT = (0.0, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""Shares of the memory that must stay free when a transfer starts early; the plan is tried with one after the other."""


@dataclass(frozen=True)
class Room:
    """Some bytes of the innermost memory, from an offset on."""

    offset: int
    bytes: int


@dataclass(frozen=True)
class Fetch:
    """A transfer from outside into `room`: of a tensor, or of consecutive parts of the constants (`Component.part`).

    It starts before call number `started`, and call number `awaited` waits for it; `last` is the last one that
    reads it. Of constants, `components` are how many components of the operand it has, and `start` is the byte of the
    operand's block where it begins.
    """

    operand: str
    room: Room
    started: int
    awaited: int
    last: int
    start: int = 0
    components: int = 0


@dataclass(frozen=True)
class GroupPlan:
    """The kernel calls of a group and its rooms.

    calls: the kernel calls in the order in which they start. fetches: what comes from outside, in the order in which
    the transfers start. outputs: the tensor that each operator writes. scratch: that of each operator's kernel calls.
    bytes: where the last room ends. ended: the number of the call in front of which each kernel call is waited for: its
    own where that is at once.
    """

    calls: tuple[Call, ...]
    fetches: tuple[Fetch, ...]
    outputs: tuple[Room, ...]
    scratch: tuple[Room, ...]
    bytes: int
    ended: tuple[int, ...]

    def room(self, operand: str) -> Room:
        """Where an operand lies, or the constants that are fetched first; the output, if it is not fetched."""
        return next((fetch.room for fetch in self.fetches if fetch.operand == operand), self.outputs[-1])

    def constant(self, start: int) -> int:
        """Where the constants lie that begin at byte `start` of the operand's block."""
        part = max((fetch for fetch in self.fetches if fetch.components and fetch.start <= start), key=_start_of)
        return part.room.offset + start - part.start

    def starting(self, call: int) -> tuple[Fetch, ...]:
        """The transfers that start before a kernel call."""
        return tuple(fetch for fetch in self.fetches if fetch.started == call)

    def awaited(self, call: int) -> tuple[Fetch, ...]:
        """The transfers that a kernel call waits for."""
        return tuple(fetch for fetch in self.fetches if fetch.awaited == call)

    def ending(self, call: int) -> tuple[int, ...]:
        """The kernel calls that end in front of one, which are not waited for at once."""
        return tuple(other for other, ended in enumerate(self.ended) if other < ended == call)

    def slot(self, fetch: Fetch) -> int:
        """The number of a fetch among those that may be under way with it, less than `MOST_TRANSFERS`."""
        return self.fetches.index(fetch) % MOST_TRANSFERS


def _start_of(fetch: Fetch) -> int:
    return fetch.start


class Taken(NamedTuple):
    """A room of a plan: of the fetch, or of the output or scratch of the operator, that `number` counts.

    item: the steps during which it is taken, 2n before call n, 2n + 1 during it, and bytes.
    """

    kind: Literal["fetch", "output", "scratch"]
    number: int
    item: Item
    offset: int


def rooms(layer: Layer, plan: GroupPlan) -> list[Taken]:
    """Everything that takes room."""
    steps = _Steps(layer, plan.calls, plan.ended)
    found = [
        *(Taken("fetch", n, steps.item(n, fetch), fetch.room.offset) for n, fetch in enumerate(plan.fetches)),
        *(Taken("output", n, steps.output(n, room.bytes), room.offset) for n, room in enumerate(plan.outputs)),
        *(Taken("scratch", n, steps.scratch(n, room.bytes), room.offset) for n, room in enumerate(plan.scratch)),
    ]
    return [taken for taken in found if taken.item.bytes]


def fault(layer: Layer, plan: GroupPlan) -> str | None:
    """What is wrong with a plan, if something is.

    Calls that do not compute all outputs once, transfers that come too late or too many, calls that end before they
    start, or rooms that overlap.
    """
    if not _computes_all(layer, plan.calls):
        return "its kernel calls do not compute each output once"
    for before, fetch in pairwise(plan.fetches):
        if fetch.started < before.started or fetch.awaited < before.awaited:
            return f"{fetch.operand} is fetched out of order"
    for number, fetch in enumerate(plan.fetches):
        if not fetch.started <= fetch.awaited <= fetch.last:
            return f"{fetch.operand} comes too late"
        if number >= MOST_TRANSFERS and plan.fetches[number - MOST_TRANSFERS].awaited >= fetch.started:
            return "too many transfers are under way"
    if len(plan.ended) != len(plan.calls) or any(end < number for number, end in enumerate(plan.ended)):
        return "a kernel call ends before it starts"
    alive: list[list[tuple[int, int, Hashable]]] = [[] for _ in range(2 * len(plan.calls) + 1)]
    for _, _, item, offset in rooms(layer, plan):
        if offset + item.bytes > plan.bytes:
            return f"{item.key} ends behind all of it"
        for step in range(item.first, item.last + 1):
            alive[step].append((offset, item.bytes, item.key))
    for beside in alive:
        beside.sort(key=lambda room: room[:2])
        for (offset, size, key), (above, _, other) in pairwise(beside):
            if above < offset + size:
                return f"{key} and {other} overlap"
    return None


def _computes_all(layer: Layer, order: Sequence[Call]) -> bool:
    """Whether calls compute all outputs of each operator once, from the first row on, with no other constants."""
    done = dict.fromkeys((call[:3] for call in calls(layer)), 0)
    for call in order:
        if done.get(call[:3]) != call.row or call.rows < 1:
            return False
        done[call[:3]] += call.rows
    return all(rows == layer.operators[operator].oy for (operator, _, _), rows in done.items())


@dataclass(frozen=True)
class Sizes:
    """Bytes of the tensor that each operator of a group writes, and of each kernel's scratch."""

    outputs: tuple[int, ...]
    scratch: tuple[int, ...]


@dataclass(frozen=True)
class Order:
    """The kernel calls of a group in the order in which they start, and in front of which call each is waited for."""

    calls: tuple[Call, ...]
    ended: tuple[int, ...]


def one_by_one(layer: Layer) -> Order:
    """Operator by operator, and each call is waited for at once."""
    own = calls(layer)
    return Order(own, tuple(range(len(own))))


def group_plan(
    layer: Layer, operands: Sequence[Operand], memory: Memory, sizes: Sizes, part_bytes: int, order: Order
) -> GroupPlan | None:
    """The plan of a group; None if it does not fit. Parts of constants but the last have at least `part_bytes`.

    Transfers start as early as there are bytes for all that is alive then, those that are needed first before others.
    If gaps leave no packing of that, it is tried with some bytes less.
    """
    late = _fetches(layer, operands, memory, part_bytes, order.calls)
    steps = _Steps(layer, order.calls, order.ended)
    fixed = steps.fixed(sizes)
    for left in _LEFT:
        coming = _as_early_as_fits(late, fixed, steps, memory, memory.size - int(left * memory.size))
        if coming is None:
            continue
        items = [*fixed, *(steps.item(n, fetch) for n, fetch in enumerate(coming))]
        packed = pack(items, memory.alignment, memory.size, solve=False)
        if packed.peak <= memory.size:
            return _planned(coming, steps, packed, sizes, memory)
    return None


def _as_early_as_fits(
    late: Sequence[Fetch], fixed: Sequence[Item], steps: _Steps, memory: Memory, size: int
) -> list[Fetch] | None:
    """Transfers that start early, so that no more than `size` bytes are alive at once; None if these are too few."""
    items = [*fixed, *(steps.item(n, fetch) for n, fetch in enumerate(late))]
    alive = loads(items, steps.count, memory.alignment)
    if max(alive) > memory.size:
        return None
    found: list[Fetch] = []
    for fetch in late:
        started, least, room = fetch.awaited, _earliest(found), aligned(fetch.room.bytes, memory.alignment)
        while started > least and max(alive[2 * started - 2 : 2 * started]) + room <= size:
            started -= 1
            alive[2 * started] += room
            alive[2 * started + 1] += room
        found.append(replace(fetch, started=started))
    return found


def least_bytes(layer: Layer, operands: Sequence[Operand], memory: Memory, sizes: Sizes) -> int:
    """Bytes of the innermost memory that are not enough for a group, or just enough, if no transfer starts early."""
    order = one_by_one(layer)
    steps = _Steps(layer, order.calls, order.ended)
    late = [replace(fetch, started=fetch.awaited) for fetch in _fetches(layer, operands, memory, 0, order.calls)]
    items = [*steps.fixed(sizes), *(steps.item(n, fetch) for n, fetch in enumerate(late))]
    return max(loads(items, steps.count, memory.alignment))


class _Steps:
    """The steps of a group in which rooms are taken: 2n in front of call n, 2n + 1 in call n."""

    def __init__(self, layer: Layer, order: Sequence[Call], ended: Sequence[int]) -> None:
        """`order` and `ended` are the plan's calls and when they end."""
        self.calls = tuple(order)
        self.ended = tuple(ended)
        self.count = 2 * len(ended) + 1
        self._ends = [2 * end if end > number else 2 * number + 1 for number, end in enumerate(ended)]
        own: list[list[int]] = [[] for _ in layer.operators]
        for number, call in enumerate(order):
            own[call.operator].append(number)
        self._first = [2 * numbers[0] + 1 for numbers in own]
        self._last = [max(self._ends[number] for number in numbers) for numbers in own]
        self._read = [max(self._last[reader] for reader in some) for some in _readers(layer.get(Group).links)]

    def _end(self, first: int, last: int) -> int:
        """The step in which the last of some calls ends."""
        return max(self._ends[first : last + 1])

    def item(self, number: int, fetch: Fetch) -> Item:
        """What a fetch takes, until the last call that may read it has ended."""
        return Item(("fetch", number), 2 * fetch.started, self._end(fetch.awaited, fetch.last), fetch.room.bytes)

    def output(self, operator: int, size: int) -> Item:
        """What the tensor takes that an operator writes, until the last call that reads it has ended."""
        return Item(("output", operator), self._first[operator], self._read[operator], size)

    def scratch(self, operator: int, size: int) -> Item:
        """What an operator's kernel calls need, from the first to the last one."""
        return Item(("scratch", operator), self._first[operator], self._last[operator], size)

    def fixed(self, sizes: Sizes) -> list[Item]:
        """For each operator the tensor that it writes, then for each the scratch of its kernel calls."""
        written = (self.output(operator, size) for operator, size in enumerate(sizes.outputs))
        scratch = (self.scratch(operator, size) for operator, size in enumerate(sizes.scratch))
        return [*written, *scratch]


def _readers(links: Links) -> list[list[int]]:
    """For each operator itself and those that read its output."""
    return [[writer, *(n for n, own in enumerate(links) if writer in own)] for writer in range(len(links))]


def _fetches(
    layer: Layer, operands: Sequence[Operand], memory: Memory, part_bytes: int, order: Sequence[Call]
) -> list[Fetch]:
    """The transfers of a group in the order in which calls wait for them, each as late as it may be.

    All constants of a call come together.
    """
    found: list[Fetch] = []
    links = layer.get(Group).links
    for tensor, operand in enumerate(one for one in operands if one.role is Role.INPUT):
        read = [number for number, call in enumerate(order) if ~tensor in links[call.operator]]
        (component,) = operand.components
        size = align(component_bytes(component, layer.extents), memory.alignment)
        found.append(Fetch(operand.name, Room(0, size), read[0], read[0], read[-1]))
    for operand in operands:
        if operand.role is Role.CONSTANT:
            found += _parts(layer, operand, memory, part_bytes, order)
    return sorted(found, key=lambda fetch: (fetch.awaited, fetch.components > 0))


def _parts(layer: Layer, operand: Operand, memory: Memory, part_bytes: int, order: Sequence[Call]) -> list[Fetch]:
    """The constants in transfers of consecutive parts. Those of the first part come alone: all waits for them."""
    found: list[Fetch] = []
    begin, before = 0, -1
    own = calls(layer)
    readers: dict[tuple[int, ...], list[int]] = {}
    for number, call in enumerate(order):
        readers.setdefault(call[:3], []).append(number)
    for component in operand.components:
        size = align(component_bytes(component, layer.extents), memory.alignment)
        read = readers[own[component.part][:3]]
        alone = before == 0 and len(found) == 1
        if not found or (component.part != before and (alone or found[-1].room.bytes >= part_bytes)):
            found.append(Fetch(operand.name, Room(0, 0), read[0], read[0], read[-1], begin))
        one = found[-1]
        first, room = min(one.awaited, read[0]), Room(0, one.room.bytes + size)
        found[-1] = replace(
            one, room=room, started=first, awaited=first, last=max(one.last, read[-1]), components=one.components + 1
        )
        before = component.part
        begin += size
    return found


def _earliest(before: Sequence[Fetch]) -> int:
    """The call before which the next transfer may start."""
    in_order = before[-1].started if before else 0
    free = before[-MOST_TRANSFERS].awaited + 1 if len(before) >= MOST_TRANSFERS else 0
    return max(in_order, free)


def _planned(coming: Sequence[Fetch], steps: _Steps, packed: Packed, sizes: Sizes, memory: Memory) -> GroupPlan:
    """The plan of a packing, with transfers that start as early as their room is free."""
    taken = [(item, packed.offsets[item.key]) for item in steps.fixed(sizes)]
    placed = [replace(one, room=Room(packed.offsets["fetch", n], one.room.bytes)) for n, one in enumerate(coming)]
    found: list[Fetch] = []
    for number, fetch in enumerate(placed):
        others = [*taken, *((steps.item(0, one), one.room.offset) for one in (*found, *placed[number + 1 :]))]
        found.append(replace(fetch, started=_start(fetch, others, _earliest(found), memory)))
    outputs = tuple(Room(packed.offsets["output", n], size) for n, size in enumerate(sizes.outputs))
    scratch = tuple(Room(packed.offsets["scratch", n], size) for n, size in enumerate(sizes.scratch))
    return GroupPlan(steps.calls, tuple(found), outputs, scratch, packed.peak, steps.ended)


def _start(fetch: Fetch, others: Sequence[tuple[Item, int]], earliest: int, memory: Memory) -> int:
    """The first call from `earliest` on from which a transfer's room is free until it starts now."""
    begin, end = fetch.room.offset, fetch.room.offset + fetch.room.bytes
    for item, offset in others:
        above = offset + aligned(item.bytes, memory.alignment)
        if item.first < 2 * fetch.started and offset < end and begin < above:
            earliest = max(earliest, item.last // 2 + 1)
    return min(earliest, fetch.started)
