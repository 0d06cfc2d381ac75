"""Kernel calls of a group by strips of rows, so that a module computes on rows while another one makes the next.

Operators meet where one reads on a module what another one writes on another module. Those that meet are cut alike: each
strip of a reader has the rows that it can compute from the strips of its writers so far. The core starts their calls
not operator by operator, but each as soon as it may.
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

STEPS = 1, 2, 3, 4
"""What the rows of strips may be multiples of: a module takes longer for others."""


def strips(layer: Layer, model: GroupCost) -> Iterator[tuple[Call, ...]]:
    """The kernel calls of a group in strips, in the order in which they start; nothing where none are faster."""
    known = _Kernels(layer, model)
    chosen: dict[int, tuple[int, ...]] = {}
    for meeting in _meetings(layer, model):
        between = range(meeting[0], meeting[-1] + 1)
        tried = [{}, *(_cut(known, meeting, count) for count in COUNTS)]
        chosen |= min(tried, key=lambda cuts: _Starts(known, cuts, between).cycles)
    if chosen:
        yield tuple(_Starts(known, chosen, range(len(layer.operators))).order)


@dataclass(frozen=True)
class _Kernels:
    """What kernel calls of a group take."""

    layer: Layer
    model: GroupCost
    _known: dict[Call, tuple[float, Starting]] = field(default_factory=dict[Call, tuple[float, Starting]])
    _launches: dict[int, tuple[float, float]] = field(default_factory=dict[int, tuple[float, float]])

    def call(self, operator: int, row: int, end: int) -> Call:
        """The kernel call that computes rows of an operator, all its channels."""
        return Call(operator, 0, self.layer.operators[operator].k, row, end - row)

    def cycles(self, call: Call) -> float:
        """Cycles of a call, beside its launch."""
        return self.asked(call)[0]

    def asked(self, call: Call) -> tuple[float, Starting]:
        """The same, and what of it is the core's."""
        if call not in self._known:
            stage, model = self.layer.operators[call.operator], self.model.models[call.operator]
            tile = call_tile(stage, call)
            self._known[call] = float(model.compute(stage, tile)), Starting(*map(float, model.starting(stage, tile)))
        return self._known[call]

    def launch(self, call: Call) -> float:
        """Cycles of a call beside its work; those of the first call of a kernel are the same in any order."""
        if call.operator not in self._launches:
            stage, model = self.layer.operators[call.operator], self.model.models[call.operator]
            self._launches[call.operator] = float(model.launch(stage)), float(model.group_calls([stage, stage])[1])
        launch, again = self._launches[call.operator]
        return launch + (again if call.row else 0.0)

    def step(self, operator: int) -> int:
        """What the rows of a strip had best be a multiple of."""
        rows = self.layer.operators[operator].oy

        def cut(step: int) -> float:
            place = rows // 2 // step * step
            parts = (self.call(operator, *part) for part in ((0, place), (place, rows)) if part[0] < part[1])
            return sum(map(self.cycles, parts))

        return min(STEPS, key=cut)


def _meetings(layer: Layer, model: GroupCost) -> list[list[int]]:
    """Operators that meet, directly or by others that do; both may compute rows."""
    lanes, links, cuts = model.lanes, layer.get(Group).links, layer.get(Group).cuts
    several = [
        lane.by_rows and not cut and stage.oy > 1 for lane, cut, stage in zip(lanes, cuts, layer.operators, strict=True)
    ]
    found: list[list[int]] = []
    for reader, own in enumerate(links):
        for argument, writer in enumerate(own):
            apart = writer >= 0 and lanes[writer].unit != lanes[reader].unit
            if apart and several[writer] and several[reader] and rows_axis(layer.operators[reader], argument).stride:
                met = {writer, reader}
                together = [meeting for meeting in found if met & {*meeting}]
                found = [meeting for meeting in found if meeting not in together]
                found.append(sorted(met.union(*together)))
    return sorted(found)


def _cut(known: _Kernels, meeting: Sequence[int], count: int) -> dict[int, tuple[int, ...]]:
    """The rows behind each strip of the operators of a meeting, by operator."""
    found: dict[int, tuple[int, ...]] = {}
    for operator in meeting:
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

    order: the calls as they are started. cycles: when the last one ends, if no transfer is waited for.
    """

    def __init__(self, known: _Kernels, cuts: Mapping[int, Sequence[int]], operators: range) -> None:
        """`cuts` are the rows behind each strip, of operators that are cut."""
        self._known, self._lanes = known, known.model.lanes
        self._links = known.layer.get(Group).links
        self._left = {
            operator: [known.call(operator, *rows) for rows in pairwise((0, *cuts[operator]))]
            for operator in operators
            if operator in cuts
        }
        for call in calls(known.layer):
            if call.operator in operators and call.operator not in cuts:
                self._left.setdefault(call.operator, []).append(call)
        self._running = Running()
        self._numbers: dict[str, list[int]] = {lane.unit: [] for lane in self._lanes}
        self._alone: dict[str, int] = {}
        self._now = 0.0
        self.order: list[Call] = []
        waiting, begun = list(operators), list[int]()
        while waiting or begun:
            tried = [*begun, *waiting[:1]]
            times = {one: self._times(self._left[one][0]) for one in tried if self._is_ready(self._left[one][0])}
            operator = min(times, key=lambda one: (*times[one], one))
            self._start(self._left[operator].pop(0), times[operator][0])
            if operator in waiting:
                waiting.remove(operator)
                begun.append(operator)
            if not self._left[operator]:
                begun.remove(operator)
        self.cycles = max(self._running.ends)

    def _is_ready(self, call: Call) -> bool:
        """Whether all that a call reads has been started."""
        left = (other for link in self._links[call.operator] for other in self._left.get(link, ()))
        return not any(reads(self._known.layer, call, other) for other in left)

    def _times(self, call: Call) -> tuple[float, float]:
        """When the core may start a call, and when that begins then."""
        lane, ends = self._lanes[call.operator], self._running.ends
        own = self._numbers[lane.unit]
        waits = [ends[own[-lane.most]]] if 0 < lane.most <= len(own) else []
        if lane.alone:
            waits = [max(ends, default=0.0)]
        waits += [ends[number] for unit, number in self._alone.items() if unit != lane.unit]
        links = self._links[call.operator]
        for number, other in enumerate(self.order):
            if other.operator in links and self._lanes[other.operator].unit != lane.unit:
                waits += [ends[number]] if reads(self._known.layer, call, other) else []
        may = max([self._now, *waits])
        return may, max(may, self._running.free(lane.unit))

    def _start(self, call: Call, may: float) -> None:
        """Start a call when the core may."""
        operator, number = call.operator, len(self.order)
        stage, model, lane = (
            self._known.layer.operators[operator],
            self._known.model.models[operator],
            self._lanes[operator],
        )
        cycles, start = self._known.asked(call)
        now = max(self._now + start.ahead, may) + self._known.launch(call) - start.ahead + start.before
        loss = float(model.beside(stage))
        begin = self._running.start(lane.unit, now, cycles - start.before, loss)
        self._now = begin + start.kept if start.kept > 0 else now
        if not lane.most:
            self._now = self._running.ends[number]
        self.order.append(call)
        self._numbers[lane.unit].append(number)
        if lane.alone:
            self._alone[lane.unit] = number
