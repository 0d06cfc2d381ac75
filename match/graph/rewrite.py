"""Graphs made of others, value by value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from match.graph.value import Graph, Value

Rule = Callable[[Value, Value], Value]
"""What becomes of a value, whose inputs are replaced already; the second argument is the value as it was."""


def rewrite(graph: Graph, rule: Rule) -> Graph:
    """The graph with a rule applied to each value that an operator computes, inputs first; see `replacements`.

    Where the rule leaves everything, the graph is the same object.
    """
    replaced = replacements(graph, rule)
    outputs = tuple(replaced[value] for value in graph.outputs)
    same = all(after is before for after, before in zip(outputs, graph.outputs, strict=True))
    return graph if same else replace(graph, outputs=outputs)


def replacements(graph: Graph, rule: Rule) -> dict[Value, Value]:
    """What each value of a graph becomes by a rule.

    A value that the rule leaves, on inputs that it leaves, is the same object. Exactness and the name in the model
    belong to a value: a rule that makes another one hands them on, as `dataclasses.replace` does. One that returns an
    operand, which has both of its own, hands on nothing.
    """
    replaced: dict[Value, Value] = {}
    for value in graph.values:
        inputs = tuple(replaced[source] for source in value.inputs)
        same = all(one is other for one, other in zip(inputs, value.inputs, strict=True))
        current = value if same else replace(value, inputs=inputs)
        replaced[value] = current if current.operator is None else rule(current, value)
    return replaced


def on_inputs(graph: Graph, values: Sequence[Value]) -> tuple[Value, ...]:
    """What a graph makes of other values in the place of its inputs."""
    known = dict(zip(graph.inputs, values, strict=True))
    for value in graph.values:
        if value not in known:
            known[value] = replace(value, inputs=tuple(known[x] for x in value.inputs))
    return tuple(known[value] for value in graph.outputs)
