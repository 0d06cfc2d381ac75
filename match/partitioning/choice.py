"""What computes a network: candidates for its operators, and the decisions of the cover that costs least."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from match.compilation.options import RAM, Options
from match.compilation.stopwatch import Stopwatch
from match.cover.problem import Candidate, Cover, CoverProblem, Layout
from match.cover.solve import solve
from match.cover.two_costs import TwoCosts
from match.dispatch import plan
from match.dispatch.choice import Offers, ask, cpu_cost, price
from match.dispatch.energy import check_energy
from match.dispatch.plan import CPU, LayerDecision, RunnerUp
from match.dispatch.request import GroupModules, Workload
from match.graph import value as typed
from match.graph.value import Value
from match.ir.graph import Graph, Operator
from match.ir.layer import FLOATING_ON_CORE, Role
from match.mapping.memory import block_bytes
from match.mapping.schedule import Schedule
from match.mapping.storage import Storage, storage
from match.partitioning.chains import find_chains
from match.partitioning.graph import ListedGraph, listed_graph
from match.partitioning.groups import find_groups
from match.partitioning.layouts import LAYOUT, conversion_cost
from match.partitioning.parts import Parts, Pitches, find_parts
from match.partitioning.pattern import Match, Rejection, Row
from match.partitioning.pattern.types import name_of
from match.partitioning.sums import Halves, halves
from match.target.cost import Cost
from match.target.hardware import MatchTarget

_AllOffers = tuple[Offers, ...]
"""The offers for a layer, once for each that schedules are searched for."""

_WORTH = 1.02
"""How often as much as the cheapest a network may cost whose layers on the control core are kernels, not TVM's C.

A kernel is C to read, one that was counted, and a network of kernels alone needs no TVM.
"""


@dataclass(frozen=True, eq=False)
class ChosenNetwork:
    """Rows of a network in execution order, with a decision each, and the layers that modules were asked about.

    `problem` is what was chosen from, priced in pJ for the objective "edp", and `cost` that of the network in what was
    minimised, conversions included. `joined` are the most bytes of constants of a chain or a group that was chosen;
    None if there is neither.
    """

    rows: tuple[Row, ...]
    decisions: tuple[LayerDecision, ...]
    workloads: tuple[Workload, ...]
    problem: CoverProblem
    cost: float
    joined: int | None
    _again: Callable[[int], ChosenNetwork]

    def less_joined(self, limit: int) -> ChosenNetwork:
        """The cheapest choice whose chains and groups have fewer bytes of constants each; no module is asked again."""
        return self._again(limit)


def choose(
    network: typed.Graph,
    listed: Sequence[Row],
    prefix: str,
    target: MatchTarget,
    options: Options,
    stopwatch: Stopwatch,
    refused: Mapping[Value, tuple[plan.Offer, ...]] = MappingProxyType({}),
) -> ChosenNetwork:
    """The cheapest cover of a network. `prefix` begins the C names of functions.

    `refused` has what modules said of layers, by what these compute, before the layers were made into what they are:
    these reasons are told where a module refuses them now, too.

    Raises:
        CostModelError: if a cost model fails.
        OptionError: if the target lacks what the objective needs.
        TargetError: if a module's activations do not lie as generated code needs them.
    """
    layers = {index: row for index, row in enumerate(listed) if isinstance(row, Match)}
    works = {index: _workload(row, index, prefix) for index, row in layers.items()}
    chains = _chains(network, layers, works, prefix, target) if options.fuse else []
    parts = find_parts(network, layers) if options.in_place != "never" else Parts({}, {})
    parted = _parted(layers, works, chains, parts)
    ask_all = partial(_asked, target=target, options=options, stopwatch=stopwatch)
    answers = iter(ask_all([*works.values(), *(one.workload for one in (*chains, *parted))]))
    offered = {index: _told(next(answers), refused.get(layers[index].root, ())) for index in works}
    fused = [(one, next(answers)) for one in chains]
    partly = [(one, next(answers)) for one in parted]
    groups = _groups(network, listed, offered, prefix, target) if options.fuse else []
    joined = list(zip(groups, ask_all([one.workload for one in groups]), strict=True))
    split = {
        index: cut
        for index, row in layers.items()
        if _may_pay(offered[index], target, options) and (cut := halves(row, target))
    }
    sums = [_workload(cut.sums, index, prefix, "_sums") for index, cut in split.items()]
    summed = dict(zip(split, ask_all(sums), strict=True))
    known = listed_graph(network, [split.get(n, row) for n, row in enumerate(listed)])
    candidates = _Candidates(known, target, options)
    for index, row in enumerate(listed):
        if index in split:
            candidates.of_halves(index, split[index], offered[index], summed[index])
        elif isinstance(row, Match):
            candidates.of_layer(index, row, offered[index])
        else:
            candidates.of_core(index, row)
    together = (*fused, *joined)
    for one, offers in together:
        candidates.of_several(one, offers)
    for one, offers in partly:
        candidates.of_several(one, offers, parts.layouts)
    for index in parts.rows:
        candidates.of_in_place(index, layers[index], offered[index], parts)
    whole = (*offered.values(), *summed.values(), *(offers for _, offers in together))
    return _cheapest(candidates, [offers[0].workload for offers in whole], options)


def _asked(
    workloads: Sequence[Workload], target: MatchTarget, options: Options, stopwatch: Stopwatch
) -> list[_AllOffers]:
    """The offers for each layer, once for each that schedules are searched for."""
    check_energy(target, options)
    each = [
        ask(workloads, target, replace(options, objective=objective, at_most=None), stopwatch)
        for objective in options.searched
    ]
    return list(zip(*each, strict=True))


def _told(answers: _AllOffers, before: Sequence[plan.Offer]) -> _AllOffers:
    """Answers in which modules that refuse have the reasons of before, if they had some."""
    reasons = {offer.module: offer for offer in before if offer.refusal}
    return tuple(answer.with_reasons(reasons) for answer in answers) if reasons else answers


def _cheapest(
    candidates: _Candidates, workloads: Sequence[Workload], options: Options, limit: float = math.inf
) -> ChosenNetwork:
    """The cheapest cover by candidates; those of several layers have fewer bytes of constants than `limit`.

    `workloads` are those that modules were asked about, of whole tensors.
    """
    given = [number for number in range(len(candidates.made)) if candidates.joined.get(number, -1) < limit]
    problem, numbers, cover = _covered(candidates, given, options)
    if any(numbers[place] in candidates.generated for place in cover.chosen):
        kernels = _covered(candidates, [n for n in given if n not in candidates.generated], options)
        if kernels[-1].cost <= _WORTH * cover.cost:
            problem, numbers, cover = kernels
    taken = [
        candidates.made[numbers[place]](_counted(runner_up, options))
        for place, runner_up in zip(cover.chosen, cover.runners_up, strict=True)
    ]
    rows = tuple(row for row, _ in taken)
    chosen = [problem.candidates[place] for place in cover.chosen]
    decisions = tuple(_shaped(made, one, problem.graph) for (_, made), one in zip(taken, chosen, strict=True))
    # Of workloads with one symbol the last is the one that was chosen.
    asked = (*workloads, *(candidates.asked[n] for place in cover.chosen if (n := numbers[place]) in candidates.asked))
    joined = max(
        (size for place in cover.chosen if (size := candidates.joined.get(numbers[place])) is not None), default=None
    )
    again = partial(_cheapest, candidates, workloads, options)
    return ChosenNetwork(rows, decisions, asked, problem, cover.cost, joined, again)


def _covered(candidates: _Candidates, numbers: list[int], options: Options) -> tuple[CoverProblem, list[int], Cover]:
    """The cheapest cover by some candidates, the problem that it solves, and the numbers of that one's candidates."""
    problem = candidates.problem(options.searched[-1 if options.objective == "edp" else 0], numbers)
    if options.in_place == "always":
        problem, numbers = _with_few_copies(problem, numbers, candidates.copying)
    if options.objective == "edp":
        return problem, numbers, TwoCosts(problem, candidates.problem("latency", numbers)).least_product()
    if (bound := options.at_most) and options.objective != RAM:  # of this it bounds what is tried afterwards
        bounded = candidates.problem(bound.quantity, numbers)
        return problem, numbers, TwoCosts(problem, bounded).least_within(bound.factor * solve(bounded).cost)
    return problem, numbers, solve(problem)


def _with_few_copies(
    problem: CoverProblem, given: list[int], copying: Sequence[frozenset[int]]
) -> tuple[CoverProblem, list[int]]:
    """The problem without the candidates that copy what may be in place, and the numbers of the others.

    Those of one operator after the other are left out, as far as there are covers without them. `given` are the numbers
    of the problem's candidates, and `copying` those that copy.
    """
    by_number = dict(zip(given, problem.candidates, strict=True))
    kept, numbers = problem, given
    for own in copying:
        fewer = [number for number in numbers if number not in own]
        without = replace(problem, candidates=tuple(by_number[number] for number in fewer))
        try:
            solve(without)
        except ValueError:
            continue
        kept, numbers = without, fewer
    return kept, numbers


def _counted(runner_up: RunnerUp | None, options: Options) -> RunnerUp | None:
    """A runner-up in whole bytes, if bytes are minimised: what is less than one stands for cycles."""
    if runner_up is None or options.objective != "bytes":
        return runner_up
    return replace(runner_up, cost=float(math.floor(runner_up.cost)))


def _shaped(decision: LayerDecision, candidate: Candidate, graph: Graph) -> LayerDecision:
    """The decision with the shapes of what its operators read from others, and of what they hand on."""
    operators = [graph.operators[place] for place in candidate.operators]
    inner = {tensor for operator in operators[:-1] for tensor in operator.writes}
    reads = dict.fromkeys(tensor for operator in operators for tensor in operator.reads if tensor not in inner)
    return replace(
        decision,
        input_shapes=tuple(graph.tensors[tensor].shape for tensor in reads),
        output_shapes=tuple(graph.tensors[tensor].shape for tensor in operators[-1].writes),
    )


def layouts(schedule: Schedule) -> list[Storage]:
    """How a layer's inputs lie in main memory and, last, its output."""
    return [storage(operand) for operand in schedule.operands if operand.role is not Role.CONSTANT]


def _workload(row: Match, index: int, prefix: str, suffix: str = "") -> Workload:
    """A layer that modules are asked about, named by operator and place in the network, in C after a prefix."""
    layer = replace(row.layer, name=f"{row.layer.what}_{index}")
    symbol = f"{prefix}_{index:02d}_{row.layer.what}{suffix}"
    source = name_of(row)
    return Workload(layer, row.constants, row.accumulator, symbol, source, reference=row.reference)


@dataclass(frozen=True, eq=False)
class _Several:
    """Layers that modules are asked about as one: `rows` are their places, `whole` and `workload` what they are as one.

    It is a chain, a group, or a layer or chain whose tensors lie inside others.
    """

    rows: tuple[int, ...]
    whole: Match
    workload: Workload


def _chains(
    network: typed.Graph, layers: Mapping[int, Match], works: Mapping[int, Workload], prefix: str, target: MatchTarget
) -> list[_Several]:
    """The chains that modules are asked about; `works` are their operators by themselves."""
    found: list[_Several] = []
    for chain in find_chains(network, layers, target):
        stages = tuple(
            works[index] if row is layers[index] else _workload(row, index, prefix)
            for index, row in zip(chain.rows, chain.stages, strict=True)
        )
        found.append(_several("chain", chain.rows, chain.whole, stages, prefix))
    return found


def _groups(
    network: typed.Graph,
    listed: Sequence[Row],
    offered: Mapping[int, _AllOffers],
    prefix: str,
    target: MatchTarget,
) -> list[_Several]:
    """The groups that modules are asked about, of layers that these modules take by themselves."""
    members = {
        module.name: {n: found for n, offers in offered.items() if (found := offers[0].member(module.name)) is not None}
        for module in target.modules
        if module.groups
    }
    alone = {n: min(cost.cycles for one in offers for cost in one.costs) for n, offers in offered.items()}
    return [
        _several(
            "group", group.rows, group.whole, [offered[n][0].workload for n in group.operators], prefix, group.modules
        )
        for group in find_groups(network, listed, members, alone, target)
    ]


def _several(
    kind: str,
    rows: tuple[int, ...],
    whole: Match,
    stages: Sequence[Workload],
    prefix: str,
    modules: GroupModules | None = None,
) -> _Several:
    """A chain, or a group on some modules, named by its first and last operator's places in the network."""
    first, last = rows[0], rows[-1]
    layer = whole.layer.with_operators([stage.layer for stage in stages])
    layer = replace(layer, name=f"{kind}_{first}_{last}")
    symbol = f"{prefix}_{last:02d}_{kind}"
    reference = all(stage.reference for stage in stages)
    source = next((stage.source for stage in reversed(stages) if stage.source), "")
    work = Workload(layer, whole.constants, whole.accumulator, symbol, source, reference, tuple(stages), modules)
    return _Several(rows, whole, work)


def _parted(
    layers: Mapping[int, Match], works: Mapping[int, Workload], chains: Sequence[_Several], parts: Parts
) -> list[_Several]:
    """Layers and chains once more for each way in which their tensors can lie inside others."""
    alone = [
        _Several((index,), row, _within(works[index], pitches))
        for index, row in layers.items()
        for pitches in parts.pitches(row, index)
    ]
    fused = [
        replace(chain, workload=_within(chain.workload, pitches))
        for chain in chains
        for pitches in parts.pitches(chain.whole)
    ]
    return [*alone, *fused]


def _within(workload: Workload, pitches: Pitches) -> Workload:
    """The same work where some of the tensors lie inside others."""
    return replace(workload, layer=replace(workload.layer, pitches=pitches))


def _may_pay(offers: _AllOffers, target: MatchTarget, options: Options) -> bool:
    """Whether two parts might cost less than the whole, in one of what schedules are searched for."""
    if _is_off_core(offers, options) or _has_kernel(offers, target):
        return False
    return any(_may_cost_less(one, target, what) for one, what in zip(offers, options.searched, strict=True))


def _is_off_core(offers: _AllOffers, options: Options) -> bool:
    """Whether a layer must not be TVM's C: a module takes it, and the options ask for modules wherever one does."""
    return options.off_core and any(one.accepted for one in offers)


def _has_kernel(offers: _AllOffers, target: MatchTarget) -> bool:
    """Whether a module takes a layer whose kernels the control core executes."""
    return any(module.is_core and module.name in one.accepted for module in target.modules for one in offers)


def _may_cost_less(offers: Offers, target: MatchTarget, objective: str) -> bool:
    """Whether two parts might cost less than the whole, even if the sums cost nothing.

    Otherwise no module needs to be asked for the sums: with the whole in their place, any cover costs no more. Its
    conversions are counted as if nothing around it had its layouts.
    """
    layer = offers.workload.layer
    rest = cpu_cost(target, layer.name, layer.what, 0, layer.output_elements)

    def conversion(elements: int) -> float:
        return price(conversion_cost(target, LAYOUT, elements), objective)

    found = {name: (layouts(schedule), cost) for name, (schedule, cost) in offers.accepted.items()}
    wholes = [price(offers.cpu, objective)]
    for stored, cost in found.values():
        around = sum(conversion(math.prod(one.shape)) + conversion(math.prod(one.room)) for one in stored)
        wholes.append(price(cost, objective) + (0.0 if all(one.plain for one in stored) else around))
    return price(rest, objective) < min(wholes)


def _constant_bytes(schedule: Schedule) -> int:
    """Bytes of a layer's constants."""
    constants = [operand for operand in schedule.operands if operand.role is Role.CONSTANT]
    return sum(block_bytes(operand, schedule.extents(0), 1) for operand in constants)


class _Candidates:
    """Collects the candidates of a network; `made` has for each the row and the decision that it becomes.

    A module is a candidate once for each schedule that it offers.

    `asked` has the workloads of candidates of several layers, and of candidates that read or write parts of tensors, by
    their places in the problem's list, and `joined` the bytes of constants of those of several. `copying` has, for each
    concatenation and slice that may be in place, the places of the candidates that copy it. `generated` are those of
    TVM's C that the control core has kernels for.
    """

    def __init__(self, network: ListedGraph, target: MatchTarget, options: Options) -> None:
        self.asked: dict[int, Workload] = {}
        self.joined: dict[int, int] = {}
        self.copying: list[frozenset[int]] = []
        self.generated: set[int] = set()
        self.made: list[Callable[[RunnerUp | None], tuple[Row, LayerDecision]]] = []
        self._network, self._target, self._options = network, target, options
        self._found: list[tuple[Candidate, Cost]] = []

    def problem(self, objective: str, numbers: Sequence[int] | None = None) -> CoverProblem:
        """The candidates, or some by their numbers, at their prices, with the conversions that they can need."""
        graph = self._network.graph
        needed: dict[tuple[int, Layout], int] = {}
        for candidate, _ in self._found:
            for tensor, layout in candidate.wants:
                if layout is not None and not layout.pitch:
                    needed[tensor, layout] = math.prod(layout.room)
            for tensor, layout in candidate.gives:
                if layout is not None and not layout.pitch:
                    needed[tensor, None] = graph.tensors[tensor].elements
        costs = {
            key: price(conversion_cost(self._target, LAYOUT, elements), objective) for key, elements in needed.items()
        }
        found = self._found if numbers is None else [self._found[number] for number in numbers]
        priced = (replace(candidate, cost=price(cost, objective)) for candidate, cost in found)
        return CoverProblem(graph, tuple(priced), costs)

    def of_layer(self, index: int, row: Match, offers: _AllOffers) -> None:
        """A layer as a whole, on a module or in TVM's C."""
        places = self._network.operators[index]
        self._on_modules(places, row, offers)
        if _is_off_core(offers, self._options):
            return
        if _has_kernel(offers, self._target):
            self.generated.add(len(self._found))
        self._on_core(places, offers[0].cpu, lambda other: (row, offers[0].decision(CPU, other)))

    def of_halves(self, index: int, parts: Halves, whole: _AllOffers, sums: _AllOffers) -> None:
        """The same, and its sums on a module with the requantization on the control core."""
        self.of_layer(index, parts.whole, whole)
        first, second = self._network.operators[index]
        self._on_modules((first,), parts.sums, sums)
        refusals = tuple(candidate for candidate in whole[0].candidates if candidate.module != CPU)
        self._of_operator(second, parts.rest, refusals)

    def of_several(self, several: _Several, offers: _AllOffers, layouts: Mapping[Value, Storage] | None = None) -> None:
        """Layers as one, on the modules that take them so; `layouts` are how tensors lie that may be inside others."""
        places = tuple(sorted(place for row in several.rows for place in self._network.operators[row]))
        before = len(self._found)
        self._on_modules(places, several.whole, offers, layouts)
        self.asked |= dict.fromkeys(range(before, len(self._found)), offers[0].workload)
        if len(several.rows) > 1:
            for number, (candidate, _) in enumerate(self._found[before:], before):
                self.joined[number] = _constant_bytes(offers[0].accepted[candidate.module][0])

    def of_in_place(self, index: int, row: Match, offers: _AllOffers, parts: Parts) -> None:
        """A concatenation or a slice that says where tensors lie, and copies nothing."""
        operators = self._network.operators[index]
        self.copying.append(frozenset(n for n, (one, _) in enumerate(self._found) if {*one.operators} & {*operators}))
        reads = [(self._network.tensors[x], parts.layouts.get(x)) for x in row.inputs]
        gives = tuple((tensor, parts.layouts.get(row.root)) for tensor in self._operator(operators[-1]).writes)
        nothing = cpu_cost(self._target, row.layer.name, plan.IN_PLACE, 0, 0)
        self._found.append((Candidate(operators, CPU, 0.0, tuple(reads), gives), nothing))
        layouts = tuple(parts.layouts.get(x) for x in (*row.inputs, row.root))
        done = plan.InPlace(offers[0].workload.symbol, parts.rows[index], layouts)

        def made(runner_up: RunnerUp | None) -> tuple[Row, LayerDecision]:
            copied = offers[0].decision(CPU, runner_up)
            candidates = (*copied.candidates[:-1], plan.Offer(CPU, cost=nothing))
            return row, replace(copied, op=plan.IN_PLACE, cycles=0.0, candidates=candidates, in_place=done)

        self.made.append(made)

    def of_core(self, index: int, row: Row) -> None:
        """What no module is asked about."""
        reason = row.reason if isinstance(row, Rejection) else None
        refusals = tuple(plan.Offer(module.name, refusal=reason) for module in self._target.modules if reason)
        self._of_operator(self._network.operators[index][0], row, refusals)

    def _of_operator(self, place: int, row: Row, refusals: tuple[plan.Offer, ...]) -> None:
        operator = self._network.graph.operators[place]
        cost = cpu_cost(
            self._target,
            operator.name,
            operator.kind,
            operator.combined,
            operator.outputs,
            floating=operator.floating,
            rows=operator.rows,
        )
        offers = (*refusals, plan.Offer(CPU, cost=cost))

        def made(runner_up: RunnerUp | None) -> tuple[Row, LayerDecision]:
            return row, LayerDecision(
                operator.name,
                operator.op,
                CPU,
                operator.macs,
                operator.outputs,
                cost.cycles,
                offers,
                source=operator.source,
                reference=operator.reference,
                floating=operator.floating or operator.op in FLOATING_ON_CORE,
                runner_up=runner_up,
            )

        self._on_core((place,), cost, made)

    def _on_modules(
        self,
        places: tuple[int, ...],
        row: Match,
        asked: _AllOffers,
        inside: Mapping[Value, Storage] | None = None,
    ) -> None:
        """`inside`: how tensors lie that may be inside others; a schedule that sees them otherwise is no candidate."""
        first, *others = asked
        found = [(first, name, *offer) for name, offer in first.accepted.items()]
        known = {name: [offer] for name, offer in first.accepted.items()}
        for offers in others:
            for name, offer in offers.accepted.items():
                if offer not in known.setdefault(name, []):
                    known[name].append(offer)
                    found.append((offers, name, *offer))
        for offers, name, schedule, cost in found:
            *stored, output = [None if layout.plain else layout for layout in layouts(schedule)]
            seen = zip((*row.inputs, row.root), (*stored, output), strict=True)
            if inside and any(layout and layout.pitch and layout != inside[x] for x, layout in seen):
                continue
            wants = [(self._network.tensors[x], layout) for x, layout in zip(row.inputs, stored, strict=False)]
            gives = tuple((tensor, output) for tensor in self._operator(places[-1]).writes)
            self._found.append((Candidate(places, name, 0.0, tuple(dict.fromkeys(wants)), gives), cost))

            def made(
                runner_up: RunnerUp | None, offers: Offers = offers, name: str = name
            ) -> tuple[Row, LayerDecision]:
                return row, offers.decision(name, runner_up)

            self.made.append(made)

    def _on_core(
        self,
        places: tuple[int, ...],
        cost: Cost,
        made: Callable[[RunnerUp | None], tuple[Row, LayerDecision]],
    ) -> None:
        inner = {tensor for place in places[:-1] for tensor in self._operator(place).writes}
        reads = dict.fromkeys(tensor for place in places for tensor in self._operator(place).reads)
        wants = tuple((tensor, None) for tensor in reads if tensor not in inner)
        gives = tuple((tensor, None) for tensor in self._operator(places[-1]).writes)
        self._found.append((Candidate(places, CPU, 0.0, wants, gives), cost))
        self.made.append(made)

    def _operator(self, place: int) -> Operator:
        return self._network.graph.operators[place]
