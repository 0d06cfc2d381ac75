"""Puts a network that main memory cannot hold into main and external memory.

From the calls of the network and the tensors that they read and write `match.placement` decides what is fetched, cut
and kept in external memory. Cut layers are then searched again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from match.analysis.simulate import Kind, simulate
from match.codegen.control_core import ControlCore
from match.codegen.inside import behind
from match.codegen.lower import lower
from match.codegen.network import Network, NetworkMemory, Place, Strips
from match.codegen.steps import CallStep
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import Again, price, search_again
from match.dispatch.plan import CPU, LayerDecision, LayerPlan
from match.errors import CapacityError
from match.external_memory.describe import buffers, describe, steps_of, with_constants
from match.external_memory.message import MainMemoryError, outside, sentence
from match.external_memory.strips import best_strips
from match.external_memory.waits import outside_energies, with_waits
from match.frontend.model import Model
from match.ir.layer import Role
from match.mapping.memory import Memory
from match.partitioning.partitioner import Partitioned
from match.placement.contents import packed
from match.placement.decide import Decision, Shortage, decide, least_main
from match.placement.place import Plan, place
from match.placement.problem import Cut, PlacementProblem, Step
from match.target.external_cost import external_cost
from match.target.hardware import External, MatchTarget
from match.target.layers import cost_model_of

_ATTEMPTS = 6

_FAR_OFF = 2.0
"""Times the cost of the cheapest way that another one may have: smaller chains took half of the waits at most."""

PATIENCE = 4
"""After so many ways that fit and are no cheaper than one before, no smaller chains and groups are tried."""

MUCH_LESS = 0.75
"""Where smaller chains and groups do not help: the share of constants that the largest of the next ones has at most."""


@dataclass(frozen=True, eq=False)
class _Failure:
    """A way that fits no memory, and why."""

    error: CapacityError
    network: Network

    @property
    def least(self) -> int | None:
        """Bytes of main memory that may be enough, where that is known."""
        return self.error.least if isinstance(self.error, MainMemoryError) else None


@dataclass(frozen=True, eq=False)
class _Decided:
    """The decisions: `decisions` by the names of layers; symbols, cuts, images and strips by step.

    `problem` has the sizes of constants as cut layers pack them; `images` has their bytes.
    """

    problem: PlacementProblem
    decision: Decision
    decisions: Mapping[str, LayerDecision]
    symbols: tuple[str | None, ...]
    cuts: Mapping[int, Cut]
    images: Mapping[int, int]
    strips: Mapping[int, Strips]


@dataclass(frozen=True, eq=False)
class _Way:
    """A network cut into layers, with everything in main memory, and its placement in both memories."""

    partitioned: Partitioned
    network: Network
    decided: _Decided
    plan: Plan

    @property
    def decisions(self) -> list[LayerDecision]:
        """Those about all operators, in execution order."""
        return [self.decided.decisions.get(decision.name, decision) for decision in self.partitioned.decisions]


def place_cheapest(
    partitioned: Partitioned,
    network: Network,
    model: Model,
    core: ControlCore,
    options: Options,
    stopwatch: Stopwatch,
    others: Sequence[tuple[Options, Partitioned]] = (),
) -> tuple[Partitioned, Network]:
    """The network in main memory and the target's external memory.

    Each of several ways to cut it into layers is placed: as it was chosen for a main memory that holds everything, and
    with large dense layers in parts; and each of these with smaller and smaller chains and groups, for as long as that
    helps, and without any. The cheapest is taken, within `Options.at_most` of what is least of all ways; of equals the
    first. A way that takes no fewer cycles with everything in main memory than an earlier one takes in both memories is
    left out. Time is counted in the phases "memory", "search" and "codegen", and in those of
    `match.partitioning.partitioner.cut`.

    Args:
        partitioned: the network as it was chosen.
        network: its calls, with everything in main memory.
        model: where it came from.
        core: compiles what stays on the control core.
        options: of the compilation.
        stopwatch: counts the time.
        others: the network as it was chosen with other options, whose cost in both memories may be less.

    Raises:
        CapacityError: if none fits both memories.
        CostModelError: if a cost model fails.
    """
    trial = _Trial(model, core, options, stopwatch)
    bases = [(options, partitioned, trial.place(partitioned, network, options))]
    for asked, whole in ((options, partitioned), *others):
        if whole is not partitioned:
            bases.append((asked, whole, trial.consider(whole.chosen.cost, lambda whole=whole: whole, asked)))
        in_parts = whole.with_split_dense(asked, model.name, stopwatch)
        if in_parts is not None:
            found = trial.consider(in_parts.chosen.cost, lambda in_parts=in_parts: in_parts, asked)
            bases.append((asked, in_parts, found))
    best = trial.cheapest
    for asked, base, placed in sorted(bases, key=lambda one: one[2] is not best):
        if placed and trial.is_far_off(placed):
            continue
        limit, best, missed = base.chosen.joined, placed, 0
        while limit is not None and missed < PATIENCE and (smaller := base.less_joined(limit, stopwatch)):
            found = trial.consider(smaller.cost, smaller.cut, asked)
            if trial.is_cheaper(found, best):
                best, missed = found, 0
            elif found is not None:
                missed += 1
            helps = found is not None and found is trial.cheapest
            limit = smaller.joined if helps else min(smaller.joined, math.floor(MUCH_LESS * smaller.joined) + 1)
        for alone in base.not_joined(stopwatch):
            trial.consider(alone.cost, alone.cut, asked)
    cheapest = trial.result()
    with stopwatch.phase("memory"):
        return _placed(cheapest, cheapest.partitioned.decided(cheapest.decisions), model, core)


class _Trial:
    """Places one way to cut a network after the other, and keeps the cheapest."""

    def __init__(self, model: Model, core: ControlCore, options: Options, stopwatch: Stopwatch) -> None:
        self._model, self._core, self._options, self._stopwatch = model, core, options, stopwatch
        self._failures: list[_Failure] = []
        self._ways: list[_Way] = []

    @property
    def cheapest(self) -> _Way | None:
        """The cheapest way, the first of equals; within the bound of what is least of all ways, if there is one."""
        options, ways = self._options, self._ways
        if bound := options.at_most:
            figures = [_cost(way, bound.quantity) for way in ways]
            ways = [way for way, figure in zip(ways, figures, strict=True) if figure <= bound.factor * min(figures)]
        return min(ways, key=lambda way: _cost(way, options.objective), default=None)

    def consider(self, least: float, cut: Callable[[], Partitioned], options: Options) -> _Way | None:
        """Place what is cut with these options; it costs `least` with all in main memory.

        None if it is not cheaper, or does not fit.
        """
        by_latency = self._options.objective == options.objective == "latency" and not self._options.at_most
        if by_latency and (cheapest := self.cheapest) and least >= _cost(cheapest, "latency"):
            return None
        partitioned = cut()
        with self._stopwatch.phase("codegen"):
            network = lower(partitioned, self._model, self._core)
        return self.place(partitioned, network, options)

    def place(self, partitioned: Partitioned, network: Network, options: Options) -> _Way | None:
        """Place a network that is cut with these options, and has everything in main memory; None if it fits not."""
        with self._stopwatch.phase("memory"):
            try:
                way = _way(partitioned, network, self._model, options, self._stopwatch)
            except CapacityError as error:
                self._failures.append(_Failure(error, network))
                return None
        self._ways.append(way)
        return way

    def is_cheaper(self, way: _Way | None, other: _Way | None) -> bool:
        """Whether a way costs less than another one; none costs most."""
        if way is None or other is None:
            return way is not None
        return _cost(way, self._options.objective) < _cost(other, self._options.objective)

    def is_far_off(self, way: _Way) -> bool:
        """Whether a way costs so much more than the cheapest that smaller chains cannot make up for it."""
        cheapest, objective = self.cheapest, self._options.objective
        return cheapest is not None and _cost(way, objective) >= _FAR_OFF * _cost(cheapest, objective)

    def result(self) -> _Way:
        """The cheapest way.

        Raises:
            CapacityError: if none fits both memories.
        """
        cheapest = self.cheapest
        if cheapest is None:
            raise _short(self._failures)
        return cheapest


def _short(failures: Sequence[_Failure]) -> CapacityError:
    """The error of the way that needs least main memory. With all in main memory, the network may need less still."""
    known = [(failure.least, failure.error) for failure in failures if failure.least is not None]
    if not known:
        return failures[-1].error
    least, error = min(known, key=lambda one: one[0])
    return MainMemoryError(str(error), min(least, failures[0].network.main_bytes))


def _cost(way: _Way, objective: str) -> float:
    """The cost under an objective, with what external memory adds to it, but for bytes: those that layers move."""
    cycles = way.plan.latency.cycles
    if objective == "latency":
        return cycles
    if objective == "bytes":
        return sum(price(one.cost, "bytes") for one in way.decisions if one.cost is not None)
    decisions = _timed(way, way.decisions, steps_of(way.network.steps, way.decisions))
    energy = sum(decision.energy or 0.0 for decision in decisions)
    return energy * cycles if objective == "edp" else energy


def _timed(way: _Way, decisions: Sequence[LayerDecision], steps: Sequence[int]) -> tuple[LayerDecision, ...]:
    """The decisions of a way, each at its step, with the cycles and the energy that external memory adds."""
    problem, plan = way.decided.problem, way.plan
    moved = [
        (step.constants if fetched is not None else 0)
        + (0 if symbol else sum(problem.by_name[name].bytes for name in plan.choice.spilled & {*step.tensors}))
        for step, fetched, symbol in zip(problem.steps, plan.choice.fetched, way.decided.symbols, strict=True)
    ]
    return with_waits(decisions, steps, plan.latency, moved, outside_energies(way.partitioned.target))


def _way(partitioned: Partitioned, network: Network, model: Model, options: Options, stopwatch: Stopwatch) -> _Way:
    """The placement of one way: decisions, cut layers searched again, and all offsets."""
    target = partitioned.target
    assert target.external is not None
    decided = _decided(partitioned, network, target, options, stopwatch)
    plan = place(decided.problem, decided.decision, decided.cuts, decided.images)
    if plan.external > target.external.memory.size:
        raise CapacityError(outside(model.name, plan.external, target))
    return _Way(partitioned, network, decided, plan)


def _placed(way: _Way, result: Partitioned, model: Model, core: ControlCore) -> tuple[Partitioned, Network]:
    """The network as `result` cuts it, with every buffer at its place in the plan."""
    target = result.target
    assert target.external is not None
    problem, plan, symbols = way.decided.problem, way.plan, way.decided.symbols
    network = lower(result, model, core)
    assert network.steps == way.network.steps, "only schedules are others"
    steps = steps_of(network.steps, result.decisions)
    memory = NetworkMemory(
        api=target.external.api,
        problem=problem,
        plan=plan,
        symbols=symbols,
        steps=steps,
        strips=way.decided.strips,
        image=_image(network, plan, symbols, _plans(way.decided.decisions.values())),
        whole=way.network.main_bytes,
    )
    timed = replace(result, decisions=_timed(way, result.decisions, steps))
    return timed, replace(
        network,
        memory=memory,
        workspace_bytes=plan.main,
        inside=behind(model.inputs, model.outputs, plan.main, problem.alignment),
        places={name: Place(name in plan.choice.spilled, offset) for name, offset in plan.tensors.items()},
    )


def _decided(
    partitioned: Partitioned, network: Network, target: MatchTarget, options: Options, stopwatch: Stopwatch
) -> _Decided:
    """A decision whose cut layers have schedules and constants that fit.

    If a layer has no schedule in its room, it gets more room. A layer that was searched again packs
    its constants anew; if they become too long, the decision is repeated with the new sizes.
    """
    assert target.external is not None
    problem = describe(network, partitioned.decisions, target, target.external)
    symbols = _symbols(network.steps, {d.name: d for d in partitioned.decisions})
    by_symbol = {d.plan.symbol: d for d in partitioned.decisions if d.plan}
    failed: Iterable[int] = ()
    for _ in range(_ATTEMPTS):
        decision = decide(problem)
        if isinstance(decision, Shortage):
            least = least_main(problem) if decision.parts else None
            size = target.main_memory.size - network.program_bytes(target)
            raise MainMemoryError(
                sentence(decision, network, by_symbol, target), None if least is None else size + least - problem.main
            )
        asked: dict[int, Again] = {}
        strips: dict[int, tuple[Strips, Cut]] = {}
        for step, room in decision.rooms.items():
            call, symbol = network.steps[step], symbols[step]
            if symbol is None:
                strips[step] = _strips(problem, call, step, room, target.external)
            else:
                held = frozenset(_held(decision, step, by_symbol[symbol], call))
                memory = Memory(target.main_memory.name, room, problem.alignment, holds=held)
                asked[step] = Again(partitioned.workloads[symbol], by_symbol[symbol], memory)
        answers = dict(zip(asked, search_again(list(asked.values()), target, options, stopwatch), strict=True))
        found = {step: answer for step, answer in answers.items() if isinstance(answer, LayerDecision)}
        refused = {step: room for step, room in decision.rooms.items() if step in asked.keys() - found.keys()}
        if refused:
            problem, failed = _with_more_room(problem, refused), refused
            continue
        decisions = {d.name: _outside(d) for d in partitioned.decisions}
        decisions |= {d.name: _outside(d) for d in found.values()}
        plans = _plans(decisions.values())
        cuts = {n: _cut(found[n], target) for n in asked}
        cuts |= {n: cut for n, (_, cut) in strips.items()}
        images = {n: len(plans[s].constants) for n, s in enumerate(symbols) if s is not None and plans[s].constants}
        anew = with_constants(problem, images, target.external)
        if packed(anew, decision.choice, cuts) is not None:
            written = {n: strips for n, (strips, _) in strips.items()}
            return _Decided(anew, decision, decisions, symbols, cuts, images, written)
        longest = {n: max(size, problem.steps[n].constants) for n, size in images.items()}
        problem, failed = with_constants(problem, longest, target.external), asked
    names = ", ".join(by_symbol[str(symbols[step])].name for step in failed)
    raise CapacityError(
        f"{network.name} does not fit {target.name}'s {target.main_memory.name} of {target.main_memory.size} "
        f"bytes: what is left is too little for {names} in pieces; take more of it (--l2) or a smaller L1 (--l1)."
    )


def _plans(decisions: Iterable[LayerDecision]) -> dict[str, LayerPlan]:
    return {d.plan.symbol: d.plan for d in decisions if d.plan}


def _outside(decision: LayerDecision) -> LayerDecision:
    """The decision, with constants that the network passes to the layer."""
    if decision.plan is None or not decision.plan.constants:
        return decision
    return replace(decision, plan=replace(decision.plan, constants_at="network"))


def _with_more_room(problem: PlacementProblem, refused: Mapping[int, int]) -> PlacementProblem:
    """The problem, with steps that need more than the room in which they had no schedule."""

    def more(number: int, step: Step) -> Step:
        if number not in refused:
            return step
        total = sum(size for _, size in step.tensor_blocks) + (step.constant_block or 0)
        factor = 1.5 * max(1.0, refused[number] / max(total, 1))
        return replace(
            step,
            constant_block=None if step.constant_block is None else int(step.constant_block * factor),
            tensor_blocks=tuple((name, int(size * factor)) for name, size in step.tensor_blocks),
        )

    return replace(problem, steps=tuple(more(number, step) for number, step in enumerate(problem.steps)))


def _symbols(steps: Iterable[CallStep], decisions: Mapping[str, LayerDecision]) -> tuple[str | None, ...]:
    known = {d.plan.symbol for d in decisions.values() if d.module != CPU and d.plan}
    return tuple(step.function if step.function in known else None for step in steps)


def _held(decision: Decision, step: int, taken: LayerDecision, call: CallStep) -> Iterator[str]:
    """Operands of a layer that pass main memory block by block."""
    assert taken.plan is not None
    for operand, buffer in buffers(taken.plan, call):
        if buffer.name in decision.choice.spilled:
            yield operand
    if step in decision.choice.cut:
        yield next(o.name for o in taken.plan.schedule.operands if o.role is Role.CONSTANT)


def _strips(problem: PlacementProblem, call: CallStep, step: int, room: int, external: External) -> tuple[Strips, Cut]:
    """How an operator on the control core writes external memory in strips, in the room that it was given."""
    return best_strips(call, problem.steps[step].cycles, room, problem.alignment, problem.issue, external)


def _cut(decision: LayerDecision, target: MatchTarget) -> Cut:
    """Bytes of main memory, cycles, and cycles of the external memory's DMA of a cut layer."""
    plan = decision.plan
    assert target.external is not None
    assert plan is not None
    memory = plan.schedule.memories[0]
    model = external_cost(
        cost_model_of(plan.modules(target), plan.layer, plan.requantizers), target.external, memory.name
    )
    traffic = sum(
        event.end - event.begin
        for event in simulate(plan.schedule, model).events
        if event.action.kind in (Kind.FETCH, Kind.STORE) and event.action.memory == memory.name
    )
    return Cut(plan.schedule.used_bytes(memory), decision.cycles, traffic)


def _image(network: Network, plan: Plan, symbols: Sequence[str | None], plans: Mapping[str, LayerPlan]) -> bytes:
    """The image: constants of operators at their offsets, and constants of layers at the plan's offsets."""
    image = bytearray(plan.image)
    for constant in network.constants:
        data = constant.data.tobytes()
        image[constant.offset : constant.offset + len(data)] = data
    for step, offset in plan.images.items():
        data = plans[str(symbols[step])].constants
        image[offset : offset + len(data)] = data
    return bytes(image)
