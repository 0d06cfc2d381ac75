"""How far the outputs of a network move where modules requantize otherwise than it does: predicted in NumPy.

The network's integers are computed twice for some random inputs: by its own requantizations, and by those that the
chosen modules have. Nothing is compiled. The inputs are those of `match validate` with the seeds 0, 1, ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from match.frontend.model import ModelTensor
from match.graph.elements import Dequantize
from match.graph.evaluate import evaluate
from match.graph.opaque import Opaque
from match.graph.operator import Array
from match.graph.rewrite import replacements
from match.graph.value import Graph, Value
from match.ir.constants import LayerConstants
from match.partitioning.partitioner import Partitioned
from match.partitioning.pattern import Match
from match.report.schema import MovedOutput, MovedOutputs
from match.run.samples import random_arrays
from match.validation.differences import difference

MOST_SAMPLES = 4

_MACS = 100_000_000
"""Multiply-accumulates that are computed for all samples together, but for the first: about a tenth of a second."""


@dataclass(frozen=True, eq=False)
class _Compared:
    """A tensor as the network computes it and as the modules do, and the output of the network that it belongs to."""

    own: Value
    other: Value
    output: ModelTensor


class _Stream:
    """Some tensors of a network, sample after sample, with what it keeps between them."""

    def __init__(self, network: Graph, tensors: Sequence[Value]) -> None:
        after = network.outputs[len(network.handed_out) :]
        self._graph, self._count = replace(network, outputs=(*tensors, *after)), len(tensors)
        self._states = list(network.states)

    def next(self, inputs: Sequence[Array]) -> list[Array]:
        results = evaluate(self._graph, [*inputs, *self._states])
        self._states = results[self._count :]
        return results[: self._count]


@dataclass(frozen=True, eq=False)
class InForms:
    """The graph of a network, and what its values become where modules requantize in forms of their own."""

    own: Graph
    replaced: Mapping[Value, Value]

    @property
    def graph(self) -> Graph:
        """The network as its modules compute it."""
        return replace(self.own, outputs=tuple(self.replaced[value] for value in self.own.outputs))


def in_forms(partitioned: Partitioned) -> InForms:
    """A network as the chosen modules compute it."""
    forms = dict(_forms(partitioned))

    def rule(value: Value, original: Value) -> Value:
        form = forms.get(original)
        assert value.operator is not None, "a value that is replaced is computed"
        return value if form is None else replace(value, operator=value.operator.in_form(*form))

    return InForms(partitioned.graph, replacements(partitioned.graph, rule))


def moved_outputs(
    partitioned: Partitioned, inputs: Sequence[ModelTensor], outputs: Sequence[ModelTensor]
) -> MovedOutputs | None:
    """How far outputs move; None where all requantizations are exact, or none of them reaches an output.

    An output that the control core computes in floating point is compared where it still is integers.
    """
    if not any(form is not None for decision in partitioned.decisions for form in decision.forms):
        return None
    network = in_forms(partitioned)
    compared = [
        _Compared(value, network.replaced[value], tensor)
        for tensor, output in zip(outputs, network.own.handed_out, strict=True)
        for value in _integers(output, network.replaced)
    ]
    if not compared:
        return None
    graphs = network.own, network.graph
    tensors = [pair.own for pair in compared], [pair.other for pair in compared]
    streams = [_Stream(graph, own) for graph, own in zip(graphs, tensors, strict=True)]
    macs = sum(decision.macs for decision in partitioned.decisions)
    samples = min(MOST_SAMPLES, max(1, _MACS // max(macs, 1)))
    pairs: list[list[tuple[Array, Array]]] = [[] for _ in compared]
    for seed in range(samples):
        arrays = random_arrays(inputs, seed)
        given = [arrays[tensor.name].reshape(tensor.shape) for tensor in inputs]
        for found, both in zip(pairs, zip(*(stream.next(given) for stream in streams), strict=True), strict=True):
            found.append(both)
    names = (pair.output.name for pair in compared)
    moved = tuple(_moved(name, *zip(*found, strict=True)) for name, found in zip(names, pairs, strict=True))
    return MovedOutputs(samples=samples, outputs=moved)


def _moved(name: str, own: Sequence[Array], others: Sequence[Array]) -> MovedOutput:
    """How far one output moves in all samples."""
    expected, found = np.stack(own), np.stack(others)
    real = expected.dtype.kind == "f"
    apart = difference(found, expected, None if real else 1.0)
    signal, noise = expected.astype(np.float64), found.astype(np.float64) - expected
    power = float(np.var(signal))
    share = float(np.mean(noise**2)) / power if power else float(np.any(noise))
    differing = apart.elements - apart.equal
    return MovedOutput(name, apart.elements, differing, apart.largest, share, "real" if real else "steps")


def _forms(partitioned: Partitioned) -> Iterator[tuple[Value, tuple[LayerConstants, tuple[int, ...]]]]:
    """The values whose operators modules requantize otherwise, with their constants and the order of their inputs."""
    place = {row.root: number for number, row in enumerate(partitioned.found) if isinstance(row, Match)}
    for row, decision in partitioned.decided_rows:
        if any(form is not None for form in decision.forms) and isinstance(row, Match):
            inside = sorted(place[value] for value in row.covered if value in place)
            members = [partitioned.found[number] for number in inside]
            for member, form in zip(members, decision.forms, strict=True):
                if form is not None and isinstance(member, Match):
                    yield member.root, (form, member.order)


def _integers(output: Value, replaced: Mapping[Value, Value]) -> list[Value]:
    """The tensors to compare for an output: the last ones that moved before the control core computes real numbers."""
    found: dict[Value, None] = {}
    pending = [output]
    while pending:
        value = pending.pop()
        if replaced[value] is value:
            continue
        if isinstance(value.operator, (Dequantize, Opaque)):
            pending += value.inputs
        else:
            found[value] = None
    return list(found)
