"""One search as a value: what is asked of an engine, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from match.cost import Cost, CostModel
from match.errors import CostModelError, NoMappingError, ScheduleError
from match.layer import Dim, Layer, Operand
from match.schedule.engine import engine
from match.schedule.mapping import Memory, Schedule
from match.schedule.predict import predict


@dataclass(frozen=True)
class Problem:
    """What `Engine.search` is asked, of the engine called `engine`, for the kernel of `module`.

    `multiples` are those of tile sizes, by dimension.
    """

    module: str
    engine: str
    objective: str
    layer: Layer
    operands: tuple[Operand, ...]
    memories: tuple[Memory, ...]
    multiples: tuple[tuple[Dim, int], ...]
    cost_model: CostModel


@dataclass(frozen=True)
class Solution:
    """The mapping found, with its cost; or neither, and why there is none, as the end of 'refused because ...'.

    `lasting` tells whether it holds for every layer of the same geometry; a refusal that names its layer does not.
    """

    schedule: Schedule | None = None
    cost: Cost | None = None
    refusal: str | None = None
    lasting: bool = True


def solve(problem: Problem) -> Solution:
    """Search.

    Raises:
        CostModelError: if the cost model fails; the module is named.
    """
    try:
        schedule = engine(problem.engine).search(
            problem.layer,
            problem.operands,
            problem.memories,
            problem.cost_model,
            problem.objective,
            dict(problem.multiples),
        )
        return Solution(schedule, predict(schedule, problem.cost_model))
    except NoMappingError as error:
        return Solution(refusal=f"it {error.predicate}")
    except ScheduleError as error:  # not even a layer that is small enough can be mapped
        return Solution(refusal=str(error).rstrip("."), lasting=False)
    except CostModelError as error:
        raise CostModelError(f"module {problem.module}: {error}") from error
