"""A network's rows as operators and the tensors between them, which is what the choice is made for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from match.dispatch.choice import combined, rows
from match.graph import value as typed
from match.graph.value import Value
from match.ir.graph import Graph, Operator
from match.ir.layer import BY_PIXEL
from match.partitioning.pattern import Core, Match, Rejection, Row
from match.partitioning.pattern.rows import called, is_floating, is_reference, products
from match.partitioning.pattern.rows import combined as values_combined
from match.partitioning.pattern.types import name_of, tensors_of
from match.partitioning.sums import REQUANTIZE, Halves


@dataclass(frozen=True, eq=False)
class ListedGraph:
    """A graph of rows, with the place of each tensor, and of the operators of each row: of halves two."""

    graph: Graph
    tensors: dict[Value, int]
    operators: tuple[tuple[int, ...], ...]


def listed_graph(network: typed.Graph, listed: Sequence[Row | Halves]) -> ListedGraph:
    """The graph of a network's rows in execution order."""
    return _Reader(network, listed).network


class _Reader:
    """Numbers tensors in the order in which they are first read."""

    def __init__(self, network: typed.Graph, listed: Sequence[Row | Halves]) -> None:
        parts = [(row.sums, row.rest) if isinstance(row, Halves) else (row,) for row in listed]
        flat = [(index, row) for index, own in enumerate(parts) for row in own]
        self._tensors: dict[Value, int] = {}
        reads = [tuple(dict.fromkeys(self._number(x) for x in row.inputs)) for _, row in flat]
        handed_out = {self._number(output): None for output in network.outputs}
        writes: list[list[int]] = [[] for _ in flat]
        writers = {value: place for place, (_, row) in enumerate(flat) for value in _written(row)}
        for value, tensor in self._tensors.items():
            if value in writers:
                writes[writers[value]].append(tensor)
        operators = tuple(
            _operator(index, row, listed[index], read, tuple(write))
            for (index, row), read, write in zip(flat, reads, writes, strict=True)
        )
        tensors = tuple(value.tensor for value in self._tensors)
        places = iter(range(len(flat)))
        by_row = tuple(tuple(next(places) for _ in own) for own in parts)
        self.network = ListedGraph(Graph(operators, tensors, tuple(sorted(handed_out))), self._tensors, by_row)

    def _number(self, value: Value) -> int:
        return self._tensors.setdefault(value, len(self._tensors))


def _written(row: Row) -> Iterator[Value]:
    """The tensors that others may read; a layer hands on one."""
    yield from tensors_of(row) if isinstance(row, Core) else (row.root,)


def _operator(index: int, row: Row, whole: Row | Halves, reads: tuple[int, ...], writes: tuple[int, ...]) -> Operator:
    source = name_of(row)
    if isinstance(row, Match):
        layer, op = row.layer, row.layer.what
        name, elements = f"{op}_{index}", layer.output_elements
        return Operator(name, op, op, layer.macs, combined(layer), elements, reads, writes, rows=rows(layer))
    elements = row.root.tensor.elements
    if isinstance(row, Rejection):
        op, reference = row.op.value, is_reference(row.covered)
        own = row.macs, row.macs, elements, reads, writes
        return Operator(f"{op}_{index}", op, op, *own, source=source, reference=reference)
    if isinstance(whole, Halves):
        kind = whole.whole.layer.op.value
        return Operator(f"{REQUANTIZE}_{index}", REQUANTIZE, kind, 0, 0, elements, reads, writes, source=source)
    op, layer = called(row), products(row)
    kind, macs = (op, 0) if layer is None else (layer[0].value, layer[1])
    taken = macs or values_combined(row)
    floating = is_floating(row)
    reference = is_reference(row.covered)
    count = elements // row.root.shape[-1] if op in BY_PIXEL else 1
    return Operator(f"{op}_{index}", op, kind, macs, taken, elements, reads, writes, floating, source, reference, count)
