"""Concatenations of many tensors as trees of concatenations of two tensors, as modules take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match.graph.moves import NARROW, Concatenate
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed
from match.ir.layer import Op
from match.target.hardware import MatchTarget


def in_pairs(graph: Graph, target: MatchTarget) -> Graph:
    """A graph whose concatenations of 8 or 16 bits join two tensors each, if a module of the target takes some.

    A concatenation of n tensors becomes a balanced tree, which copies each tensor at most ⌈log2 n⌉ times. Where it
    joins the parts of an operator, so do all of the tree.
    """
    return rewrite(graph, _rule) if Op.CONCATENATE in target.taken else graph


def _rule(value: Value, original: Value) -> Value:
    del original
    operator = value.operator
    if not isinstance(operator, Concatenate) or value.dtype not in NARROW or len(value.inputs) <= 2:
        return value
    inside = (value.source, value.parts) if value.parts > 1 else ("", 1)
    first, second = (_joined(tensors, operator, *inside) for tensors in _halves(value.inputs))
    return replace(value, operator=Concatenate(axis=operator.axis), inputs=(first, second))


def _halves(tensors: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
    middle = (len(tensors) + 1) // 2
    return tensors[:middle], tensors[middle:]


def _joined(tensors: Sequence[Value], operator: Concatenate, source: str, parts: int) -> Value:
    if len(tensors) == 1:
        return tensors[0]
    own = Concatenate(axis=operator.axis)
    halves = [_joined(half, operator, source, parts) for half in _halves(tensors)]
    return replace(computed(own, *halves), source=source, parts=parts)
