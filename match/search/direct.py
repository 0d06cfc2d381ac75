"""The mapping of a layer onto a module without a scratchpad: there is one, the whole layer in one kernel call."""

from __future__ import annotations

from match.errors import NoMappingError
from match.mapping.schedule import Schedule
from match.prediction.direct import direct_scratch
from match.search.objective import check_objective
from match.search.problem import SearchProblem


def direct_schedule(problem: SearchProblem) -> Schedule:
    """The mapping of a layer whose kernel reads and writes main memory.

    Raises:
        NoMappingError: if the layer is a chain, whose kernels pass tensors to one another in a scratchpad.
        CostModelError: if the cost model fails.
        OptionError: if the objective is "energy", of a cost model that has none.
    """
    check_objective(problem.objective, cost_model=problem.cost_model)
    if problem.layer.fused:
        raise NoMappingError(problem.layer.name, "is several operators, and the module has no scratchpad between them")
    scratch = direct_scratch(problem.layer, problem.operands, problem.cost_model)
    return Schedule(problem.layer, problem.operands, (), (), (), scratch)
