"""Layers of two reports side by side: the smallest sets of each that compute the same operators.

A layer may be several operators that a module executes as one, and an operator may be several layers, such as the parts
of one that is cut. Fused in other ways, the operators of one layer are in several layers of the other report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from match.report.schema import LayerSummary


class Aligned(NamedTuple):
    """Layers of the first and of the second report that compute the same; one of the two may have none."""

    a: tuple[LayerSummary, ...]
    b: tuple[LayerSummary, ...]


def aligned(a: Sequence[LayerSummary], b: Sequence[LayerSummary]) -> list[Aligned]:
    """All layers of both, each in one set: in the order of the first report, then those that only the second has.

    Operators are the same that the model calls alike: names of layers have their places in them, which move with the
    target. Where the model has no name for an operator, or several layers of each report compute it, names of layers
    count.
    """
    first, second = (Counter(name for layer in layers for name in _operators(layer)) for layers in (a, b))
    shared = {name for name in first.keys() & second.keys() if first[name] == 1 or first[name] != second[name]}
    nodes = [(layer, _keys(layer, shared)) for layer in (*a, *b)]
    sets = _connected([keys for _, keys in nodes])
    found = [
        Aligned(
            tuple(nodes[number][0] for number in one if number < len(a)),
            tuple(nodes[number][0] for number in one if number >= len(a)),
        )
        for one in sets
    ]
    return sorted(found, key=lambda one: not one.a)


def _operators(layer: LayerSummary) -> set[str]:
    """What the model calls the operators of a layer, as far as it has names."""
    return {operator.source for operator in layer.operators or (layer,)} - {""}


def _keys(layer: LayerSummary, shared: set[str]) -> set[tuple[str, str]]:
    """What layers of one set have in common."""
    return {("operator", name) for name in _operators(layer) & shared} or {("layer", layer.name)}


def _connected(keys: Sequence[set[tuple[str, str]]]) -> list[list[int]]:
    """Numbers of what is connected by common keys, in sets and among these in order."""
    sets: list[tuple[list[int], set[tuple[str, str]]]] = []
    for number, own in enumerate(keys):
        touching = [one for one in sets if one[1] & own]
        numbers = sorted(number for one in touching for number in one[0])
        sets = [one for one in sets if one not in touching]
        sets.append(([*numbers, number], own.union(*(one[1] for one in touching))))
    return sorted(numbers for numbers, _ in sets)
