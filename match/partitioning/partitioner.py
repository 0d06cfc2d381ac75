"""Cuts a network into functions for modules and a rest that TVM compiles for the control core.

Each layer that a module takes becomes a global function with ``Compiler="match"``, which holds the layer in integer
Relay and, as the attribute `PLAN_ATTRIBUTE`, everything that code generation needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.plan import CPU, InPlace, LayerDecision, LayerPlan, Offer
from match.dispatch.plan_codec import IN_PLACE_ATTRIBUTE, PLAN_ATTRIBUTE, encode
from match.dispatch.request import Workload
from match.graph.text import text
from match.graph.value import Graph
from match.ir.deviation import Deviation
from match.ir.names import network_prefix
from match.mapping.storage import Storage
from match.partitioning.choice import ChosenNetwork, choose
from match.partitioning.graph import Row
from match.partitioning.layouts import LAYOUT, Conversion, conversion_cost, from_layout, to_layout
from match.partitioning.pattern import Match, find_layers, with_own_operators
from match.partitioning.pattern.rows import rows
from match.partitioning.steps import Planned, Steps, in_order, network_steps, with_names
from match.partitioning.unrolled import refused_recurrent
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.graph_reader import GraphReading
from match.relay.graph_writer import write_graph
from match.relay.places import parts_of
from match.relay.rewrite import operator_name, rebuild, shape, source_name
from match.rewrites.concatenations import in_pairs
from match.rewrites.joined_moves import join_moves
from match.rewrites.split_argmax import split_argmax
from match.rewrites.split_dense import split_dense
from match.rewrites.split_transpositions import split_transpositions
from match.target.hardware import MatchTarget


@dataclass(frozen=True, eq=False)
class Way:
    """A way to cut a network: what it costs with everything in main memory, and what cuts the network like that."""

    cost: float
    cut: Callable[[], Partitioned]


@dataclass(frozen=True, eq=False)
class Partitioned:
    """A network cut into functions, and the decisions about its operators, in execution order.

    `steps` are what one inference calls. `reading` is the network before the cut, and `found` its rows: layers as
    recognised, and operators. `rows` are those that were decided on. `workloads` are the layers that modules were asked
    about, by symbol. `chosen` is what the decisions are from.
    """

    decisions: tuple[LayerDecision, ...]
    target: MatchTarget
    workloads: Mapping[str, Workload]
    reading: GraphReading
    found: tuple[Row, ...]
    rows: tuple[Row, ...]
    chosen: ChosenNetwork
    steps: Steps

    @cached_property
    def module(self) -> tvm.IRModule:
        """The network with a call of a global function for each planned layer, as TVM builds it."""
        matches = {
            plan.symbol: row
            for row, decision in self.decided_rows
            if isinstance(row, Match) and (plan := decision.plan or decision.in_place) is not None
        }
        return _module(self.main, self.steps, matches)

    @property
    def main(self) -> relay.Function:
        """The network before the cut, in integer Relay."""
        return self.reading.main

    def ways(self, options: Options, network: str, stopwatch: Stopwatch) -> Iterator[Partitioned]:
        """Itself and all other ways to cut the network that may be compared where main memory does not hold it."""
        in_parts = self.with_split_dense(options, network, stopwatch)
        for whole in (self, in_parts):
            if whole is not None:
                yield whole
                yield from (way.cut() for way in (*whole.less_joined(stopwatch), *whole.not_joined(stopwatch)))

    def less_joined(self, stopwatch: Stopwatch) -> Iterator[Way]:
        """The same network with smaller and smaller chains and groups, by their constants, as long as there are some.

        Constants of one layer come into main memory together, so that large chains leave less to choose from.
        """
        chosen = self.chosen
        while chosen.joined is not None:
            with stopwatch.phase("dispatch"):
                chosen = chosen.less_joined(chosen.joined)
            if chosen.joined is not None:
                yield self._way(chosen, stopwatch)

    def not_joined(self, stopwatch: Stopwatch) -> Iterator[Way]:
        """The same network without chains and groups, if it has some."""
        if self.chosen.joined is not None:
            with stopwatch.phase("dispatch"):
                chosen = self.chosen.less_joined(0)
            yield self._way(chosen, stopwatch)

    def _way(self, chosen: ChosenNetwork, stopwatch: Stopwatch) -> Way:
        return Way(chosen.cost, partial(_partitioned, self.reading, self.found, chosen, self.target, stopwatch))

    def with_split_dense(self, options: Options, network: str, stopwatch: Stopwatch) -> Partitioned | None:
        """The same network with large dense layers split, cut with these options; None if it has none."""
        with stopwatch.phase("pattern"):
            graph = split_dense(self.reading.graph)
            if graph is not None:
                stopwatch.passed("split_dense", partial(text, graph))
        if graph is None:
            return None
        return _cut(graph, self.reading, self.target, options, network, stopwatch)

    def decided(self, decisions: Sequence[LayerDecision]) -> Partitioned:
        """The same network with other decisions about its operators; the conversions are determined anew."""
        own = [decision for decision in decisions if decision.op != LAYOUT]
        decided = [(row, replace(decision, parts=_parts(row))) for row, decision in zip(self.rows, own, strict=True)]
        planned = [
            Planned(row.root, row.inputs, plan)
            for row, decision in decided
            if isinstance(row, Match) and (plan := decision.plan or decision.in_place) is not None
        ]
        on_core = [() if decision.plan or decision.in_place else _expressions(row) for row, decision in decided]
        layers = {number for number, (row, _) in enumerate(decided) if not isinstance(row, tuple)}
        steps = network_steps(self.main, planned, on_core, layers)
        steps = with_names(steps, [decision for _, decision in decided])
        decided.sort(key=lambda pair: max(steps.places.get(expr, -1) for expr in _expressions(pair[0])))
        complete = tuple(_with_conversions(decided, steps.conversions, self.target))
        rows = tuple(row for row, _ in decided)
        return replace(self, decisions=complete, rows=rows, steps=steps)

    @property
    def decided_rows(self) -> list[tuple[Row, LayerDecision]]:
        """Each row with its decision; conversions between layouts have no row."""
        own = [decision for decision in self.decisions if decision.op != LAYOUT]
        return list(zip(self.rows, own, strict=True))

    def deviations(self) -> dict[str, tuple[Deviation, ...]]:
        """By how much the operators of decisions differ from the model's, by the names of those that do."""
        values = self.reading.values
        found = {
            decision.name: tuple(
                value.deviation
                for expr in _expressions(row)
                if (value := values.get(expr)) is not None and value.deviation is not None
            )
            for row, decision in self.decided_rows
        }
        return {name: deviations for name, deviations in found.items() if deviations}


def cut(network: GraphReading, target: MatchTarget, options: Options, name: str, stopwatch: Stopwatch) -> Partitioned:
    """Find the layers of a network in integer form, choose their modules, and cut the network.

    `name` begins the C names of the functions. Time is counted in the phases "pattern", "dispatch" (with "search"
    inside) and "partition".
    """
    with stopwatch.phase("pattern"):
        graph, reading = split_argmax(network.graph, target), network
        stopwatch.passed("split_argmax", partial(text, graph))
    with stopwatch.phase("dispatch"):
        refused = refused_recurrent(graph, target, options, stopwatch)
    with stopwatch.phase("pattern"):
        if refused or target.own_operators:
            reading = with_own_operators(write_graph(graph, reading, refused), target.own_operators)
            graph = reading.graph
        graph = join_moves(graph)
        stopwatch.passed("joined_moves", partial(text, graph))
        graph = split_transpositions(graph, target)
        stopwatch.passed("split_transpositions", partial(text, graph))
    return _cut(graph, reading, target, options, name, stopwatch)


def _cut(
    graph: Graph, reading: GraphReading, target: MatchTarget, options: Options, network: str, stopwatch: Stopwatch
) -> Partitioned:
    """Find the layers of a graph that was made of the one that was read, and choose their modules; see `cut`."""
    with stopwatch.phase("pattern"):
        graph = in_pairs(graph, target)
        stopwatch.passed("concatenations", partial(text, graph))
        written = write_graph(graph, reading)
        found = tuple(rows(written.main, find_layers(written)))
    return _chosen(written, found, target, options, network, stopwatch)


def _chosen(
    reading: GraphReading,
    found: tuple[Row, ...],
    target: MatchTarget,
    options: Options,
    network: str,
    stopwatch: Stopwatch,
) -> Partitioned:
    """Choose the modules for the operators of a network, and cut it."""
    with stopwatch.phase("dispatch"):
        chosen = choose(reading.main, found, network_prefix(network), target, options, stopwatch)
    return _partitioned(reading, found, chosen, target, stopwatch)


def _partitioned(
    reading: GraphReading, found: tuple[Row, ...], chosen: ChosenNetwork, target: MatchTarget, stopwatch: Stopwatch
) -> Partitioned:
    """Cut a network as it was chosen."""
    with stopwatch.phase("partition"):
        by_symbol = {workload.symbol: workload for workload in chosen.workloads}
        nothing = Steps((), (), (), {}, ())
        whole = Partitioned((), target, by_symbol, reading, found, chosen.rows, chosen, nothing)
        return whole.decided(chosen.decisions)


def _expressions(row: Row) -> Sequence[relay.Expr]:
    """What a row computes."""
    return row if isinstance(row, tuple) else row.covered


def _parts(row: Row) -> int:
    """The number of parts that the model's operator of a row was cut into: that of its last expression with a name."""
    return next((parts_of(expr) for expr in reversed(_expressions(row)) if source_name(expr)), 1)


def _with_conversions(
    decided: Sequence[tuple[Row, LayerDecision]], conversions: Sequence[Conversion], target: MatchTarget
) -> Iterator[LayerDecision]:
    """The decisions, with a row on the control core for each conversion, before the decision that reads its result."""
    numbered = list(enumerate(conversions))
    for row, decision in decided:
        own = set(_expressions(row))
        yield from (_conversion(number, c, target) for number, c in numbered if c.reader in own)
        yield decision
    known = {expr for row, _ in decided for expr in _expressions(row)}
    yield from (_conversion(number, c, target) for number, c in numbered if c.reader not in known)


def _conversion(number: int, conversion: Conversion, target: MatchTarget) -> LayerDecision:
    name = f"{LAYOUT}_{number}"
    cost = conversion_cost(target, name, conversion.elements)
    return LayerDecision(name, LAYOUT, CPU, 0, conversion.elements, cost.cycles, (Offer(CPU, cost=cost),))


def _module(main: relay.Function, steps: Steps, matches: Mapping[str, Match]) -> tvm.IRModule:
    """The network with a call of a global function for each planned layer; these are by symbol."""
    functions: dict[relay.GlobalVar, relay.Function] = {}
    values: dict[relay.Expr, relay.Expr] = {}
    for step in steps.steps:
        if step.plan is not None:
            variable = relay.GlobalVar(step.plan.symbol)
            functions[variable] = _function(matches[step.plan.symbol], step.plan, step.layouts[:-1], step.layouts[-1])
            values[step.writes[0]] = relay.Call(variable, [values.get(x, x) for x in step.reads])
        else:
            body = relay.bind(step.body, {x: values[x] for x in step.reads if x in values})
            fields = [body] if len(step.writes) == 1 else body.fields
            values.update(zip(step.writes, fields, strict=True))
    outputs = [values.get(x, x) for x in steps.outputs]
    body = relay.Tuple(outputs) if isinstance(main.body.checked_type, tvm.ir.TupleType) else outputs[0]
    functions[relay.GlobalVar("main")] = relay.Function(main.params, body, attrs=main.attrs)
    module = relay.transform.InferType()(tvm.IRModule(functions))
    if any(operator_name(expr).startswith("qnn.") for expr in post_order(module["main"])):
        module = relay.qnn.transform.CanonicalizeOps()(module)
    return module


def _function(match: Match, plan: LayerPlan | InPlace, inputs: Sequence[Storage], output: Storage) -> relay.Function:
    """The layer as a function of its inputs, with all tensors in their layouts in main memory."""
    variables: list[relay.Var] = []
    replaced: dict[relay.Expr, relay.Expr] = {}
    for number, (x, layout) in enumerate(zip(match.inputs, inputs, strict=True)):
        kind = x.checked_type
        room = kind.shape if layout.in_order else layout.room
        variables.append(relay.var(f"input_{number}", shape=room, dtype=kind.dtype))
        replaced[x] = variables[-1] if layout.in_order else from_layout(variables[-1], layout, shape(x))
    covered, _ = in_order([x for x in (*match.covered, match.root) if x not in replaced])
    for expr in covered:
        if isinstance(expr, relay.Tuple):
            replaced[expr] = relay.Tuple([replaced.get(field, field) for field in expr.fields])
        else:
            assert isinstance(expr, relay.Call)
            replaced[expr] = rebuild(expr, lambda x: replaced.get(x, x))
    attributes: dict[str, Any] = {
        "Compiler": "match",
        "global_symbol": plan.symbol,
        "Primitive": tvm.tir.IntImm("int32", 1),
        "Inline": tvm.tir.IntImm("int32", 1),
        PLAN_ATTRIBUTE if isinstance(plan, LayerPlan) else IN_PLACE_ATTRIBUTE: encode(plan),
    }
    result, kind = replaced.get(match.root, match.root), match.root.checked_type
    if not output.in_order:
        result, kind = to_layout(result, output), relay.TensorType(output.room, kind.dtype)
    function = relay.Function(variables, result, kind)  # typed, so that calls of it have types at once
    for key, value in attributes.items():
        function = function.with_attr(key, value)
    return function
