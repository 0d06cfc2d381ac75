"""Kernel calls of a group as its modules execute them, each module one after the other."""

from __future__ import annotations


class Running:
    """`ends` are the times at which the calls that were started end, in their order."""

    def __init__(self) -> None:
        self.ends: list[float] = []
        self._losses: list[float] = []
        self._last: dict[str, int] = {}

    def free(self, unit: str) -> float:
        """When a module has executed all that it was given."""
        last = self._last.get(unit)
        return 0.0 if last is None else self.ends[last]

    def start(self, unit: str, now: float, cycles: float, loss: float) -> float:
        """When the next call begins on a module, as early as now; what others compute beside it makes both slower.

        A call loses `loss` cycles for each one in which another module computes, too.
        """
        begin = max(now, self.free(unit))
        end = begin + cycles
        for other, last in self._last.items():
            together = min(self.ends[last], begin + cycles) - begin
            if other != unit and together > 0:
                end += loss * together
                self.ends[last] += self._losses[last] * together
        self._last[unit] = len(self.ends)
        self.ends.append(end)
        self._losses.append(loss)
        return begin
