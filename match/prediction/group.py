"""The order of events of a group, as its plan has it.

In front of each kernel call the transfers start that the plan lets start there. Then the call waits for what no call
before it has read, and for the calls that end in front of it, and the core starts it. A module executes its calls in
order. In the end the output is written back.
"""

from __future__ import annotations

from match.ir.layer import Role
from match.mapping.group_plan import Fetch, GroupPlan
from match.mapping.schedule import Schedule
from match.prediction.blocks import block_of
from match.prediction.clock import Clock
from match.prediction.prices import Move, Prices
from match.prediction.running import Running
from match.target.cost import Block
from match.target.group import GroupCost


def operator_cycles(schedule: Schedule, model: GroupCost) -> list[float]:
    """Cycles of the kernel calls of each operator of a group, with their launches, that calls before do not hide."""
    layer = schedule.layer
    assert schedule.plan is not None
    prices = Prices(layer, schedule.operands, schedule.inner_memory, model.of(schedule.plan))
    walk = GroupWalk(prices, schedule.plan)
    walk.run(0.0)
    found = [0.0] * len(layer.operators)
    for call, share in zip(schedule.plan.calls, walk.shares, strict=True):
        found[call.operator] += share
    return found


class GroupWalk(Clock):
    """Executes a group once, and sums up cycles and bytes, as `match.prediction.walk.Walk` does for loops.

    `shares` are the cycles of each kernel call with its launch that calls before it do not hide.
    """

    def __init__(self, pricing: Prices, plan: GroupPlan) -> None:
        super().__init__(pricing)
        assert isinstance(pricing.cost_model, GroupCost)
        self._plan = plan
        self._numbers = {operand.name: number for number, operand in enumerate(pricing.operands)}
        moves = pricing.moves([self._block(fetch) for fetch in plan.fetches])
        self._moves = dict(zip(plan.fetches, moves, strict=True))
        self._units = [pricing.cost_model.units[call.operator] for call in plan.calls]
        self._losses = pricing.cost_model.losses(pricing.layer)
        self._running = Running()
        self.shares: list[float] = []

    def run(self, overhead: float) -> None:
        """Execute the operators, after `overhead` cycles, and write the output back."""
        layer, model = self.pricing.layer, self.pricing.cost_model
        assert isinstance(model, GroupCost)
        self.now = self.overhead = overhead
        arrivals: dict[Fetch, float] = {}
        launches = map(float, model.launches(layer))
        asked = zip(launches, self.pricing.group_calls, model.starts(layer), strict=True)
        for number, (launch, cycles, start) in enumerate(asked):
            for fetch in self._plan.starting(number):
                arrivals[fetch] = self.issue(self._numbers[fetch.operand], self._moves[fetch])
            self._wait(number, start.ahead, [arrivals[fetch] for fetch in self._plan.awaited(number)])
            self.now += launch - start.ahead + start.before
            before = max(self._running.ends, default=overhead)
            begin = self._running.start(self._units[number], self.now, cycles - start.before, self._losses[number])
            end = self._running.ends[number]
            self.shares.append(max(0.0, min(end - before, launch + cycles)))
            if start.kept > 0:
                self.now = begin + start.kept
            if self._plan.ended[number] == number:
                self.now = end
            self.overhead += launch
            self.compute += cycles
        last = len(self.pricing.operands) - 1
        self._wait(len(self._plan.calls), 0.0, [])
        self.now = max(self.now, self.issue(last, self._output(last)))

    def _wait(self, number: int, ahead: float, arrived: list[float]) -> None:
        """The core prepares a call, and waits for what has to be there, and for calls that end in front of it."""
        ended = [self._running.ends[call] for call in self._plan.ending(number)]
        self.now = max([self.now + ahead, *arrived, *ended])

    def _output(self, number: int) -> Move:
        layer = self.pricing.layer
        return self.pricing.move(number, layer.spans, layer.extents)

    def _block(self, fetch: Fetch) -> Block:
        """What a fetch moves: all of a tensor, or a part of the constants."""
        layer, memory = self.pricing.layer, self.pricing.memory
        operand = self.pricing.operands[self._numbers[fetch.operand]]
        whole = block_of(operand, layer.spans, layer.extents, memory)
        return whole._replace(bytes=fetch.room.bytes) if operand.role is Role.CONSTANT else whole
