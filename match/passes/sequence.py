"""A pass as data. A table of passes has the rewrites that a network goes through, in their order."""

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

    At the end of a table there is nothing left that one of its passes would rewrite. A pass that runs once more there
    finds nothing to do; if it does, the order is wrong (tests/passes/test_order.py). Only passes named in `anew` may
    leave something.

    name: that of the rewrite's module; `--print-after` takes it.
    rewrite: makes a graph of a graph.
    when: whether it is done at all.
    anew: passes, this one or later ones, after which this one would find something to rewrite. It is left so.
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
