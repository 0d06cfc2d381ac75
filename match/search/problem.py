"""One search as a value: what is asked of an engine, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from match.ir.layer import Dim, Layer, Operand
from match.mapping.memory import Memory
from match.mapping.schedule import Schedule
from match.target.cost import Cost, CostModel


@dataclass(frozen=True)
class SearchProblem:
    """What `Engine.search` is asked, of the engine called `engine`, for the kernel of `module`.

    objective: one of `match.search.objective.OBJECTIVES`.
    layer: what to compute.
    operands: its tensors as they lie in the module's memory.
    memories: the scratchpads below main memory, outermost first; none where the kernel reads main memory itself.
    multiples: by dimension, the number that tiles (all but the last) must be a multiple of, 0 where it cannot be tiled;
        where it is not named, 1 for K, OY and OX, 0 for the others. C is cut only if the output's operand has
        `partial_bytes`.
    cost_model: of the module's kernel.
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
    `needed` are the bytes of the innermost memory that would be enough for some mapping, where these are lacking.
    """

    schedule: Schedule | None = None
    cost: Cost | None = None
    refusal: str | None = None
    lasting: bool = True
    needed: int | None = None
