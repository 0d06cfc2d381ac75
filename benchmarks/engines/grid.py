"""Runs the grid: every network at every size of L1 with every engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.engines.networks import Network
from benchmarks.engines.results import LayerSearch, Measurement
from match.compilation.options import Options
from match.dispatch.request import Request, Workload, requests
from match.errors import ScheduleError
from match.ir.layer import Layer
from match.ir.requantization import Requantizer
from match.prediction.predict import predict
from match.processes.workers import Workers
from match.search.engine import engine
from match.search.problem import SearchProblem
from match.target.cost import Cost
from match.target.hardware import HwModule, MatchTarget
from match.target.registry import get_target

_OPTIONS = Options(fuse=False)
"""What modules are asked under: their answers do not depend on the engine."""


@dataclass(frozen=True)
class _Task:
    """A layer on a module, in the form that the module would execute it in."""

    module: str
    requantizer: Requantizer | None
    layer: Layer

    @property
    def geometry(self) -> _Task:
        """What the search depends on: layers that differ in names and values alone are searched once."""
        return replace(self, layer=self.layer.geometry)


@dataclass(frozen=True)
class _Found:
    """What a search came to: the cost of the mapping, if there is one, and seconds of CPU time."""

    cost: Cost | None
    seconds: float

    def record(self, task: _Task) -> LayerSearch:
        """As it is written, with the first layer that it was made for."""
        cycles, moved = (None, None) if self.cost is None else (self.cost.cycles, self.cost.moved_bytes)
        return LayerSearch(task.layer.name, task.module, cycles, moved, self.seconds)


def measure(
    networks: Sequence[Network],
    target: MatchTarget,
    sizes: Sequence[int | None],
    engines: Sequence[str],
    *,
    shapes: bool = False,
) -> Iterator[Measurement]:
    """One measurement after the other: by network, by size (None for the target's own), by engine.

    With `shapes`, modules are asked for every layer of a shape that they take, whatever its scales and zero points.

    Raises:
        OptionError: if an engine is unknown or a size is not positive.
        CostModelError: if a module's cost model fails.
        TargetError: if a module cannot be asked.
    """
    for network in networks:
        tasks = [(_of_shape if shapes else _tasks)(workload, target) for workload in network.workloads]
        for size in sizes:
            chip = get_target(target, l1=size)
            for name in engines:
                yield _measurement(network, tasks, chip, size, name)


def _tasks(workload: Workload, target: MatchTarget) -> list[_Task]:
    """The modules that take a layer."""
    with Workers(1) as workers:
        (answers,) = requests([workload], target, _OPTIONS, workers)
    return [
        _Task(answer.module.name, answer.forms[0].requantizer, workload.layer)
        for answer in answers
        if isinstance(answer, Request)
    ]


def _of_shape(workload: Workload, target: MatchTarget) -> list[_Task]:
    """The modules that take a layer of this shape when it pads with zeros and its values are any module's.

    It is requantized in the first of their forms, if at all.
    """
    layer = replace(workload.layer, pad_value=0, clip=(0, 127), input_range=(0, 127))
    tasks: list[_Task] = []
    for module in target.modules:
        if any(pattern.op is layer.op and pattern.check(layer).ok for pattern in module.patterns()):
            forms = module.forms(layer) if workload.constants.requantization is not None else (None,)
            tasks.append(_Task(module.name, forms[0], layer))
    return tasks


def _measurement(
    network: Network, tasks: Sequence[Sequence[_Task]], chip: MatchTarget, size: int | None, name: str
) -> Measurement:
    modules = {module.name: module for module in chip.modules}
    found: dict[_Task, _Found] = {}
    records: list[LayerSearch] = []
    cycles, moved, unmapped = 0.0, 0, list[str]()
    for workload, asked in zip(network.workloads, tasks, strict=True):
        for task in asked:
            if task.geometry not in found:
                found[task.geometry] = _search(name, modules[task.module], task)
                records.append(found[task.geometry].record(task))
        costs = [cost for task in asked if (cost := found[task.geometry].cost) is not None]
        if costs:
            best = min(costs, key=lambda cost: cost.cycles)
            cycles += best.cycles
            moved += best.moved_bytes
        else:
            cycles += _on_the_core(workload.layer, chip)
            unmapped += [workload.layer.name] if asked else []
    return Measurement(
        network=network.name,
        l1=size,
        engine=name,
        cycles=cycles,
        moved_bytes=moved,
        seconds=sum(one.seconds for one in found.values()),
        layers=len(network.workloads),
        unmapped=tuple(unmapped),
        searches=tuple(records),
    )


def _search(name: str, module: HwModule, task: _Task) -> _Found:
    layer = task.layer
    problem = SearchProblem(
        module=module.name,
        engine=name,
        objective="latency",
        layer=layer,
        operands=module.operands(layer, task.requantizer),
        memories=module.memories,
        multiples=tuple(module.tile_multiples(layer).items()),
        cost_model=module.cost(layer, task.requantizer),
    )
    search = engine(name)
    start = time.process_time()
    try:
        schedule = search.search(problem)
    except ScheduleError:
        return _Found(None, time.process_time() - start)
    return _Found(predict(schedule, problem.cost_model), time.process_time() - start)


def _on_the_core(layer: Layer, chip: MatchTarget) -> float:
    outputs = layer.k * layer.oy * layer.ox
    return chip.cpu_cost_model.cycles(layer.op.value, outputs * layer.c * layer.fy * layer.fx, outputs)
