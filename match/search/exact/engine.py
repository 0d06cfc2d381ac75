"""The engine `exact`: the best mapping onto one memory, and a good one, by a heuristic, onto two."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from match.errors import NoMappingError
from match.ir.layer import Group
from match.mapping.schedule import Schedule
from match.prediction.prices import Prices
from match.search.exact.search import Search
from match.search.exact.tables import Tables, all_sizes, refusal
from match.search.exact.two_memories import TwoMemories
from match.search.groups import group_schedule
from match.search.objective import check_objective
from match.search.problem import SearchProblem
from match.target.cost import CostModel


@dataclass(frozen=True)
class ExactEngine:
    """Finds a mapping of least predicted cost; onto two memories, a mapping close to it."""

    def search(self, problem: SearchProblem) -> Schedule:
        """See `Engine.search`."""
        check_objective(problem.objective, cost_model=problem.cost_model)
        with collector_paused():
            if isinstance(problem.layer.attributes, Group):
                return group_schedule(problem)
            if len(problem.memories) == 1:
                return one_memory(problem)
            if len(problem.memories) == 2:
                return two_memories(problem)
        raise NoMappingError(
            problem.layer.name,
            f"is to pass {len(problem.memories)} levels of scratchpad, and the exact engine maps onto one or two",
        )


def one_memory(problem: SearchProblem) -> Schedule:
    """The best mapping onto one memory."""
    layer, (memory,) = problem.layer, problem.memories
    prices = Prices(layer, problem.operands, memory, problem.cost_model)
    tables = Tables(prices, all_sizes(problem.operands, layer.extents, dict(problem.multiples)))
    search = Search(tables, problem.objective)
    nest = search.run()
    if nest is None:
        raise refusal(tables)
    prices.confirm()
    scratch = prices.scratch(layer.extents | search.tile(nest))
    return Schedule(layer, problem.operands, problem.memories, nest.loops, nest.placements, scratch, search.loss)


def two_memories(problem: SearchProblem) -> Schedule:
    """A good mapping onto two memories."""
    if type(problem.cost_model).latency is not CostModel.latency:
        raise NoMappingError(
            problem.layer.name,
            f"is to pass two levels of scratchpad, and the search for that needs a cost model that leaves the latency "
            f"of mappings to the engine, which {type(problem.cost_model).__name__} does not",
        )
    return TwoMemories(problem).run()


@contextmanager
def collector_paused() -> Generator[None]:
    """Turns off Python's collector of cyclic garbage: a search makes no cycles.

    With TVM loaded, one collection takes as long as the search of a layer.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
