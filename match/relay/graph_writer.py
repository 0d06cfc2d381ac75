"""Writes a graph as a Relay function: operators that only Relay knows as they were read, others lowered."""

from __future__ import annotations

from collections.abc import Sequence

from match.graph.opaque import Constant, Opaque
from match.graph.value import Graph, Value
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.graph_reader import Form, GraphReading, RelayFunction, covered
from match.relay.lowering import lowered
from match.relay.objects import main_function
from match.relay.rewrite import rebuild


def write_graph(graph: Graph) -> GraphReading:
    """The function of a graph, types inferred, as `read_graph` reads it.

    Operators are not recognised again: what was written for them is their form.
    """
    writer = _Writer(graph)
    function = writer.function()
    typed = main_function(relay.transform.InferType()(tvm.IRModule.from_expr(function)))
    # Expressions are found again by their addresses.
    pairs = zip(post_order(function), post_order(typed), strict=True)
    place = {before.handle.value: after for before, after in pairs}
    place |= zip((x.handle.value for x in function.params), typed.params, strict=True)
    exprs = {value: place[expr.handle.value] for value, expr in writer.written.items()}
    forms: dict[relay.Expr, Form] = {}
    for value, expr in exprs.items():
        if value.operator is not None and not isinstance(value.operator, Constant):
            inputs = tuple(exprs[source] for source in value.inputs)
            forms[expr] = Form(value.operator, expr, inputs, covered(expr, inputs), value.exact, value.deviation)
    return GraphReading(typed, graph, {expr: value for value, expr in exprs.items()}, forms)


def core_function(graph: Graph) -> relay.Function:
    """The function of a graph, types not inferred."""
    return _Writer(graph).function()


class _Writer:
    """Writes values in order; `written` are their expressions."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._parameters = [_parameter(number, value) for number, value in enumerate(graph.inputs)]
        self.written: dict[Value, relay.Expr] = dict(zip(graph.inputs, self._parameters, strict=True))
        self._rebuilt: dict[tuple[int, ...], dict[relay.Expr, relay.Expr]] = {}

    def function(self) -> relay.Function:
        for value in self._graph.values:
            if value not in self.written:
                self.written[value] = self._expression(value)
        outputs = [self.written[value] for value in self._graph.outputs]
        return relay.Function(self._parameters, relay.Tuple(outputs) if len(outputs) > 1 else outputs[0])

    def _expression(self, value: Value) -> relay.Expr:
        operator = value.operator
        assert operator is not None, "inputs are written already"
        if isinstance(operator, Constant):
            return relay.const(operator.array, operator.array.dtype.name)
        inputs = [self.written[source] for source in value.inputs]
        tensors = [source.tensor for source in value.inputs]
        if isinstance(operator, Opaque):
            assert isinstance(operator.function, RelayFunction), "what has no class was read from Relay"
            return _named(self._substituted(operator.function, inputs), inputs, value)
        return _named(lowered(operator, inputs, tensors, exact=value.exact), inputs, value)

    def _substituted(self, function: RelayFunction, inputs: list[relay.Expr]) -> relay.Expr:
        """An expression as it was read, on other inputs; what several expressions share is written once."""
        pairs = dict(zip(function.inputs, inputs, strict=True))
        if all(old.handle.value == now.handle.value for old, now in pairs.items()):
            return function.expr
        key = tuple(address for pair in pairs.items() for address in (pair[0].handle.value, pair[1].handle.value))
        known = self._rebuilt.setdefault(key, dict(pairs))

        def new(expr: relay.Expr) -> relay.Expr:
            if expr not in known:
                known[expr] = rebuild(expr, new)
            return known[expr]

        return new(function.expr)


def _parameter(number: int, value: Value) -> relay.Var:
    return relay.var(value.source or f"x{number}", shape=value.shape, dtype=value.dtype)


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
