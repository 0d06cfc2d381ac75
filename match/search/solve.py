"""A search by the engine that its problem names, with refusals as solutions."""

from __future__ import annotations

from match.errors import CostModelError, NoMappingError, ScheduleError
from match.prediction.predict import predict
from match.search.direct import direct_schedule
from match.search.engine import engine
from match.search.problem import SearchProblem, Solution


def solve(problem: SearchProblem) -> Solution:
    """Search.

    Raises:
        CostModelError: if the cost model fails; the module is named.
    """
    try:
        schedule = engine(problem.engine).search(problem) if problem.memories else direct_schedule(problem)
        return Solution(schedule, predict(schedule, problem.cost_model))
    except NoMappingError as error:
        return Solution(refusal=f"it {error.predicate}", needed=error.needed)
    except ScheduleError as error:  # not even a layer that is small enough can be mapped
        return Solution(refusal=str(error).rstrip("."), lasting=False)
    except CostModelError as error:
        raise CostModelError(f"module {problem.module}: {error}") from error
