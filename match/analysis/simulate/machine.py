"""When each action of a schedule happens: one core, and a DMA engine for each memory that serves its queue in order.

In a group each module has a queue of kernel calls, which it executes in order.

This is a second opinion on `match.prediction.predict`: every event is walked, and the cost model is asked itself. What
both share are the blocks and tiles that a mapping's spans stand for.
"""

from __future__ import annotations

from collections.abc import Iterator

from match.analysis.simulate.events import Action, Event, Kind, Timeline
from match.analysis.simulate.order import SimulatedStep, steps
from match.analysis.simulate.queues import Queues
from match.mapping.schedule import Schedule
from match.target.cost import Block, CostModel, Tile
from match.target.group import GroupCost
from match.target.operators_cost import OperatorsCost


def simulate(schedule: Schedule, cost_model: CostModel) -> Timeline:
    """Execute a schedule on the module that `cost_model` describes.

    Raises what the cost model raises.
    """
    machine = _Machine(schedule, cost_model)
    offload = machine.now
    events = tuple(machine.event(step) for step in steps(schedule))
    moved = tuple((operand.name, machine.moved.get(operand.name, 0)) for operand in schedule.operands)
    return Timeline(events, offload, machine.now, machine.compute, machine.transfer, machine.overhead, moved)


def stream(schedule: Schedule, cost_model: CostModel) -> Iterator[Event]:
    """The events of `simulate`, one by one: a schedule with millions of them takes no memory."""
    machine = _Machine(schedule, cost_model)
    return map(machine.event, steps(schedule))


class _Machine:
    def __init__(self, schedule: Schedule, cost_model: CostModel) -> None:
        self._layer = layer = schedule.layer
        self._queues: Queues | None = None
        if schedule.plan is not None:
            assert isinstance(cost_model, GroupCost)
            cost_model = cost_model.of(schedule.plan)
            self._queues = Queues(layer, schedule.plan, cost_model)
        self._model = cost_model
        # Python's own numbers: a report cannot hold NumPy's, which a cost model may return.
        self._launch = float(cost_model.launch(layer))
        self._issue = float(cost_model.issue(layer))
        self._transfers: dict[Block, float] = {}
        self._kernels: dict[Tile, float] = {}
        self._idle_from: dict[str, float] = {}  # per memory: when its engine has served what was issued
        self._done: dict[Action, float] = {}  # of transfers started and not waited for, named by that wait
        self.now = self.overhead = float(cost_model.overhead(layer))
        self.compute = self.transfer = 0.0
        self.moved: dict[str, int] = {}

    def event(self, step: SimulatedStep) -> Event:
        """Do the next thing."""
        action, begin = step.action, self.now
        if step.whole is not None:
            return self._operator(action, *step.whole)
        if action.tile is not None:
            return self._call(action, action.tile)
        if step.block is not None:
            return self._move(action, step.block)
        if self._queues is not None:
            self.now += self._queues.ahead()
        end = self._queues.ends[action.number] if action.kind is Kind.END and self._queues else self._done.pop(action)
        self.now = max(self.now, end)
        return Event(action, begin, self.now, begin, self.now)

    def _call(self, action: Action, tile: Tile) -> Event:
        if tile not in self._kernels:
            self._kernels[tile] = float(self._model.compute(self._layer, tile))
        return self._started(action, self._launch, self._kernels[tile])

    def _operator(self, action: Action, number: int, tile: Tile) -> Event:
        assert isinstance(self._model, OperatorsCost)
        launch, cycles = self._model.launches(self._layer)[number], self._model.calls(self._layer, tile)[number]
        if self._queues is None:
            return self._started(action, float(launch), float(cycles))
        core_begin = self.now
        self.compute += float(cycles)
        self.overhead += float(launch)
        begin, end, self.now = self._queues.start(self.now, float(launch), float(cycles))
        return Event(action, core_begin, self.now, begin, end)

    def _started(self, action: Action, launch: float, cycles: float) -> Event:
        core_begin = self.now
        begin = core_begin + launch
        self.now = begin + cycles
        self.compute += cycles
        self.overhead += launch
        return Event(action, core_begin, self.now, begin, self.now)

    def _move(self, action: Action, block: Block) -> Event:
        if block not in self._transfers:
            self._transfers[block] = float(self._model.transfer(self._layer, block))
        core_begin, cycles = self.now, self._transfers[block]
        self.now += self._issue
        begin = max(self.now, self._idle_from.get(action.memory, 0.0))
        end = self._idle_from[action.memory] = begin + cycles
        if not self._model.overlap:
            self.now = end
        self._done[action._replace(kind=Kind.WAIT)] = end
        self.transfer += cycles
        self.overhead += self._issue
        self.moved[action.operand] = self.moved.get(action.operand, 0) + action.bytes
        return Event(action, core_begin, self.now, begin, end)
