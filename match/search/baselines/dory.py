"""The engine of the DORY papers: a constraint program whose objective is the shape of tiles, not their cost.

The structure is DORY's (Burrello et al., IEEE Transactions on Computers, 2021; code of pulp-platform/dory, tiler of
PULP): a layer that fits is not cut. Otherwise one factor multiplies the buffers of every operand, two where transfers
run beside compute and one where they do not; loops run over output channels, then rows, then columns; weights are
fetched for each block of output channels and inputs for each tile that needs others; input channels are never cut.
`dory_program` chooses the tile by the rules of `dory_rules`. Our cost model has no part in the choice but for the
scratch that tiles need.

Departures: buffers count in real bytes, without the 20 or 40 that DORY adds for good measure; a tile reads as many rows
and columns as are there, where DORY demands that all tiles read the same number and so cannot keep some strided maps
whole; im2col is what the kernel asks for.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.errors import NoMappingError
from match.mapping.schedule import Loop, Placement, Schedule
from match.prediction.prices import Prices
from match.search.baselines.dory_program import Program, TileSizes
from match.search.baselines.dory_rules import rules
from match.search.baselines.one_memory import only_memory
from match.search.objective import check_objective
from match.search.problem import SearchProblem


@dataclass(frozen=True)
class DoryEngine:
    """Takes the tile that DORY's own objective prefers, whatever the objective asked for."""

    def search(self, problem: SearchProblem) -> Schedule:
        """See `Engine.search`; raises NoMappingError, too, if CP-SAT gives up."""
        layer, cost_model = problem.layer, problem.cost_model
        check_objective(problem.objective, cost_model=cost_model)
        memory = only_memory(problem, "dory")
        buffers = 2 if cost_model.overlap else 1
        pricing = Prices(layer, problem.operands, memory, cost_model)
        program = Program(pricing, rules(layer), buffers, dict(problem.multiples))
        tile = program.whole if program.fits(program.whole, 1) else program.solve()
        if tile is None:
            raise _refusal(program)
        return _schedule(program, tile)


def _schedule(program: Program, tile: TileSizes) -> Schedule:
    """Loops in DORY's order; a block that never changes has no use for a second buffer, although room was kept."""
    pricing, memory = program.pricing, program.pricing.memory
    cut = [dim for dim in program.sizes if tile[dim] < program.whole[dim]]
    loops = tuple(Loop(dim, tile[dim], program.whole[dim]) for dim in cut)
    placements: list[Placement] = []
    for operand in pricing.operands:
        depth = max((depth for depth, dim in enumerate(cut, 1) if dim in operand.dims), default=0)
        placements.append(Placement(operand.name, memory.name, depth, program.buffers if depth else 1))
    scratch = pricing.scratch(program.whole | tile)
    return Schedule(pricing.layer, pricing.operands, (memory,), loops, tuple(placements), scratch)


def _refusal(program: Program) -> NoMappingError:
    name, memory = program.pricing.layer.name, program.pricing.memory
    needed = program.need(program.smallest, program.buffers)
    room, size = next((room, size) for room, size in memory.rooms if needed[room] > size)
    where = memory.name if room == memory.name else f"{memory.name}'s memory for {room}"
    times = "two buffers" if program.buffers == 2 else "one buffer"
    return NoMappingError(
        name, f"needs at least {needed[room]} bytes of {where} with {times} of every operand, {size} are there"
    )
