"""Asks each module for its offer for a layer, and makes the decision for the chosen module.

An offer needs three things, and the first that is missing is the reason of the refusal: an operator pattern whose
constraints hold, a form of requantization, and a schedule that fits the module's memories. The control core always
offers TVM's C. The schedules of a network are searched together, and once for layers of equal geometry. `match.cover`
chooses the offers for the network as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.energy import check_energy
from match.dispatch.known_steps import known_steps
from match.dispatch.member import Member, member
from match.dispatch.plan import CPU, WITHOUT_CODE, LayerDecision, LayerPlan, Offer, RunnerUp
from match.dispatch.planning import plan_layer
from match.dispatch.request import Key, Request, Workload, problem, requests
from match.ir.attributes import Own
from match.ir.constants import LayerConstants
from match.ir.layer import BY_PIXEL, FLOATING_ON_CORE, Layer, Op, Operand
from match.mapping.memory import Memory
from match.mapping.schedule import Schedule
from match.processes.workers import Workers
from match.requantize.form import Form
from match.search.cache import Cache
from match.search.problem import SearchProblem, Solution
from match.search.solutions import solutions
from match.target.answers import call_text, checked, number
from match.target.cost import SOFTMAX_OF_16_BITS, Cost, Energy
from match.target.external_cost import external_cost
from match.target.hardware import HwModule, MatchTarget

BYTES_GRAIN = 2.0**-36
"""The weight of a cycle, in bytes, if bytes are minimised: all cycles of a network count less than one byte."""

_Key = TypeVar("_Key")
"""By which problems, and their solutions, are found."""


@dataclass(frozen=True, eq=False)
class _Acceptance:
    """A module's way to execute a layer of a network on a target."""

    request: Request
    schedule: Schedule
    cost: Cost
    workload: Workload
    target: MatchTarget

    @cached_property
    def plan(self) -> LayerPlan:
        """What code generation needs; a network may be chosen many times, and most of its layers alike."""
        return plan_layer(self.request, self.schedule, self.workload, self.target)

    @property
    def module(self) -> HwModule:
        return self.request.module

    @property
    def offer(self) -> Offer:
        form = self.request.farthest
        return Offer(
            self.module.name,
            form.requantizer,
            form.fit,
            self.schedule,
            self.cost,
            known_steps=known_steps(self.request.layer, self.request.forms),
        )


@dataclass(frozen=True, eq=False)
class Offers:
    """The offer or refusal of each module of a target for a layer, and the cost on the control core.

    `candidates` has all offers, the control core's last.
    """

    workload: Workload
    target: MatchTarget
    candidates: tuple[Offer, ...]
    _offers: Mapping[str, _Acceptance]

    @property
    def accepted(self) -> dict[str, tuple[Schedule, Cost]]:
        """The schedules of the modules that would take the layer, in the target's order, and their costs."""
        return {name: (offer.schedule, offer.cost) for name, offer in self._offers.items()}

    def with_reasons(self, reasons: Mapping[str, Offer]) -> Offers:
        """The same with other reasons of modules that refuse, by name."""
        told = (reasons.get(offer.module, offer) if offer.refusal else offer for offer in self.candidates)
        return replace(self, candidates=tuple(told))

    @property
    def costs(self) -> list[Cost]:
        """The costs of all offers, the control core's included."""
        return [offer.cost for offer in self.candidates if offer.cost is not None]

    def member(self, module: str) -> Member | None:
        """The layer as an operator of a group on a module; None if the module cannot execute it in a group.

        Raises:
            CostModelError: if the module's cost model fails.
        """
        offer = self._offers.get(module)
        return member(offer.request) if offer else None

    @property
    def cpu(self) -> Cost:
        """Cost of TVM's C."""
        cost = self.candidates[-1].cost
        assert cost is not None
        return cost

    def decision(self, module: str, runner_up: RunnerUp | None) -> LayerDecision:
        """The decision for a module that offers to take the layer; CPU for the control core."""
        layer, offer = self.workload.layer, self._offers.get(module)
        return LayerDecision(
            name=layer.name,
            op=layer.what,
            module=module,
            macs=layer.macs,
            outputs=layer.output_elements,
            cycles=offer.cost.cycles if offer else self.cpu.cycles,
            candidates=self.candidates,
            plan=offer.plan if offer else None,
            source=self.workload.source,
            reference=self.workload.reference,
            floating=layer.floating or (offer is None and layer.op in FLOATING_ON_CORE),
            runner_up=runner_up,
            forms=tuple(map(_inexact, offer.request.forms)) if offer else (),
        )


def _inexact(form: Form) -> LayerConstants | None:
    """An operator's constants in a form that is not exact; None for one that is."""
    return None if form.fit is None or form.fit.exact else form.constants


def ask(workloads: Sequence[Workload], target: MatchTarget, options: Options, stopwatch: Stopwatch) -> list[Offers]:
    """The offers for each layer; the time for schedules is the phase "search" of `stopwatch`.

    Schedules are the best ones for the first objective in `Options.searched`.

    Raises:
        CostModelError: if a module's cost model or the control core's fails.
        OptionError: if the target lacks what the objective needs.
    """
    check_energy(target, options)
    with Workers(options.jobs) as workers:
        asked = requests(workloads, target, options, workers)
        problems: dict[Key, SearchProblem] = {}
        for answers in asked:
            for answer in answers:
                if isinstance(answer, Request) and answer.key not in problems:
                    problems[answer.key] = problem(answer, options)
        found = _searched(problems, options, workers, stopwatch)
    return [_offers(workload, answers, found, target) for workload, answers in zip(workloads, asked, strict=True)]


def _searched(
    problems: Mapping[_Key, SearchProblem], options: Options, workers: Workers, stopwatch: Stopwatch
) -> dict[_Key, Solution]:
    """The solutions of some problems, found in the phase "search"."""
    with stopwatch.phase("search"):
        cache = Cache(options.cache) if options.cache else None
        solved = solutions(list(problems.values()), cache, workers, stopwatch.count)
    return dict(zip(problems, solved, strict=True))


@dataclass(frozen=True, eq=False)
class Again:
    """A layer on a module, to be searched again with `memory` between external memory and the module's own memory."""

    workload: Workload
    decision: LayerDecision
    memory: Memory


def search_again(
    asked: Sequence[Again], target: MatchTarget, options: Options, stopwatch: Stopwatch
) -> list[LayerDecision | str]:
    """The decision for each layer with another schedule on the same module, or the reason why there is none.

    The other modules are asked for schedules in the same memories, so that all costs are for the same
    problem. Time is counted in the phase "search". The target has external memory.

    Raises:
        CostModelError: if a module's cost model fails.
    """
    assert target.external is not None
    with Workers(options.jobs) as workers:
        answered = requests([again.workload for again in asked], target, options, workers)
        taking = [[answer for answer in answers if isinstance(answer, Request)] for answers in answered]
        problems: dict[tuple[Key, Memory], SearchProblem] = {}
        for again, answers in zip(asked, taking, strict=True):
            for answer in answers:
                inside = problem(answer, options)
                model = external_cost(inside.cost_model, target.external, again.memory.name)
                outer = _held_as(again, inside.operands)
                nested = replace(inside, memories=(outer, *inside.memories), cost_model=model)
                problems.setdefault((answer.key, again.memory), nested)
        found = _searched(problems, options, workers, stopwatch)
    return [
        _changed(again, {answer.module.name: (answer, found[answer.key, again.memory]) for answer in answers}, target)
        for again, answers in zip(asked, taking, strict=True)
    ]


def _held_as(again: Again, operands: Sequence[Operand]) -> Memory:
    """The memory in between, with the operand names of another module in place of those of the decision's module.

    All modules list the operands of a layer in the same order.
    """
    assert again.decision.plan is not None
    names = [operand.name for operand in again.decision.plan.schedule.operands]
    holds = {own.name for name, own in zip(names, operands, strict=False) if again.memory.has(name)}
    return replace(again.memory, holds=frozenset(holds))


def _changed(again: Again, answers: Mapping[str, tuple[Request, Solution]], target: MatchTarget) -> LayerDecision | str:
    offers = {name: _offer(*answer, again.workload, target) for name, answer in answers.items()}
    taken = offers[again.decision.module]
    if isinstance(taken, str):
        return taken

    def now(candidate: Offer) -> Offer:
        offer = offers.get(candidate.module)
        if isinstance(offer, str):
            return Offer(candidate.module, refusal=offer, unmapped=True)
        return candidate if offer is None else offer.offer

    return replace(
        again.decision,
        cycles=taken.cost.cycles,
        candidates=tuple(map(now, again.decision.candidates)),
        plan=taken.plan,
    )


def cpu_cost(
    target: MatchTarget, name: str, op: str, macs: int, outputs: int, *, floating: bool = False, rows: int = 1
) -> Cost:
    """Cost of operator `op` (Relay name or `Op` value), layer `name`, as TVM's C on the control core.

    `floating` tells whether the operator computes in floating point: one that reads more values than it computes is
    priced by the values that it reads. A function of a pixel computes `rows` equal rows one after another; the cost
    model is asked for one row. Operators without code cost nothing. The core has no scratchpad. An operator that only
    copies reads as many bytes as it writes; others read two bytes for each of `macs` and write one for each output.

    Raises:
        CostModelError: if its cost model fails.
    """
    model = target.cpu_cost_model
    if op in WITHOUT_CODE:
        return Cost(0.0, 0.0, 0.0, 0.0, (), None if model.energy is None else 0.0)

    def ask(method: str, *arguments: str | int) -> float:
        call = partial(call_text, model, name, method, arguments)
        return number(partial(getattr(model, method), *arguments), lambda: f"module {CPU}: {call()}")

    row = (op, macs // rows, outputs // rows)
    cycles = ask("floating", op, max(macs, outputs)) if floating else rows * ask("cycles", *row)
    energy = None if model.energy is None else _core_energy(model.energy, macs, cycles, name)
    return Cost(cycles, cycles, 0.0, 0.0, ((CPU, max(2 * macs, outputs) + outputs),), energy)


def _core_energy(energy: Energy, macs: int, cycles: float, name: str) -> float:
    """What the control core consumes for an operator, layer `name`, in pJ."""
    pj = energy.mac * macs + energy.cycle * cycles + energy.work(cycles, 0.0)
    return checked(pj, lambda: f"module {CPU}: its energy, {energy}, layer {name},")


def price(cost: Cost, objective: str) -> float:
    """What schedules are searched for: predicted cycles, or pJ for the objective energy, or bytes moved.

    If bytes are equal, cycles decide: they are counted in units of `BYTES_GRAIN`.
    """
    if objective == "bytes":
        return cost.moved_bytes + round(cost.cycles) * BYTES_GRAIN
    return cost.energy if objective == "energy" and cost.energy is not None else cost.cycles


def rows(layer: Layer) -> int:
    """How many equal rows of a layer the control core's cost model is asked about: pixels for `BY_PIXEL`, else 1."""
    return layer.oy * layer.ox if layer.op in BY_PIXEL else 1


def combined(layer: Layer) -> int:
    """Values that a layer combines to all of its outputs, by multiplication or not."""
    return layer.macs or layer.output_elements * layer.channels_summed * layer.fy * layer.fx


def _offers(
    workload: Workload, answers: Sequence[Request | str], found: dict[Key, Solution], target: MatchTarget
) -> Offers:
    layer = workload.layer
    offers: dict[str, _Acceptance] = {}
    candidates: list[Offer] = []
    for module, answer in zip(target.modules, answers, strict=True):
        offer = _offer(answer, found[answer.key], workload, target) if isinstance(answer, Request) else answer
        if isinstance(offer, _Acceptance):
            offers[module.name] = offer
            candidates.append(offer.offer)
        else:
            needed = found[answer.key].needed if isinstance(answer, Request) else None
            candidates.append(Offer(module.name, refusal=offer, unmapped=isinstance(answer, Request), needed=needed))
    cpu = _summed([_core_cost(target, operator) for operator in layer.operators])
    return Offers(workload, target, (*candidates, Offer(CPU, cost=cpu)), offers)


def _core_cost(target: MatchTarget, operator: Layer) -> Cost:
    """What an operator costs as TVM's C."""
    own = operator.get(Own)
    kind = own.core or operator.op.value
    if operator.op is Op.SOFTMAX and operator.input_dtype == "int16":
        kind = SOFTMAX_OF_16_BITS
    numbers = combined(operator), operator.output_elements
    return cpu_cost(target, operator.name, kind, *numbers, floating=own.floating, rows=rows(operator))


def _summed(costs: Sequence[Cost]) -> Cost:
    """Cost of operators on the control core, one after another."""
    if len(costs) == 1:
        return costs[0]
    energies = [cost.energy for cost in costs if cost.energy is not None]
    cycles = sum(cost.cycles for cost in costs)
    moved = ((CPU, sum(cost.moved_bytes for cost in costs)),)
    return Cost(cycles, cycles, 0.0, 0.0, moved, sum(energies) if len(energies) == len(costs) else None)


def _offer(request: Request, solution: Solution, workload: Workload, target: MatchTarget) -> _Acceptance | str:
    if solution.schedule is None or solution.cost is None:
        return solution.refusal or "no schedule was found"
    layer = request.layer
    operators = tuple(_clipped(own, form) for own, form in zip(layer.operators, request.forms, strict=True))
    schedule = replace(solution.schedule, layer=layer.with_operators(operators))
    return _Acceptance(request, schedule, solution.cost, workload, target)


def _clipped(layer: Layer, form: Form) -> Layer:
    requantization = form.constants.requantization
    return layer if requantization is None else replace(layer, clip=requantization.clip)
