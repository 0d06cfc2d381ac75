"""The modules that execute the kernel calls of a group: each has a queue, and ends its calls in order."""

from __future__ import annotations

from match.ir.layer import Layer
from match.mapping.group_plan import GroupPlan
from match.target.group import GroupCost


class Queues:
    """`ends` are the times at which the calls that were started end, in their order."""

    def __init__(self, layer: Layer, plan: GroupPlan, model: GroupCost) -> None:
        """The queues of a group's modules, empty."""
        self._plan = plan
        self._starts = model.starts(layer)
        self._losses = model.losses(layer)
        self._units = [model.units[call.operator] for call in plan.calls]
        self._queues: dict[str, list[int]] = {unit: [] for unit in self._units}
        self._prepared = 0
        self.ends: list[float] = []

    def ahead(self) -> float:
        """What the core takes to prepare the next call, if it has not yet."""
        if self._prepared > len(self.ends) or self._prepared == len(self._units):
            return 0.0
        self._prepared += 1
        return self._starts[self._prepared - 1].ahead

    def start(self, now: float, launch: float, cycles: float) -> tuple[float, float, float]:
        """Start the next call; when it begins and ends, and when the core goes on."""
        number = len(self.ends)
        start, unit, now = self._starts[number], self._units[number], now + self.ahead()
        own = self._queues[unit]
        now += launch - start.ahead + start.before
        begin = max(now, self.ends[own[-1]]) if own else now
        length = cycles - start.before
        self.ends.append(begin + length)
        for others in self._queues.values():
            if others is own or not others:
                continue
            together = min(self.ends[others[-1]], begin + length) - begin
            if together > 0.0:
                self.ends[number] += self._losses[number] * together
                self.ends[others[-1]] += self._losses[others[-1]] * together
        own.append(number)
        if start.kept > 0:
            now = begin + start.kept
        if self._plan.ended[number] == number:
            now = self.ends[number]
        return begin, self.ends[number], now
