"""Writes a graph as a Relay function: what was read from Relay as it was there, on its inputs of now.

What was not read from Relay is lowered (`match.relay.lowering`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from match.graph.opaque import Constant
from match.graph.recurrent import Gru, Lstm
from match.graph.value import Graph, Value
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.graph_reader import Form, GraphReading, covered, first_source, read_graph
from match.relay.lowering import lowered
from match.relay.objects import main_function
from match.relay.recurrent import in_steps
from match.relay.rewrite import rebuild


def write_graph(graph: Graph, reading: GraphReading | None = None, in_steps: Collection[Value] = ()) -> GraphReading:
    """The function of a graph, types inferred, as `read_graph` reads it. `reading`: of the graph that it was made of.

    Operators are not recognised again: what was written for them is their form. The recurrent layers `in_steps` are
    written step by step, and what their steps consist of is read.
    """
    written = _Writer(graph, reading, in_steps).written()
    return read_graph(written.main, written.forms) if in_steps else written


class _Writer:
    """Writes values in order. Expressions are found again by their addresses once their types are inferred."""

    def __init__(self, graph: Graph, reading: GraphReading | None, in_steps: Collection[Value]) -> None:
        self._graph, self._in_steps = graph, in_steps
        self._before = None if reading is None else reading.main
        self._parameters = [_parameter(value) for value in graph.inputs] if reading is None else reading.main.params
        self._in_tuple = len(graph.outputs) > 1 if reading is None else isinstance(reading.main.body, relay.Tuple)
        forms = () if reading is None else reading.forms.values()
        read = () if reading is None else reading.values.items()
        self._origins = {form.operator: form for form in forms}
        self._written: dict[Value, relay.Expr] = dict(zip(graph.inputs, self._parameters, strict=True))
        self._constants = {value: expr for expr, value in read if isinstance(expr, relay.Constant)}
        self._rebuilt: dict[tuple[int, ...], dict[relay.Expr, relay.Expr]] = {}

    def written(self) -> GraphReading:
        values = self._graph.values
        for value in values:
            if value not in self._written:
                self._written[value] = self._expression(value)
        outputs = [self._written[value] for value in self._graph.outputs]
        body = relay.Tuple(outputs) if self._in_tuple else outputs[0]
        function = relay.Function(self._parameters, body)
        module = relay.transform.InferType()(tvm.IRModule.from_expr(function))
        typed = main_function(module, self._before)
        pairs = zip(post_order(function), post_order(typed), strict=True)
        place = {before.handle.value: after for before, after in pairs}
        place |= zip((x.handle.value for x in self._parameters), typed.params, strict=True)
        exprs = {value: place[self._written[value].handle.value] for value in values}
        forms: dict[relay.Expr, Form] = {}
        for value, expr in exprs.items():
            operator = value.operator
            if operator is None or isinstance(operator, Constant) or value in self._in_steps:
                continue
            inputs = tuple(exprs[source] for source in value.inputs)
            inside = covered(expr, inputs)
            forms[expr] = Form(operator, expr, inputs, inside, value.exact, value.deviation)
        return GraphReading(typed, self._graph, {expr: value for value, expr in exprs.items()}, forms)

    def _expression(self, value: Value) -> relay.Expr:
        operator = value.operator
        assert operator is not None, "inputs are written already"
        if isinstance(operator, Constant):
            return self._constants.get(value) or relay.const(operator.array)
        inputs = [self._written[source] for source in value.inputs]
        tensors = [source.tensor for source in value.inputs]
        if value in self._in_steps:
            assert isinstance(operator, (Lstm, Gru)), "other operators have no steps"
            return _named(in_steps(operator, inputs[0], tensors[0]), inputs, value)
        origin = self._origins.get(operator)
        if origin is None or not _has_one_for_each(origin.inputs, inputs):
            return _named(lowered(operator, inputs, tensors, exact=value.exact), inputs, value)
        expr = self._substituted(origin.root, origin.inputs, inputs)
        return expr if first_source(origin) else _named(expr, inputs, value)

    def _substituted(self, root: relay.Expr, before: Sequence[relay.Expr], inputs: list[relay.Expr]) -> relay.Expr:
        """An expression as it was read, on other inputs; what several expressions share is written once."""
        pairs = dict(zip(before, inputs, strict=True))
        if all(old.handle.value == now.handle.value for old, now in pairs.items()):
            return root
        key = tuple(address for pair in pairs.items() for address in (pair[0].handle.value, pair[1].handle.value))
        known = self._rebuilt.setdefault(key, dict(pairs))

        def new(expr: relay.Expr) -> relay.Expr:
            if expr not in known:
                known[expr] = rebuild(expr, new)
            return known[expr]

        return new(root)


def _parameter(value: Value) -> relay.Var:
    return relay.var(value.source, shape=value.shape, dtype=value.dtype)


def _has_one_for_each(before: Sequence[relay.Expr], after: Sequence[relay.Expr]) -> bool:
    """Whether expressions that were the same are the same still."""
    pairs = {(old.handle.value, now.handle.value) for old, now in zip(before, after, strict=True)}
    return len(pairs) == len({old for old, _ in pairs})


def _named(expr: relay.Expr, inputs: Sequence[relay.Expr], value: Value) -> relay.Expr:
    """What was written for a value, at its place in the model; of parts of an operator all that it is computed by."""
    if not value.source:
        return expr
    if value.parts == 1:
        place = relay.Span(relay.SourceName(value.source), 0, 0, 0, 0)
        named = isinstance(expr, relay.Call) and not expr.span
        return relay.Call(expr.op, expr.args, expr.attrs, expr.type_args, place) if named else expr
    place = relay.Span(relay.SourceName(value.source), 0, value.parts, 0, 0)
    known: dict[relay.Expr, relay.Expr] = {x: x for x in inputs}

    def new(inside: relay.Expr) -> relay.Expr:
        if inside not in known:
            made = rebuild(inside, new)
            call = isinstance(made, relay.Call)
            known[inside] = relay.Call(made.op, made.args, made.attrs, made.type_args, place) if call else made
        return known[inside]

    return new(expr)
