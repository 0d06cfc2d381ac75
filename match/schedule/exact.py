"""The exhaustive engine: the best of all mappings under the predicted cost, found without trying most of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from match.cost import CostModel
from match.errors import ScheduleError
from match.layer import Dim, Layer, Operand
from match.schedule.engine import check_objective
from match.schedule.levels import OuterSearch
from match.schedule.mapping import Memory, Schedule
from match.schedule.pricing import Pricing
from match.schedule.search import Search


@dataclass(frozen=True)
class ExactEngine:
    """Finds a mapping whose predicted cost no other has less of."""

    def search(
        self,
        layer: Layer,
        operands: tuple[Operand, ...],
        memories: tuple[Memory, ...],
        cost_model: CostModel,
        objective: str = "latency",
        multiples: Mapping[Dim, int] | None = None,
    ) -> Schedule:
        """See `Engine.search`."""
        check_objective(objective, cost_model)
        if len(memories) == 1:
            search = Search(Pricing(layer, operands, memories[0], cost_model), objective, multiples or {})
            schedule = search.best().schedule(layer, operands, memories, cost_model)
            return replace(schedule, loss=search.loss)
        if len(memories) > 2 or not cost_model.regular:
            raise ScheduleError(
                f"layer {layer.name}: the exact engine maps onto one or two levels of scratchpad, onto two if the cost "
                f"model is regular; there are {len(memories)}."
            )
        return OuterSearch(layer, operands, memories, cost_model, objective, multiples or {}).best()
