"""The exhaustive engine: the best of all mappings under the predicted cost, found without trying most of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from match.errors import NoMappingError
from match.schedule.collector import collector_paused
from match.schedule.limits import DEFAULT, Limits
from match.schedule.mapping import Schedule
from match.schedule.objective import check_objective
from match.schedule.outer_search import OuterSearch
from match.schedule.pricing import Pricing
from match.schedule.problem import Problem
from match.schedule.search import Listings, Search
from match.schedule.tiles import TileCosts, candidate_tiles
from match.schedule.two_memories import TwoMemories
from match.target.cost import CostModel


@dataclass(frozen=True)
class ExactEngine:
    """Finds a mapping whose predicted cost no other has less of; onto two memories, as far as `limits` allow."""

    limits: Limits = DEFAULT

    @collector_paused()
    def search(self, problem: Problem) -> Schedule:
        """See `Engine.search`; it leaves no cyclic garbage."""
        layer, memories, cost_model = problem.layer, problem.memories, problem.cost_model
        check_objective(problem.objective, cost_model)
        if len(memories) == 1:
            pricing = Pricing(layer, problem.operands, memories[0], cost_model)
            sizes = candidate_tiles(pricing, dict(problem.multiples))
            search = Search(TileCosts(pricing, sizes=sizes), sizes, problem.objective, Listings.of(problem.operands))
            schedule = search.best().schedule(layer, problem.operands, memories, cost_model)
            return replace(schedule, loss=search.loss)
        if len(memories) > 2:
            raise NoMappingError(
                layer.name,
                f"is to pass {len(memories)} levels of scratchpad, and the exact engine maps onto one or two",
            )
        if not cost_model.regular or type(cost_model).latency is not CostModel.latency:
            raise NoMappingError(
                layer.name,
                f"is to pass two levels of scratchpad, and the search for that needs a cost model that is regular and "
                f"leaves the latency of mappings to the engine, which {type(cost_model).__name__} does not",
            )
        return OuterSearch(TwoMemories(problem), self.limits).best()
