"""Writes a graph as a Relay function: what was read from Relay as it was there, on its inputs of now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match.graph.moves import FILL, Concatenate, Move
from match.graph.opaque import Constant
from match.graph.operator import Operator
from match.graph.sums import SUMS, Dense
from match.graph.value import Graph, Value
from match.relay import integer_form, relay, tvm
from match.relay.graph import post_order
from match.relay.graph_reader import Form, GraphReading, covered, first_source
from match.relay.objects import main_function
from match.relay.rewrite import rebuild


def write_graph(graph: Graph, reading: GraphReading) -> GraphReading:
    """A graph that was made of the one that was read: its function, types inferred, as `read_graph` would read it.

    Operators are not recognised again: what was written for them is their form.
    """
    return _Writer(graph, reading).written()


class _Writer:
    """Writes values in order. Expressions are found again by their addresses once their types are inferred."""

    def __init__(self, graph: Graph, reading: GraphReading) -> None:
        self._graph, self._reading = graph, reading
        self._origins = {form.operator: form for form in reading.forms.values()}
        self._written: dict[Value, relay.Expr] = dict(zip(reading.graph.inputs, reading.main.params, strict=True))
        self._constants = {value: expr for expr, value in reading.values.items() if isinstance(expr, relay.Constant)}
        self._rebuilt: dict[tuple[int, ...], dict[relay.Expr, relay.Expr]] = {}
        self._read: dict[relay.Expr, relay.Expr] = {}  # what was written again, as it was read

    def written(self) -> GraphReading:
        values = self._graph.values
        for value in values:
            if value not in self._written:
                self._written[value] = self._expression(value)
        outputs = [self._written[value] for value in self._graph.outputs]
        main = self._reading.main
        body = relay.Tuple(outputs) if isinstance(main.body, relay.Tuple) else outputs[0]
        function = relay.Function(main.params, body)
        module = relay.transform.InferType()(tvm.IRModule.from_expr(function))
        typed = main_function(module, main)
        pairs = list(zip(post_order(function), post_order(typed), strict=True))
        place = {before.handle.value: after for before, after in pairs}
        place |= zip((x.handle.value for x in main.params), typed.params, strict=True)
        exprs = {value: place[self._written[value].handle.value] for value in values}
        forms: dict[relay.Expr, Form] = {}
        for value, expr in exprs.items():
            if value.operator is not None and not isinstance(value.operator, Constant):
                inputs = tuple(exprs[source] for source in value.inputs)
                forms[expr] = Form(value.operator, expr, inputs, covered(expr, inputs), value.exact)
        origins = {after: self._read.get(before, before) for before, after in pairs}
        return GraphReading(typed, self._graph, {expr: value for value, expr in exprs.items()}, forms, origins)

    def _expression(self, value: Value) -> relay.Expr:
        operator = value.operator
        assert operator is not None, "inputs are written already"
        if isinstance(operator, Constant):
            return self._constants.get(value) or relay.const(operator.array)
        inputs = [self._written[source] for source in value.inputs]
        origin = self._origins.get(operator)
        if origin is None:
            return _named(_lowered(operator, value, inputs), inputs, value)
        same = all(one.handle.value == other.handle.value for one, other in zip(inputs, origin.inputs, strict=True))
        expr = origin.root if same else self._substituted(origin, inputs)
        named = expr if first_source(origin) else _named(expr, inputs, value)
        self._read[named] = origin.root
        return named

    def _substituted(self, origin: Form, inputs: list[relay.Expr]) -> relay.Expr:
        """A form as it was read, on other inputs; what several forms share is written once."""
        pairs = dict(zip(origin.inputs, inputs, strict=True))
        key = tuple(address for pair in pairs.items() for address in (pair[0].handle.value, pair[1].handle.value))
        known = self._rebuilt.setdefault(key, dict(pairs))

        def new(expr: relay.Expr) -> relay.Expr:
            if expr not in known:
                known[expr] = rebuild(expr, new)
                self._read[known[expr]] = expr
            return known[expr]

        return new(origin.root)


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


def _lowered(operator: Operator, value: Value, inputs: list[relay.Expr]) -> relay.Expr:
    """An operator that a rewrite made: one of those that some rewrite makes."""
    match operator:
        case Move():
            return _moved(operator, inputs[0])
        case Concatenate():
            return relay.concatenate(inputs, operator.axis)
        case Dense():
            sums = integer_form.product(inputs[0], np.ascontiguousarray(operator.weights))
            if operator.dtype == SUMS:
                return sums
            marked = sums if value.exact else integer_form.real_sums(sums)
            return integer_form.requantize(marked, operator.requantization, operator.dtype)
        case _:
            raise AssertionError(f"no rewrite of the graph makes {type(operator).__name__}")


def _moved(move: Move, x: relay.Expr) -> relay.Expr:
    """A reshape, a transposition, or indices of one axis after the other."""
    if move.keeps_order:
        return relay.reshape(x, move.shape)
    if all(columns is None for columns in move.columns):
        return relay.transpose(x, move.axes)
    for axis, columns in enumerate(move.columns):
        if columns is not None:
            assert columns.min(initial=0) > FILL, "no rewrite pads"
            x = relay.take(x, relay.const(columns), axis=axis)
    return x
