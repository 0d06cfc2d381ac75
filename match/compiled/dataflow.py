"""Which operators of a compiled network read what: the arrows of its graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from match.partitioning.graph import Row
from match.partitioning.partitioner import LAYOUT, Partitioned
from match.relay import relay
from match.relay.objects import operands
from match.report.reads import Reads


def dataflow(network: Partitioned) -> tuple[Reads, ...]:
    """What each of the network's decisions reads."""
    places = [place for place, decision in enumerate(network.decisions) if decision.op != LAYOUT]
    written = {expr: place for place, row in zip(places, network.rows, strict=True) for expr in _expressions(row)}
    parameters = {parameter: place for place, parameter in enumerate(network.main.params)}
    results = [_sources([expr], set(), written, parameters)[0] for expr in _fields(network.main.body)]
    found = [Reads()] * len(network.decisions)
    for place, row in zip(places, network.rows, strict=True):
        own = set(_expressions(row))
        outside = [operand for expr in _expressions(row) for operand in operands(expr) if operand not in own]
        operators, inputs = _sources(outside, own, written, parameters)
        outputs = tuple(number for number, writers in enumerate(results) if place in writers)
        found[place] = Reads(operators, inputs, outputs)
    for begin, end in _conversions([decision.op for decision in network.decisions]):
        _insert(found, begin, end)
    return tuple(found)


def _conversions(ops: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where conversions of layouts begin that stand one after the other, and where they end."""
    begin = 0
    for place, op in enumerate((*ops, "")):
        if op != LAYOUT:
            if begin < place:
                yield begin, place
            begin = place + 1


def _insert(found: list[Reads], begin: int, end: int) -> None:
    """Put conversions, from `begin` to before `end`, between the operator at `end` and what it reads.

    If that is more than one tensor, it is not known which of them are converted: nothing is said of what conversions
    read. Those at the network's end are of its output.
    """
    conversions = range(begin, end)
    if end == len(found):
        writers = [place for place, reads in enumerate(found) if reads.outputs]
        if len(writers) == 1:
            found[begin] = Reads((writers[0],))
            found[begin + 1 :] = [Reads((place,)) for place in conversions[:-1]]
            found[-1] = Reads(found[-1].operators, (), found[writers[0]].outputs)
            found[writers[0]] = Reads(found[writers[0]].operators, found[writers[0]].inputs)
        return
    reader = found[end]
    if len(reader.operators) + len(reader.inputs) == 1:
        found[begin] = Reads(reader.operators, reader.inputs)
        found[begin + 1 : end] = [Reads((place,)) for place in conversions[:-1]]
        found[end] = Reads((end - 1,), (), reader.outputs)
    else:
        found[end] = Reads((*reader.operators, *conversions), reader.inputs, reader.outputs)


def _expressions(row: Row) -> Sequence[relay.Expr]:
    return row if isinstance(row, tuple) else row.covered


def _fields(body: relay.Expr) -> Sequence[relay.Expr]:
    return list(body.fields) if isinstance(body, relay.Tuple) else [body]


def _sources(
    exprs: Sequence[relay.Expr],
    own: set[relay.Expr],
    written: Mapping[relay.Expr, int],
    parameters: Mapping[relay.Expr, int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The operators and the network's inputs that expressions are computed from, by way of what no operator writes."""
    operators: dict[int, None] = {}
    inputs: dict[int, None] = {}
    for expr in _reached(exprs, own, written):
        if expr in written:
            operators[written[expr]] = None
        elif expr in parameters:
            inputs[parameters[expr]] = None
    return tuple(operators), tuple(inputs)


def _reached(
    exprs: Sequence[relay.Expr], own: set[relay.Expr], written: Mapping[relay.Expr, int]
) -> Iterator[relay.Expr]:
    """The expressions, and after what no operator writes what that is computed from, each once."""
    seen: set[relay.Expr] = set(own)
    pending = list(reversed(exprs))
    while pending:
        expr = pending.pop()
        if expr not in seen:
            seen.add(expr)
            yield expr
            if expr not in written:
                pending += reversed(operands(expr))
