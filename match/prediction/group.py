"""The order of events of a group, as its plan has it.

In front of each kernel call the transfers start that the plan lets start there. Then the call waits for what no call
before it has read, and the kernel runs. In the end the output is written back.
"""

from __future__ import annotations

from match.ir.layer import Role
from match.mapping.group_plan import Fetch, GroupPlan
from match.prediction.blocks import block_of
from match.prediction.clock import Clock
from match.prediction.prices import Move, Prices
from match.target.cost import Block
from match.target.operators_cost import OperatorsCost


class GroupWalk(Clock):
    """Executes a group once, and sums up cycles and bytes, as `match.prediction.walk.Walk` does for loops."""

    def __init__(self, pricing: Prices, plan: GroupPlan) -> None:
        super().__init__(pricing)
        self._plan = plan
        self._numbers = {operand.name: number for number, operand in enumerate(pricing.operands)}
        moves = pricing.moves([self._block(fetch) for fetch in plan.fetches])
        self._moves = dict(zip(plan.fetches, moves, strict=True))

    def run(self, overhead: float) -> None:
        """Execute the operators, after `overhead` cycles, and write the output back."""
        layer, model = self.pricing.layer, self.pricing.cost_model
        assert isinstance(model, OperatorsCost)
        self.now = self.overhead = overhead
        arrivals: dict[Fetch, float] = {}
        launches = map(float, model.launches(layer))
        for number, (launch, cycles) in enumerate(zip(launches, self.pricing.group_calls, strict=True)):
            for fetch in self._plan.starting(number):
                arrivals[fetch] = self.issue(self._numbers[fetch.operand], self._moves[fetch])
            arrived = [arrivals[fetch] for fetch in self._plan.awaited(number)]
            self.now = max([self.now, *arrived]) + launch + cycles
            self.overhead += launch
            self.compute += cycles
        last = len(self.pricing.operands) - 1
        self.now = max(self.now, self.issue(last, self._output(last)))

    def _output(self, number: int) -> Move:
        layer = self.pricing.layer
        return self.pricing.move(number, layer.spans, layer.extents)

    def _block(self, fetch: Fetch) -> Block:
        """What a fetch moves: all of a tensor, or a part of the constants."""
        layer, memory = self.pricing.layer, self.pricing.memory
        operand = self.pricing.operands[self._numbers[fetch.operand]]
        whole = block_of(operand, layer.spans, layer.extents, memory)
        return whole._replace(bytes=fetch.room.bytes) if operand.role is Role.CONSTANT else whole
