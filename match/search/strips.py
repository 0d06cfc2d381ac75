"""Kernel calls of a group by strips of rows, so that a module computes on rows while another one makes the next.

Operators meet where one reads on a module what another one writes on another module. Those that meet are cut alike:
each strip of a reader has the rows that it can compute from the strips of its writers so far. The core starts their
calls not operator by operator, but each as soon as it may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from match.ir.group import Call, calls, reads, rows_axis
from match.ir.layer import Group, Layer
from match.prediction.running import Running
from match.target.cost import Starting
from match.target.group import GroupCost, call_tile

COUNTS = 2, 3, 4, 6
"""Strips of operators that meet, of which the best number is taken."""

MOST_BEFORE = 2
"""Operators in a row in front of those that meet that may be cut, too."""

STEPS = 1, 2, 3, 4
"""What the rows of strips may be multiples of: a module takes longer for others."""


def strips(layer: Layer, model: GroupCost) -> Iterator[tuple[Call, ...]]:
    """The kernel calls of a group in the order in which they start, in strips where these are faster.

    The first ones have the fastest strips, the next ones the next best, for where those do not fit.
    """
    known = _Kernels(layer, model)
    found = _Meetings(layer, model)
    faster = [_faster(known, found, meeting) for meeting in found.meetings]
    for rank in range(max(map(len, faster), default=0)):
        chosen = _Strips({}, frozenset())
        for one in faster:
            chosen = chosen.joined(one[min(rank, len(one) - 1)]) if one else chosen
        yield tuple(_Starts(known, chosen, range(len(layer.operators))).order)


@dataclass(frozen=True)
class _Strips:
    """The rows behind each strip of some operators, and those of which the last starts first where several may."""

    ends: Mapping[int, tuple[int, ...]]
    backwards: frozenset[int]

    def joined(self, other: _Strips) -> _Strips:
        """Those of others, too."""
        return _Strips({**self.ends, **other.ends}, self.backwards | other.backwards)


def _faster(known: _Kernels, found: _Meetings, meeting: tuple[int, ...]) -> list[_Strips]:
    """Strips of operators that meet, or of these and some in front, that are faster than none, fastest first."""
    sets = [meeting]
    for _ in range(MOST_BEFORE):
        sets.append(found.with_writers(sets[-1]))
    between = range(sets[-1][0], meeting[-1] + 1)

    def tried(operators: tuple[int, ...], count: int) -> list[tuple[float, int, _Strips]]:
        ends = _cut(known, operators, count)
        both = (_Strips(ends, order) for order in (frozenset[int](), frozenset(operators)))
        return [(_Starts(known, strips, between).cycles, count, strips) for strips in both]

    whole = _Starts(known, _Strips({}, frozenset()), between).cycles
    faster = [one for count in COUNTS for one in tried(meeting, count) if one[0] < whole]
    if faster:
        count = min(faster, key=lambda one: one[0])[1]
        faster += [one for more in dict.fromkeys(sets[1:]) for one in tried(more, count) if one[0] < whole]
    return [one[2] for one in sorted(faster, key=lambda one: one[0])]


class _Meetings:
    """Operators that meet, directly or by others that do, in the order of the first of them; all may compute rows."""

    def __init__(self, layer: Layer, model: GroupCost) -> None:
        cuts = layer.get(Group).cuts
        several = [
            lane.by_rows and not cut and stage.oy > 1
            for lane, cut, stage in zip(model.lanes, cuts, layer.operators, strict=True)
        ]
        self._pairs = [
            (writer, reader)
            for reader, links in enumerate(layer.get(Group).links)
            for argument, writer in enumerate(links)
            if writer >= 0 and several[writer] and several[reader]
            if rows_axis(layer.operators[reader], argument).stride
        ]
        found: list[set[int]] = []
        for pair in self._pairs:
            if model.units[pair[0]] != model.units[pair[1]]:
                together = [meeting for meeting in found if meeting & {*pair}]
                found = [meeting for meeting in found if meeting not in together]
                found.append({*pair}.union(*together))
        self.meetings = sorted(tuple(sorted(meeting)) for meeting in found)
        self._met = {operator for meeting in found for operator in meeting}

    def with_writers(self, operators: tuple[int, ...]) -> tuple[int, ...]:
        """Some operators, and those that write what they read and do not meet others."""
        more = {writer for writer, reader in self._pairs if reader in operators and writer not in self._met}
        return tuple(sorted(more.union(operators)))


@dataclass(frozen=True)
class _Kernels:
    """What kernel calls of a group take."""

    layer: Layer
    model: GroupCost
    _known: dict[Call, tuple[float, Starting]] = field(default_factory=dict[Call, tuple[float, Starting]])
    _launches: dict[int, tuple[float, float, float]] = field(default_factory=dict[int, tuple[float, float, float]])
    _steps: dict[int, int] = field(default_factory=dict[int, int])

    def call(self, operator: int, row: int, end: int) -> Call:
        """The kernel call that computes rows of an operator, all its channels."""
        return Call(operator, 0, self.layer.operators[operator].k, row, end - row)

    def asked(self, call: Call) -> tuple[float, Starting]:
        """Cycles of a call, beside its launch, and what of it is the core's."""
        if call not in self._known:
            stage, model = self.layer.operators[call.operator], self.model.models[call.operator]
            tile = call_tile(stage, call)
            self._known[call] = float(model.compute(stage, tile)), Starting(*map(float, model.starting(stage, tile)))
        return self._known[call]

    def launch(self, call: Call, *, behind_another: bool) -> float:
        """Cycles of a call beside its work; those of the first call of a kernel are the same in any order.

        `behind_another`: the call before it is another module's.
        """
        if call.operator not in self._launches:
            stage, model = self.layer.operators[call.operator], self.model.models[call.operator]
            asked = model.launch(stage), model.group_calls([stage, stage])[1], model.behind_another(stage)
            self._launches[call.operator] = float(asked[0]), float(asked[1]), float(asked[2])
        launch, again, behind = self._launches[call.operator]
        return launch + (again if call.row else 0.0) + (behind if behind_another else 0.0)

    def loss(self, call: Call) -> float:
        """What a call loses in a cycle in which another module computes."""
        return float(self.model.models[call.operator].beside(self.layer.operators[call.operator]))

    def step(self, operator: int) -> int:
        """What the rows of a strip had best be a multiple of."""
        rows = self.layer.operators[operator].oy

        def cut(step: int) -> float:
            place = rows // 2 // step * step
            parts = (self.call(operator, *part) for part in ((0, place), (place, rows)) if part[0] < part[1])
            return sum(self.asked(part)[0] for part in parts)

        if operator not in self._steps:
            self._steps[operator] = min(STEPS, key=cut)
        return self._steps[operator]


def _cut(known: _Kernels, operators: Sequence[int], count: int) -> dict[int, tuple[int, ...]]:
    """The rows behind each strip of operators that are cut alike, by operator."""
    found: dict[int, tuple[int, ...]] = {}
    for operator in operators:
        stage, links = known.layer.operators[operator], known.layer.get(Group).links[operator]
        step = known.step(operator)
        ready = [
            [_computable(known.layer, operator, argument, writer, rows) for rows in found[writer]]
            for argument, writer in enumerate(links)
            if writer in found
        ]
        ends = [min(some) for some in zip(*ready, strict=False)] or [-(-stage.oy * n // count) for n in range(1, count)]
        inner = (end // step * step for end in ends)
        found[operator] = (*dict.fromkeys(end for end in inner if 0 < end < stage.oy), stage.oy)
    return found


def _computable(layer: Layer, operator: int, argument: int, writer: int, rows: int) -> int:
    """How many rows of an operator can be computed when the first rows of one that it reads are there."""
    stage, axis = layer.operators[operator], rows_axis(layer.operators[operator], argument)
    there = rows * axis.limit // layer.operators[writer].oy
    if there == axis.limit or not axis.stride:
        return stage.oy if there == axis.limit else 0
    return max(0, min(stage.oy, (there + axis.before - axis.window) // axis.stride + 1))


class _Starts:
    """Operators of a group whose kernel calls are started as soon as they may, that which may first.

    An operator begins behind those in front of it. order: the calls as they are started. cycles: when the last one
    ends, if no transfer is waited for.
    """

    def __init__(self, known: _Kernels, strips: _Strips, operators: range) -> None:
        self._known, self._lanes, self._strips = known, known.model.lanes, strips
        self._left = {
            operator: [known.call(operator, *rows) for rows in pairwise((0, *strips.ends[operator]))]
            for operator in operators
            if operator in strips.ends
        }
        for call in calls(known.layer):
            if call.operator in operators and call.operator not in strips.ends:
                self._left.setdefault(call.operator, []).append(call)
        self._needs = {call: self._read(call) for own in self._left.values() for call in own}
        self._running = Running()
        self._numbers: dict[Call, int] = {}
        self._of_unit: dict[str, list[int]] = {lane.unit: [] for lane in self._lanes}
        self._alone: dict[str, int] = {}
        self._now = 0.0
        waiting, begun = list(operators), list[int]()
        while waiting or begun:
            operator, may = self._next([*begun, *waiting[:1]])
            self._start(self._left[operator].pop(0), may)
            if operator not in begun:
                waiting.remove(operator)
                begun.append(operator)
            if not self._left[operator]:
                begun.remove(operator)
        self.cycles = max(self._running.ends)

    @property
    def order(self) -> list[Call]:
        """The calls as they are started."""
        return list(self._numbers)

    def _read(self, call: Call) -> list[Call]:
        """The calls of other operators that write what a call reads."""
        links = dict.fromkeys(self._known.layer.get(Group).links[call.operator])
        others = (other for link in links for other in self._left.get(link, ()))
        return [other for other in others if reads(self._known.layer, call, other)]

    def _next(self, tried: Sequence[int]) -> tuple[int, float]:
        """The operator of the next call, and when the core may start that."""
        found: list[tuple[float, float, int, int]] = []
        for operator in tried:
            call = self._left[operator][0]
            if all(other in self._numbers for other in self._needs[call]):
                may = self._may(call)
                begin = max(may, self._running.free(self._lanes[operator].unit))
                found.append((may, begin, -operator if operator in self._strips.backwards else operator, operator))
        may, _, _, operator = min(found)
        return operator, may

    def _may(self, call: Call) -> float:
        """When the core may start a call."""
        lane, ends = self._lanes[call.operator], self._running.ends
        if lane.alone:
            return max([self._now, *ends])
        own = self._of_unit[lane.unit]
        waits = [ends[own[-lane.most]]] if 0 < lane.most <= len(own) else []
        waits += [ends[number] for unit, number in self._alone.items() if unit != lane.unit]
        read = (other for other in self._needs[call] if self._lanes[other.operator].unit != lane.unit)
        return max([self._now, *waits, *(ends[self._numbers[other]] for other in read)])

    def _start(self, call: Call, may: float) -> None:
        """Start a call when the core may."""
        number, lane = len(self._numbers), self._lanes[call.operator]
        cycles, start = self._known.asked(call)
        before = next(reversed(self._numbers), call)
        another = self._lanes[before.operator].unit != lane.unit
        launch = self._known.launch(call, behind_another=another)
        now = max(self._now + start.ahead, may) + launch - start.ahead + start.before
        begin = self._running.start(lane.unit, now, cycles - start.before, self._known.loss(call))
        self._now = begin + start.kept if start.kept > 0 else now
        if not lane.most:
            self._now = self._running.ends[number]
        self._numbers[call] = number
        self._of_unit[lane.unit].append(number)
        if lane.alone:
            self._alone[lane.unit] = number
