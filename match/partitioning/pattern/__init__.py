"""Finds the layers of a network in its graph.

A layer is one operator of the graph, or a concatenation with the tables in front of it. An operator whose Relay shares
a value inside it with others, or that cannot be described as a `Layer`, is returned with the reason, for the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from match.graph.elements import Lookup, byte_table
from match.graph.moves import IDENTITY, Concatenate
from match.graph.operator import Described, Known, Refused
from match.graph.ranges import ranges
from match.graph.sums import Convolution
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.partitioning.pattern.own import occurrences
from match.partitioning.pattern.rows import CoreCalls, is_reference
from match.partitioning.pattern.types import Match, Rejection
from match.relay import relay, tvm
from match.relay.graph import post_order, users
from match.relay.graph_reader import Form, GraphReading, covered, read_graph
from match.relay.objects import main_function
from match.relay.readers import read_requantized, read_sums
from match.relay.rewrite import is_call, shape
from match.target.own import OwnOperator

__all__ = ["Match", "Rejection", "describe", "find", "find_layers", "unrequantized", "with_own_operators"]

_SHARED = "another operator needs one of its intermediate values"


def find(module: tvm.IRModule, own: Iterable[OwnOperator] = ()) -> tuple[Match | Rejection, ...]:
    """All layers in "main" of a typed module, see `find_layers`.

    Raises:
        TargetError: an operator of a module's own cannot be read.
    """
    return find_layers(with_own_operators(read_graph(main_function(module)), own))


def with_own_operators(reading: GraphReading, own: Iterable[OwnOperator]) -> GraphReading:
    """A graph with the operators that modules define; they come before others.

    Raises:
        TargetError: an operator of a module's own cannot be read.
    """
    main = reading.main
    used_by = users(main)
    brought = {
        root: form for root, form in occurrences(main, own).items() if not _shares((root,), form.covered, used_by)
    }
    return read_graph(main, {**reading.forms, **brought}) if brought else reading


def find_layers(reading: GraphReading) -> tuple[Match | Rejection, ...]:
    """All layers of a graph, in the order of computation, named by their operators.

    No two layers cover the same call, except for padding that convolutions share.
    """
    return _Layers(reading).found


class _Layers:
    """The layers of a graph, from the last to the first: a concatenation takes the tables in front of it along."""

    def __init__(self, reading: GraphReading) -> None:
        self._reading, self._used_by = reading, users(reading.main)
        self._ranges = ranges(reading.graph.values)
        self._taken: set[relay.Expr] = set()
        found: list[Match | Rejection] = []
        for expr in reversed(post_order(reading.main)):
            form = reading.forms.get(expr)
            layer = self._layer(form) if form is not None and expr not in self._taken else None
            if layer is not None:
                self._taken.update(layer.covered)
                found.append(layer)
        self.found = tuple(reversed(found))

    def _layer(self, form: Form) -> Match | Rejection | None:
        if isinstance(form.operator, Concatenate):
            layer = self._concatenation(form, form.operator)
            if layer is not None:
                return layer
        result = Tensor(shape(form.root), str(form.root.checked_type.dtype))
        described = form.operator.layer(result, [self._known(x) for x in form.inputs])
        if described is None:
            return None
        if isinstance(described, Refused):
            return _refused(form, described)
        match = _match(form, described)
        if _shares((form.root,), form.covered, self._used_by):
            layer = match.layer
            outputs = layer.output_channels * layer.oy * layer.ox
            return Rejection(form.root, form.covered, layer.op, layer.macs, outputs, _SHARED, match.reference)
        return match

    def _concatenation(self, form: Form, operator: Concatenate) -> Match | None:
        """A concatenation with tables of its inputs, if there are some that nothing else reads."""
        lookups = [self._table(x) for x in form.inputs]
        if not any(lookups) or len(lookups) != 2:
            return None
        inputs = tuple(own.inputs[0] if own else x for own, x in zip(lookups, form.inputs, strict=True))
        inside = covered(form.root, inputs)
        if _shares((form.root,), inside, self._used_by):
            return None
        sources = [self._known(x) for x in inputs]
        tables = [
            byte_table(own.operator, x.dtype) if own and isinstance(own.operator, Lookup) else IDENTITY
            for own, x in zip(lookups, sources, strict=True)
        ]
        result = Tensor(shape(form.root), str(form.root.checked_type.dtype))
        described = operator.through_tables(result, [self._known(x) for x in form.inputs], tables)
        if described is None:
            return None
        layer = replace(described.layer, input_dtype=sources[0].dtype)
        whole = replace(form, inputs=inputs, covered=inside)
        return _match(whole, replace(described, layer=layer))

    def _table(self, x: relay.Expr) -> Form | None:
        form = self._reading.forms.get(x)
        return form if form is not None and isinstance(form.operator, Lookup) else None

    def _known(self, x: relay.Expr) -> Known:
        value = self._reading.values[x]
        return Known(value.tensor, self._ranges.get(value))


def describe(expr: relay.Expr, form: Form) -> Match | None:
    """The layer of a typed expression's form, of whose inputs' values nothing is known; None if it is none."""
    known = [Known(Tensor(shape(x), str(x.checked_type.dtype))) for x in form.inputs]
    described = form.operator.layer(Tensor(shape(expr), str(expr.checked_type.dtype)), known)
    return _match(form, described) if isinstance(described, Described) else None


def unrequantized(match: Match) -> tuple[Match, CoreCalls] | None:
    """A convolution or dense layer up to its int32 sums, and the requantization; None for other layers."""
    requantized = read_requantized(match.root)
    read = read_sums(requantized[0]) if requantized else None
    if requantized is None or read is None:
        return None
    root, operator, inputs = requantized[0], read.operator, read.operands
    if isinstance(operator, Convolution) and inputs != match.inputs:  # which reads padding from an operator of its own
        operator, inputs = replace(operator, padding=Padding()), match.inputs
    form = Form(operator, root, inputs, covered(root, inputs))
    sums = describe(root, form)
    if sums is None:
        return None
    rest = [call for call in reversed(match.covered) if isinstance(call, relay.Call) and call not in sums.covered]
    return replace(sums, layer=replace(sums.layer, input_range=match.layer.input_range)), tuple(rest)


def _match(form: Form, described: Described) -> Match:
    inputs = tuple(form.inputs[number] for number in described.order)
    return Match(
        form.root,
        inputs,
        form.covered,
        described.layer,
        described.constants,
        described.accumulator,
        reference=form.exact,
        order=described.order,
    )


def _refused(form: Form, refused: Refused) -> Rejection:
    calls = tuple(expr for expr in form.covered if isinstance(expr, relay.Call))
    outputs = int(np.prod(shape(form.root)))
    reference = form.exact and is_reference(calls)
    return Rejection(form.root, form.covered, refused.op, refused.macs, outputs, refused.reason, reference)


def _shares(
    roots: tuple[relay.Expr, ...],
    inside: Sequence[relay.Expr],
    used_by: Mapping[relay.Expr, Sequence[relay.Expr]],
) -> bool:
    """Whether another operator reads a value inside an operator; a padded input may be computed twice."""
    own = set(inside)
    return any(
        user not in own
        for expr in inside
        if expr not in roots and not is_call(expr, "nn.pad")
        for user in used_by[expr]
    )
