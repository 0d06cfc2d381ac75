"""Cuts a network into functions for modules and a rest for the control core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.plan import CPU, LayerDecision, Offer
from match.dispatch.request import Workload
from match.graph.text import text
from match.graph.value import Graph
from match.ir.deviation import Deviation
from match.ir.names import network_prefix
from match.partitioning.choice import ChosenNetwork, choose
from match.partitioning.layouts import LAYOUT, Conversion, conversion_cost
from match.partitioning.order import with_least_peak
from match.partitioning.pattern import Core, Match, Row, find_layers
from match.partitioning.pattern.rows import rows
from match.partitioning.pattern.types import named_in, tensors_of
from match.partitioning.steps import Planned, Steps, network_steps, with_names
from match.partitioning.unrolled import in_steps, refused_recurrent
from match.partitioning.unsigned_rest import unsigned_rest
from match.passes.sequence import Pass, plain, through
from match.rewrites.concatenations import in_pairs
from match.rewrites.joined_moves import join_moves
from match.rewrites.repeated_operands import with_repeated_operands
from match.rewrites.split_argmax import split_argmax
from match.rewrites.split_batches import split_batches
from match.rewrites.split_dense import split_dense
from match.rewrites.split_transpositions import split_transpositions
from match.target.hardware import MatchTarget

if TYPE_CHECKING:
    from match.relay import tvm


FOR_MODULES: tuple[Pass[MatchTarget], ...] = (
    Pass("repeated_operands", with_repeated_operands),
    Pass("split_argmax", split_argmax),
    Pass("split_batches", split_batches),
    Pass("joined_moves", plain(join_moves), anew=("split_transpositions",)),
    Pass("split_transpositions", split_transpositions),
    Pass("concatenations", in_pairs),
)
"""What a network in integer form goes through, in this order, so that the modules of a target take more of it."""

IN_PARTS: tuple[Pass[MatchTarget], ...] = (
    Pass("split_dense", plain(split_dense)),
    Pass("concatenations", in_pairs),
)
"""What it goes through after that where main memory does not hold it: parts of large layers come one by one."""


@dataclass(frozen=True, eq=False)
class Way:
    """A way to cut a network: what it costs with everything in main memory, and what cuts the network like that.

    `joined` are the most bytes of constants of a chain or a group.
    """

    cost: float
    joined: int
    cut: Callable[[], Partitioned]


@dataclass(frozen=True, eq=False)
class Partitioned:
    """A network cut into functions, and the decisions about its operators, in execution order.

    `steps` are what one inference calls. `graph` is the network before the cut, and `found` its rows: layers and
    operators. `rows` are those that were decided on. `workloads` are the layers that modules were asked about, by
    symbol. `chosen` is what the decisions are from.
    """

    decisions: tuple[LayerDecision, ...]
    target: MatchTarget
    workloads: Mapping[str, Workload]
    graph: Graph
    found: tuple[Row, ...]
    rows: tuple[Row, ...]
    chosen: ChosenNetwork
    steps: Steps

    @cached_property
    def module(self) -> tvm.IRModule:
        """The network with a call of a global function for each planned layer, as TVM builds it."""
        from match.partitioning.relay_module import relay_module

        rows = [(row, decision.plan or decision.in_place) for row, decision in self.decided_rows]
        return relay_module(self.steps, [(row, plan) for row, plan in rows if isinstance(row, Match) and plan])

    def ways(self, options: Options, network: str, stopwatch: Stopwatch) -> Iterator[Partitioned]:
        """Itself and all other ways to cut the network that may be compared where main memory does not hold it."""
        in_parts = self.with_split_dense(options, network, stopwatch)
        for whole in (self, in_parts):
            if whole is not None:
                yield whole
                limit = whole.chosen.joined
                while limit is not None and (way := whole.less_joined(limit, stopwatch)):
                    yield way.cut()
                    limit = way.joined
                yield from (way.cut() for way in whole.not_joined(stopwatch))

    def less_joined(self, limit: int, stopwatch: Stopwatch) -> Way | None:
        """The same network with chains and groups of fewer bytes of constants each; None if none are left.

        Constants of one layer come into main memory together, so that large chains leave less to choose from.
        """
        with stopwatch.phase("dispatch"):
            chosen = self.chosen.less_joined(limit)
        return None if chosen.joined is None else self._way(chosen, stopwatch)

    def not_joined(self, stopwatch: Stopwatch) -> Iterator[Way]:
        """The same network without chains and groups, if it has some."""
        if self.chosen.joined is not None:
            with stopwatch.phase("dispatch"):
                chosen = self.chosen.less_joined(0)
            yield self._way(chosen, stopwatch)

    def _way(self, chosen: ChosenNetwork, stopwatch: Stopwatch) -> Way:
        cut = partial(_partitioned, self.graph, self.found, chosen, self.target, stopwatch)
        return Way(chosen.cost, chosen.joined or 0, cut)

    def with_split_dense(self, options: Options, network: str, stopwatch: Stopwatch) -> Partitioned | None:
        """The same network with large dense layers split, cut with these options; None if it has none."""
        with stopwatch.phase("pattern"):
            graph = through(IN_PARTS, self.graph, self.target, stopwatch.passed)
        if graph is self.graph:
            return None
        return _cut(graph, self.target, options, network, stopwatch)

    def decided(self, decisions: Sequence[LayerDecision]) -> Partitioned:
        """The same network with other decisions about its operators; the conversions are determined anew."""
        own = [decision for decision in decisions if decision.op != LAYOUT]
        decided = [(row, replace(decision, parts=_parts(row))) for row, decision in zip(self.rows, own, strict=True)]
        planned = [
            Planned(row.root, row.inputs, plan)
            for row, decision in decided
            if isinstance(row, Match) and (plan := decision.plan or decision.in_place) is not None
        ]
        on_core = [None if decision.plan or decision.in_place else row for row, decision in decided]
        layers = {number for number, (row, _) in enumerate(decided) if not isinstance(row, Core)}
        steps = network_steps(self.graph, planned, on_core, layers)
        steps = with_least_peak(with_names(steps, [decision for _, decision in decided]))
        places = steps.places
        decided.sort(key=lambda pair: max(places.get(value, -1) for value in tensors_of(pair[0])))
        complete = tuple(_with_conversions(decided, steps.conversions, self.target))
        rows = tuple(row for row, _ in decided)
        return replace(self, decisions=complete, rows=rows, steps=steps)

    @property
    def decided_rows(self) -> list[tuple[Row, LayerDecision]]:
        """Each row with its decision; conversions between layouts have no row."""
        own = [decision for decision in self.decisions if decision.op != LAYOUT]
        return list(zip(self.rows, own, strict=True))

    @property
    def program_bytes(self) -> int:
        """Estimated bytes of the program beside constants."""
        joined = sum(decision.plan.joined for decision in self.decisions if decision.plan)
        return self.target.program_bytes(len(self.decisions), joined)

    def deviations(self) -> dict[str, tuple[Deviation, ...]]:
        """By how much the operators of decisions differ from the model's, by the names of those that do."""
        found = {
            decision.name: tuple(value.deviation for value in row.covered if value.deviation is not None)
            for row, decision in self.decided_rows
        }
        return {name: deviations for name, deviations in found.items() if deviations}


def cut(network: Graph, target: MatchTarget, options: Options, name: str, stopwatch: Stopwatch) -> Partitioned:
    """Find the layers of a network in integer form, choose their modules, and cut the network.

    `name` begins the C names of the functions. Time is counted in the phases "pattern", "dispatch" (with "search"
    inside) and "partition".
    """
    with stopwatch.phase("pattern"):
        with stopwatch.phase("dispatch"):
            refused = refused_recurrent(network, target, options, stopwatch)
        graph = in_steps(network, refused) if refused else network
        if target.own_operators:  # whose patterns are TVM's
            from match.partitioning.own import with_own_operators

            graph = with_own_operators(graph, target.own_operators)
        graph = through(FOR_MODULES, graph, target, stopwatch.passed)
    return _cut(graph, target, options, name, stopwatch)


def _cut(graph: Graph, target: MatchTarget, options: Options, network: str, stopwatch: Stopwatch) -> Partitioned:
    """Find the layers of a graph, and choose their modules; see `cut`."""
    with stopwatch.phase("dispatch"):
        rest = unsigned_rest(graph, target, options, stopwatch)
        graph = rest.graph
        stopwatch.passed("unsigned_rest", partial(text, graph))
    with stopwatch.phase("pattern"):
        found = rows(graph, find_layers(graph))
    with stopwatch.phase("dispatch"):
        chosen = choose(graph, found, network_prefix(network), target, options, stopwatch, rest.refused)
    return _partitioned(graph, found, chosen, target, stopwatch)


def _partitioned(
    graph: Graph, found: tuple[Row, ...], chosen: ChosenNetwork, target: MatchTarget, stopwatch: Stopwatch
) -> Partitioned:
    """Cut a network as it was chosen."""
    with stopwatch.phase("partition"):
        by_symbol = {workload.symbol: workload for workload in chosen.workloads}
        nothing = Steps((), (), (), ())
        whole = Partitioned((), target, by_symbol, graph, found, chosen.rows, chosen, nothing)
        return whole.decided(chosen.decisions)


def _parts(row: Row) -> int:
    """The number of parts that the model's operator of a row was cut into."""
    named = named_in(row)
    return named.parts if named else 1


def _with_conversions(
    decided: Sequence[tuple[Row, LayerDecision]], conversions: Sequence[Conversion], target: MatchTarget
) -> Iterator[LayerDecision]:
    """The decisions, with a row on the control core for each conversion, before the decision that reads its result."""
    numbered = list(enumerate(conversions))
    for row, decision in decided:
        own = set(tensors_of(row))
        yield from (_conversion(number, c, target) for number, c in numbered if c.reader in own)
        yield decision
    known = {value for row, _ in decided for value in tensors_of(row)}
    yield from (_conversion(number, c, target) for number, c in numbered if c.reader not in known)


def _conversion(number: int, conversion: Conversion, target: MatchTarget) -> LayerDecision:
    name = f"{LAYOUT}_{number}"
    cost = conversion_cost(target, name, conversion.elements)
    return LayerDecision(name, LAYOUT, CPU, 0, conversion.elements, cost.cycles, (Offer(CPU, cost=cost),))
