"""Which operators of a compiled network read what: the arrows of its graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from match.graph.value import Value
from match.partitioning.layouts import LAYOUT
from match.partitioning.partitioner import Partitioned
from match.partitioning.pattern.types import tensors_of
from match.report.reads import Reads


def dataflow(network: Partitioned) -> tuple[Reads, ...]:
    """What each of the network's decisions reads."""
    places = [place for place, decision in enumerate(network.decisions) if decision.op != LAYOUT]
    rows = list(zip(places, network.rows, strict=True))
    written = {value: place for place, row in rows for value in tensors_of(row)}
    given = {value: place for place, value in enumerate(network.graph.given)}
    found = [Reads()] * len(network.decisions)
    for place, row in rows:
        outputs = (number for number, output in enumerate(network.graph.handed_out) if written.get(output) == place)
        found[place] = Reads(_known(row.inputs, written), _known(row.inputs, given), tuple(outputs))
    for begin, end in _conversions([decision.op for decision in network.decisions]):
        _insert(found, begin, end)
    return tuple(found)


def _known(values: Iterable[Value], numbers: Mapping[Value, int]) -> tuple[int, ...]:
    """The numbers of those tensors that have one, each once."""
    return tuple(dict.fromkeys(numbers[value] for value in values if value in numbers))


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
