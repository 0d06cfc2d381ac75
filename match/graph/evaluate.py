"""A graph computed in NumPy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from match.graph.operator import Array
from match.graph.value import Graph, Value


def evaluate(graph: Graph, arrays: Sequence[Array]) -> list[Array]:
    """The outputs for arrays of the graph's inputs, in their order; what nothing reads any more is given up."""
    computed: dict[Value, Array] = dict(zip(graph.inputs, arrays, strict=True))
    order = graph.values
    waiting = Counter(source for value in order for source in value.inputs)
    waiting.update(graph.outputs)
    for value in order:
        if value.operator is not None:
            computed[value] = value.operator.compute(*(computed[source] for source in value.inputs))
        for source in value.inputs:
            waiting[source] -= 1
            if not waiting[source]:
                del computed[source]
    return [computed[value] for value in graph.outputs]
