"""A network's graph, read from the rows of integer Relay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from match.dispatch.choice import combined, outputs, rows
from match.ir.graph import Graph, Operator, Tensor
from match.ir.layer import BY_PIXEL
from match.partitioning.pattern import Match, Rejection
from match.partitioning.pattern.rows import CoreCalls, called, has_real_products, is_floating, is_reference, products
from match.partitioning.pattern.rows import combined as values_combined
from match.partitioning.sums import REQUANTIZE, Halves
from match.relay import relay, tvm
from match.relay.objects import operands
from match.relay.rewrite import dtype, first_source, shape

Row = Match | Rejection | CoreCalls


@dataclass(frozen=True, eq=False)
class GraphReading:
    """A graph, with the place of each tensor's expression, and of the operators of each row: of halves two."""

    graph: Graph
    tensors: dict[relay.Expr, int]
    operators: tuple[tuple[int, ...], ...]


def read_graph(main: relay.Function, listed: Sequence[Row | Halves]) -> GraphReading:
    """The graph of rows in execution order, types inferred.

    A value that is computed on the way inside a row, and that others read too, is computed by the control core for
    them. It is a tensor that no operator writes, as is a field of a tuple that the network makes.
    """
    return _Reader(main, listed).network


class _Reader:
    """Numbers tensors in the order in which they are first read."""

    def __init__(self, main: relay.Function, listed: Sequence[Row | Halves]) -> None:
        parts = [(row.sums, row.rest) if isinstance(row, Halves) else (row,) for row in listed]
        flat = [(index, row) for index, own in enumerate(parts) for row in own]
        self._writers = {expr: place for place, (_, row) in enumerate(flat) for expr in _written(row)}
        self._tensors: dict[relay.Expr, int] = {}
        self._dense: dict[int, None] = {}
        reads = [tuple(dict.fromkeys(self._number(expr) for expr in _read(row))) for _, row in flat]
        for expr in _fields(main.body):
            self._dense[self._number(expr)] = None
        writes: list[list[int]] = [[] for _ in flat]
        for expr, tensor in self._tensors.items():
            writer = self._writer(expr)
            if writer is not None:
                writes[writer].append(tensor)
        operators = tuple(
            _operator(index, row, listed[index], read, tuple(write))
            for (index, row), read, write in zip(flat, reads, writes, strict=True)
        )
        tensors = tuple(Tensor(shape(expr), dtype(expr)) for expr in self._tensors)
        places = iter(range(len(flat)))
        by_row = tuple(tuple(next(places) for _ in own) for own in parts)
        self.network = GraphReading(Graph(operators, tensors, tuple(sorted(self._dense))), self._tensors, by_row)

    def _number(self, expr: relay.Expr) -> int:
        if expr not in self._tensors:
            self._tensors[expr] = len(self._tensors)
            if self._writer(expr) is None:
                # What the control core computes it from, it reads as it reads everything.
                for operand in operands(expr):
                    for field in _fields(operand):
                        if not isinstance(field, relay.Constant):
                            self._dense[self._number(field)] = None
        return self._tensors[expr]

    def _writer(self, expr: relay.Expr) -> int | None:
        while isinstance(expr, relay.TupleGetItem):
            expr = expr.tuple_value
        return self._writers.get(expr)


def _written(row: Row) -> Sequence[relay.Expr]:
    return row if isinstance(row, tuple) else (row.root,)


def _read(row: Row) -> Iterator[relay.Expr]:
    """The tensors that a row reads; of constants those that a layer has for an input."""
    if isinstance(row, Match):
        yield from row.inputs
        return
    own = set(row if isinstance(row, tuple) else row.covered)
    for call in row if isinstance(row, tuple) else row.covered:
        for operand in operands(call):
            if operand not in own:
                yield from (field for field in _fields(operand) if not isinstance(field, relay.Constant))


def _fields(expr: relay.Expr) -> Iterator[relay.Expr]:
    """The tensors in an expression of any type; what operators give as a whole tuple is dense, and no tensor here."""
    if isinstance(expr, relay.Tuple):
        for field in expr.fields:
            yield from _fields(field)
    elif isinstance(expr.checked_type, tvm.ir.TensorType):
        yield expr


def _operator(index: int, row: Row, whole: Row | Halves, reads: tuple[int, ...], writes: tuple[int, ...]) -> Operator:
    if isinstance(row, Match):
        layer, op = row.layer, row.layer.what
        name, elements = f"{op}_{index}", outputs(layer)
        return Operator(name, op, op, layer.macs, combined(layer), elements, reads, writes, rows=rows(layer))
    if isinstance(row, Rejection):
        op, source = row.op.value, first_source(reversed(row.covered))
        own = row.macs, row.macs, row.outputs, reads, writes
        return Operator(f"{op}_{index}", op, op, *own, source=source, reference=row.reference)
    elements = _elements(row[-1].checked_type)
    if isinstance(whole, Halves):
        kind = whole.whole.layer.op.value
        source = first_source(reversed(whole.whole.covered))
        return Operator(f"{REQUANTIZE}_{index}", REQUANTIZE, kind, 0, 0, elements, reads, writes, source=source)
    op, layer = called(row), products(row)
    kind, macs = (op, 0) if layer is None else (layer[0].value, layer[1])
    taken = macs or values_combined(row)
    floating = is_floating(row) if layer is None else has_real_products(row)
    source, reference = first_source(reversed(row)), is_reference(row)
    count = elements // shape(row[-1])[-1] if op in BY_PIXEL else 1
    return Operator(f"{op}_{index}", op, kind, macs, taken, elements, reads, writes, floating, source, reference, count)


def _elements(kind: Any) -> int:
    if isinstance(kind, tvm.ir.TupleType):
        return sum(_elements(field) for field in kind.fields)
    elements = 1
    for extent in kind.shape:
        elements *= int(extent)
    return elements
