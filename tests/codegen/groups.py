"""Random groups of operators on the modules of a chip, and what comes out by definition."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from match.compilation.options import Options
from match.dispatch.member import member
from match.dispatch.plan import LayerPlan
from match.dispatch.planning import plan_layer
from match.dispatch.request import GroupModules, Request, Workload, aligned_memories, requests
from match.errors import ScheduleError
from match.ir.group import MOST_INPUTS, grouped
from match.ir.layer import GATES, Op, Padding
from match.mapping.group_plan import least_bytes
from match.processes.workers import Workers
from match.search.groups import group_schedule
from match.search.problem import SearchProblem
from match.target.external_cost import external_cost
from match.target.group import GroupCost
from match.target.hardware import MatchTarget
from match.target.layers import cost_model_of, operands_of
from tests.analysis.simulate.layers import WINDOWS, accumulator, random_outer_memory
from tests.codegen.layers import INT16, Case, Tensor, make
from tests.codegen.mock_target import EXTERNAL_API
from tests.mapping.random_schedules import WINDOWED

OPTIONS = Options.parse(numerics="exact", jobs=1, cache=False)
SIZES = (1, 2, 3, 4, 5, 7, 8)
CHANNELS = (1, 2, 3, 4, 5, 8, 12, 16, 17)
BORDERS = Op.QUANTIZE, Op.DEQUANTIZE, Op.DEQUANTIZE_SUMS, Op.LOG_SOFTMAX
OPS = tuple(op for op in Op if op not in (*GATES, Op.OWN, *BORDERS, *INT16))


@dataclass(frozen=True, eq=False)
class GroupCase:
    """A group: its operators, the places that their inputs come from (`match.ir.group.Links`), and what is outside."""

    stages: tuple[Case, ...]
    links: tuple[tuple[int, ...], ...]
    outside: tuple[Tensor, ...]

    @property
    def whole(self) -> Case:
        """The group as one layer, for what only needs its inputs."""
        return Case(grouped([one.layer for one in self.stages], self.links), self.stages[-1].constants, self.outside)

    def expected(self) -> Tensor:
        """The output of the last operator: each is computed by its definition, from the bytes of what it reads."""
        written: list[Tensor] = []
        for stage, links in zip(self.stages, self.links, strict=True):
            read = [self.outside[~link] if link < 0 else written[link] for link in links]
            seen = (_as(x, wanted) for x, wanted in zip(read, stage.inputs, strict=True))
            written.append(replace(stage, inputs=tuple(seen)).expected())
        return written[-1]


def _as(x: Tensor, wanted: Tensor) -> Tensor:
    """The bytes of a tensor in the shape and type of another one."""
    return np.frombuffer(np.ascontiguousarray(x).tobytes(), wanted.dtype).reshape(wanted.shape)


def random_group(rng: random.Random, seed: int) -> GroupCase | None:
    """A group of two to eight operators, each of which reads one before it; None if operators do not meet."""
    cases: list[Case] = []
    links: list[tuple[int, ...]] = []
    outside: list[Tensor] = []
    sizes: list[int] = []
    height, width, channels = rng.choice(SIZES), rng.choice(SIZES), rng.choice(CHANNELS)
    for number in range(rng.randint(2, 8)):
        case = _random_case(rng, height, width, channels, seed + number)
        if case is None:
            continue
        own: list[int] = []
        for x in case.inputs:
            known = [place for place, size in enumerate(sizes) if size == x.nbytes and rng.random() < 0.9]
            if known:
                own.append(rng.choice(known[-2:]))
            else:
                outside.append(x)
                own.append(~(len(outside) - 1))
        if cases and all(link < 0 for link in own):
            del outside[len(outside) - len(own) :]
            continue
        output = case.expected()
        cases.append(case)
        links.append(tuple(own))
        sizes.append(output.nbytes)
        height, width = case.layer.oy, case.layer.ox
        channels = output.nbytes // (height * width)
    return _read_in_the_end(cases, links, outside)


def _random_case(rng: random.Random, height: int, width: int, channels: int, seed: int) -> Case | None:
    """An operator on a tensor of this size, mostly."""
    op = rng.choice(OPS)
    window = rng.choice(WINDOWS) if op in WINDOWED else (1, 1)
    stride = rng.choice([(1, 1), (1, 1), (2, 2), (2, 1)]) if op in WINDOWED else (1, 1)
    before, behind = ((size - 1) // 2 * rng.choice([0, 1, 1]) for size in window)
    padding = Padding(before, behind, before, behind) if op in WINDOWED and op is not Op.AVG_POOL2D else Padding()
    if op is Op.DENSE:
        height, width, channels = 1, 1, height * width * channels
    if height + 2 * padding.top < window[0] or width + 2 * padding.left < window[1]:
        return None
    other = rng.choice(CHANNELS)
    if op is Op.SLICE:
        channels, other = max(1, channels - other), min(other, channels - 1)
    if other == 0:
        return None
    return make(op, channels, other, height, width, window=window, stride=stride, padding=padding, seed=seed)


def _read_in_the_end(cases: list[Case], links: list[tuple[int, ...]], outside: list[Tensor]) -> GroupCase | None:
    """The group of what the last operator is computed from."""
    if len(cases) < 2:
        return None
    kept = {len(cases) - 1}
    for place in reversed(range(len(cases))):
        if place in kept:
            kept |= {link for link in links[place] if link >= 0}
    order = sorted(kept)
    places = {place: number for number, place in enumerate(order)}
    tensors = list(dict.fromkeys(~link for place in order for link in links[place] if link < 0))
    if len(order) < 2 or not 1 <= len(tensors) <= MOST_INPUTS:
        return None
    again = tuple(
        tuple(places[link] if link >= 0 else ~tensors.index(~link) for link in links[place]) for place in order
    )
    return GroupCase(tuple(cases[place] for place in order), again, tuple(outside[tensor] for tensor in tensors))


def planned(
    target: MatchTarget, group: GroupCase, rng: random.Random, symbol: str
) -> tuple[LayerPlan, GroupCost] | None:
    """The group and its cost model, each operator on one of the target's modules; None where one is refused.

    Each operator has the form of requantization that the module chooses. The memory has from just enough bytes to half
    as many more. Of one group in three, some operands lie in the mock's external memory, whose blocks pass main memory.
    """
    stages = tuple(
        Workload(case.layer, case.constants, _accumulator(case), f"{symbol}_{number}")
        for number, case in enumerate(group.stages)
    )
    with Workers(1) as workers:
        alone = [
            [member(answer) for answer in answers if isinstance(answer, Request)]
            for answers in requests(stages, target, OPTIONS, workers)
        ]
        chosen = [rng.choice(found) if (found := [one for one in own if one is not None]) else None for own in alone]
        taken = [one for one in chosen if one is not None]
        if len(taken) < len(chosen):
            return None
        modules = GroupModules(target.modules[0].name, tuple(one.module for one in taken))
        layer = grouped([stage.layer for stage in stages], group.links, [one.cut for one in taken])
        last = stages[-1]
        whole = Workload(layer, last.constants, last.accumulator, symbol, stages=stages, modules=modules)
        answer = requests([whole], target, OPTIONS, workers)[0][0]
    if not isinstance(answer, Request):
        return None
    forms = answer.requantizers
    operands, memories = operands_of(answer.modules, layer, forms), aligned_memories(answer.module, *forms)
    model = cost_model_of(answer.modules, layer, forms)
    outside = rng.random() < 1 / 3
    if outside:
        assert target.external is not None
        memories = (random_outer_memory(rng, [operand.name for operand in operands]), *memories)
        model = external_cost(model, target.external, memories[0].name)
    assert isinstance(model, GroupCost)
    least = least_bytes(layer, operands, memories[-1], model.sizes(layer))
    size = min(memories[-1].size, int(least * rng.uniform(1, 1.5)))
    given = (*memories[:-1], replace(memories[-1], size=size))
    try:
        schedule = group_schedule(SearchProblem("", "exact", "latency", layer, operands, given, (), model))
    except ScheduleError:
        return None
    plan = plan_layer(answer, schedule, whole, target)
    return replace(plan, external=EXTERNAL_API, constants_at="network") if outside else plan, model


def _accumulator(case: Case) -> Any:
    return accumulator(case.constants, case) if case.constants.requantization is not None else None
