"""Passes as data: tables of the rewrites that a network goes through, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from match.compilation.stopwatch import Passed
from match.graph.text import text
from match.graph.value import Graph

Asked_contra = TypeVar("Asked_contra", contravariant=True)
"""What decides which passes a network goes through: the form that is asked for, or the target."""


def _always(asked: object) -> bool:
    del asked
    return True


@dataclass(frozen=True)
class Pass(Generic[Asked_contra]):
    """A rewrite in a table of them.

    What a pass rewrites is not there any more at the end of its table: it leaves nothing of that, and no later pass
    makes such a thing, but those in `anew`. So a pass that runs once more at the end finds nothing to do; where one
    does, the order is wrong (tests/passes/test_order.py).

    name: that of the rewrite's module; `--print-after` takes it.
    rewrite: the graph that becomes of a graph.
    when: whether it is done at all.
    anew: passes, this one or later ones, that make what this one rewrites; it is left as they make it.
    """

    name: str
    rewrite: Callable[[Graph, Asked_contra], Graph]
    when: Callable[[Asked_contra], bool] = _always
    anew: tuple[str, ...] = ()


def plain(rewrite: Callable[[Graph], Graph]) -> Callable[[Graph, object], Graph]:
    """A rewrite that does the same whatever is asked for, as tables have it."""
    return lambda graph, _: rewrite(graph)


def through(passes: Sequence[Pass[Asked_contra]], graph: Graph, asked: Asked_contra, passed: Passed) -> Graph:
    """The graph after the passes of a table that are done; `passed` is told of each."""
    for one in passes:
        if one.when(asked):
            graph = one.rewrite(graph, asked)
            passed(one.name, partial(text, graph))
    return graph
