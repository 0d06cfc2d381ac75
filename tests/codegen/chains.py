"""Random chains of operators on a cluster, with random schedules, and what comes out by definition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from match.compilation.options import Options
from match.dispatch.plan import LayerPlan
from match.dispatch.planning import plan_layer
from match.dispatch.request import Request, Workload, aligned_memories, requests
from match.errors import ScheduleError
from match.ir.chain import chained
from match.ir.layer import Op, Padding
from match.mapping.schedule import Schedule
from match.prediction.blocks import largest_tile
from match.processes.workers import Workers
from match.target.chain import ChainCost
from match.target.external_cost import external_cost
from match.target.hardware import MatchTarget, Pattern
from match.target.layers import cost_model_of, operands_of, tile_multiples_of
from tests.analysis.simulate.layers import accumulator, random_mapping, random_outer_memory
from tests.codegen.layers import Case, Uint8, make
from tests.codegen.mock_target import EXTERNAL_API

SIZES = (1, 2, 3, 5, 9, 12, 14, 28)
CHANNELS = (1, 2, 3, 5, 8, 12, 16, 17, 32, 40)
OPTIONS = Options.parse(numerics="exact", jobs=1, cache=False)


@dataclass(frozen=True, eq=False)
class ChainCase:
    """A chain: its operators with their constants, and the inputs of the whole."""

    stages: tuple[Case, ...]
    inputs: tuple[Uint8, ...]

    @property
    def whole(self) -> Case:
        """The chain as one layer, for what only needs its inputs."""
        last = self.stages[-1]
        return Case(chained([stage.layer for stage in self.stages]), last.constants, self.inputs)

    def expected(self) -> Uint8:
        """The output of the operators one after the other, each by its definition."""
        x, beside = self.inputs[0], self.inputs[1:]
        for stage in self.stages:
            inputs = (x, *beside) if stage.layer.op is Op.ADD else (x,)
            x = replace(stage, inputs=inputs).expected()
        return x


def random_chain(rng: random.Random, ops: Sequence[Op], seed: int) -> ChainCase | None:
    """A chain of some operators; None if a window does not fit what is in front of it."""
    height, width, channels = rng.choice(SIZES), rng.choice(SIZES), rng.choice(CHANNELS)
    stages: list[Case] = []
    for number, op in enumerate(ops):
        pixelwise = op is Op.ADD or (op is Op.CONV2D and len(ops) > 1 and rng.random() < 0.7)
        window = (1, 1) if pixelwise else rng.choice(((3, 3), (3, 3), (3, 3), (5, 5), (2, 2), (3, 2)))
        stride = (1, 1) if pixelwise else rng.choice(((1, 1), (1, 1), (2, 2), (2, 1)))
        before = Padding() if pixelwise or op is Op.AVG_POOL2D else _padding(rng, window)
        if op in (Op.AVG_POOL2D, Op.MAX_POOL2D) and rng.random() < 0.3:
            window, stride, before = (height, width), (1, 1), Padding()
        if height + before.top + before.bottom < window[0] or width + before.left + before.right < window[1]:
            return None
        out = rng.choice(CHANNELS)
        case = make(
            op, channels, out, height, width, window=window, stride=stride, padding=before, seed=seed + number,
            negative_step=op in (Op.CONV2D, Op.DEPTHWISE_CONV2D) and rng.random() < 0.2,
        )  # fmt: skip
        stages.append(case)
        height, width, channels = case.layer.oy, case.layer.ox, case.layer.k
    values = np.random.default_rng(seed)
    first, last = stages[0].inputs[0].shape, (height, width, channels)
    shapes = (first, last) if ops[-1] is Op.ADD else (first,)
    return ChainCase(tuple(stages), tuple(values.integers(0, 256, shape).astype(np.uint8) for shape in shapes))


def _padding(rng: random.Random, window: tuple[int, int]) -> Padding:
    sides = [rng.randint(0, size // 2) for size in (*window, *window)]
    return Padding(*sides) if rng.random() < 0.5 else Padding(*(size // 2 for size in (*window, *window)))


def asked(target: MatchTarget, chain: ChainCase, symbol: str) -> tuple[Request | str, Workload]:
    """What the first module of a target says to a chain."""
    stages = tuple(
        Workload(case.layer, case.constants, _accumulator(case), f"{symbol}_{number}")
        for number, case in enumerate(chain.stages)
    )
    whole = Workload(chain.whole.layer, stages[-1].constants, stages[-1].accumulator, symbol, stages=stages)
    with Workers(1) as workers:
        answer = requests([whole], target, OPTIONS, workers)[0][0]
    return answer, whole


def _accumulator(case: Case) -> tuple[np.ndarray, np.ndarray] | None:
    return accumulator(case.constants, case) if case.constants.requantization is not None else None


def planned(target: MatchTarget, chain: ChainCase, rng: random.Random, symbol: str) -> tuple[LayerPlan, ChainCost]:
    """The chain with a random schedule onto the target's first module, and its cost model there.

    Of one in three some operands lie in the mock's external memory, whose blocks pass main memory.
    """
    answer, workload = asked(target, chain, symbol)
    assert isinstance(answer, Request), answer
    modules, forms, layer = answer.modules, answer.requantizers, workload.layer
    operands, memories = operands_of(modules, layer, forms), aligned_memories(modules[0], *forms)
    model = cost_model_of(modules, layer, forms)
    outside = rng.random() < 1 / 3
    if outside:
        assert target.external is not None
        memories = (random_outer_memory(rng, [operand.name for operand in operands]), *memories)
        model = external_cost(model, target.external, memories[0].name)
    assert isinstance(model, ChainCost)
    for _ in range(500):
        try:
            loops, placements = random_mapping(rng, layer, operands, memories, tile_multiples_of(modules, layer))
            schedule = Schedule(layer, operands, memories, loops, placements)
            scratch = int(model.scratch(layer, largest_tile(layer, schedule.extents(len(loops)))))
            plan = plan_layer(answer, replace(schedule, scratch=scratch), workload, target)
            return replace(plan, external=EXTERNAL_API, constants_at="network") if outside else plan, model
        except ScheduleError:
            continue
    raise AssertionError(f"no schedule for {layer}")


def chain_patterns(target: MatchTarget) -> list[Pattern]:
    """Those of several operators that the target's first module lists."""
    return [pattern for pattern in target.modules[0].patterns() if pattern.before]
