"""Decides which constants are fetched whole, which operands are cut and which tensors lie in external memory.

At first every tensor is in main memory, and constants are fetched whole during the step before. As long as a step needs
more than main memory holds, one change is made, in this order of preference: constants of later steps are fetched
later; the step's own constants are cut; tensors go to external memory. Each change takes bytes from some steps and adds
none to others, so a choice is found if one exists, apart from gaps in the packing. This is done from two beginnings:
no constants stay in main memory; or all do, and some leave before anything else is changed. In the faster of these
choices, changes that were not needed are undone, and constants are fetched at the steps where the predicted cost is
least.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from match.mapping.packing import aligned, gap
from match.placement.contents import BLOCKS, CONSTANTS, cut_blocks, held, load, packed, spilled_bytes, stays
from match.placement.improve import fetched_at, improved, least_block, with_cut, with_residents
from match.placement.latency import predict
from match.placement.leave import with_fewer_residents
from match.placement.problem import Choice, Cut, Lifetime, PlacementProblem, blocks, cut_steps

_ROUND = 1024


@dataclass(frozen=True)
class Decision:
    """A choice that fits. `rooms` are the bytes of main memory that the blocks of each cut step may take."""

    choice: Choice
    rooms: Mapping[int, int]


@dataclass(frozen=True)
class Shortage:
    """Why no choice fits: `step` needs `needed` bytes of main memory, and `available` are there.

    parts: the needed bytes by owner, the largest first: tensors by name, CONSTANTS or BLOCKS of the step itself, or ""
        for bytes that are always there. No parts: it is external memory that is too small. Then the bytes are those of
        tensors: `available` is what all constants leave of external memory, and is negative if they do not fit.
    """

    step: int
    needed: int
    available: int
    parts: tuple[tuple[str, int], ...]


def decide(problem: PlacementProblem) -> Decision | Shortage:
    """The choice for a network, or why it does not fit."""
    found = [_fitted(problem, beginning) for beginning in _beginnings(problem)]
    fitting = [choice for choice in found if isinstance(choice, Choice)]
    if not fitting:
        return next(choice for choice in found if isinstance(choice, Shortage))
    choice = _improved(problem, min(fitting, key=lambda choice: predict(problem, choice, {}).cycles))
    return Decision(choice, _rooms(problem, choice))


def least_main(problem: PlacementProblem) -> int | None:
    """The fewest bytes of main memory for which `decide` finds a choice; None if external memory is too small then."""
    beginnings = _beginnings(problem)
    while True:
        found = [_fitted(problem, beginning) for beginning in beginnings]
        short = [choice for choice in found if isinstance(choice, Shortage)]
        if len(short) < len(found):
            return problem.main
        wanted = [one.needed for one in short if one.parts]
        if not wanted:
            return None
        # Where all steps have room but for gaps, a little more may close these.
        more = max(min(wanted), problem.main + 1)
        problem = replace(problem, main=more)


def _beginnings(problem: PlacementProblem) -> tuple[Choice, Choice]:
    """All constants are fetched during the step before, or all stay."""
    steps = range(len(problem.steps))
    coming = Choice(tuple(_previous(problem, n) if problem.steps[n].constants else None for n in steps))
    staying = Choice((None,) * len(steps), resident=frozenset(n for n in steps if problem.steps[n].constants))
    return coming, staying


def _fitted(problem: PlacementProblem, choice: Choice) -> Choice | Shortage:
    """A choice that fits, with as few changes as that takes."""
    while packed(problem, choice, {}) is None:
        fewer = with_fewer_residents(problem, choice)
        if fewer != choice:
            choice = fewer
            continue
        loads = load(problem, choice, {})
        over = [step for step, size in enumerate(loads) if size > problem.main]
        fullest = sorted(range(len(loads)), key=lambda step: (-loads[step], step))
        relieved = next(
            (found for step in over[:1] or fullest if (found := _relieved(problem, choice, step, loads[step]))), None
        )
        if relieved is None:
            return _outside(problem, choice) or _shortage(problem, choice, (over or fullest)[0])
        choice = relieved
    return choice


def _improved(problem: PlacementProblem, choice: Choice) -> Choice:
    """A faster choice than one that fits."""
    choice = improved(problem, choice, {}, whole=True)
    rooms = {step: Cut(size, 0.0, 0.0) for step, size in _rooms(problem, choice).items()}
    choice = with_residents(problem, choice, rooms, saving=True)
    return improved(problem, choice, {}, whole=True, cutting=True)


def _relieved(problem: PlacementProblem, choice: Choice, step: int, loaded: int) -> Choice | None:
    """A choice with fewer bytes at a step, and no more at any other."""
    later = [n for n, at in enumerate(choice.fetched) if at is not None and at <= step < n]
    if later:
        last = max(later)
        at = next(start for start in problem.starts if step < start <= last)
        return fetched_at(choice, last, at)
    whole = choice.fetched[step] is not None or step in choice.resident
    if whole and least_block(problem, step) < problem.steps[step].constants:
        return with_cut(choice, step)
    spills = [(saved, tensor) for tensor in problem.tensors if (saved := _saved(problem, choice, tensor, step)) > 0]
    if not spills:
        return None
    enough = [(saved, tensor) for saved, tensor in spills if loaded - saved <= problem.main]
    if enough:
        chosen = min(enough, key=lambda found: (_traffic(problem, found[1]), found[1].name))[1]
    else:
        chosen = max(spills, key=lambda found: (found[0], found[1].name))[1]
    return replace(choice, spilled=choice.spilled | {chosen.name})


def _saved(problem: PlacementProblem, choice: Choice, tensor: Lifetime, step: int) -> int:
    """Bytes that a step saves if a tensor goes to external memory; 0 if it cannot go there."""
    if not tensor.movable or tensor.name in choice.spilled or not tensor.first <= step <= tensor.last:
        return 0
    further = replace(choice, spilled=choice.spilled | {tensor.name})
    size = aligned(tensor.bytes, problem.alignment)
    touching = (n for n, asked in enumerate(problem.steps) if tensor.name in asked.tensors)
    saved = {n: size - _more(problem, choice, further, n) for n in touching}
    return saved.get(step, size) if min(saved.values(), default=1) > 0 else 0


def _more(problem: PlacementProblem, choice: Choice, further: Choice, step: int) -> int:
    return aligned(blocks(problem, further, step), problem.alignment) - aligned(
        blocks(problem, choice, step), problem.alignment
    )


def _traffic(problem: PlacementProblem, tensor: Lifetime) -> int:
    return tensor.bytes * sum(tensor.name in step.tensors for step in problem.steps)


def _previous(problem: PlacementProblem, step: int) -> int:
    """The last step before this one that can start transfers; the first step for itself."""
    return max((start for start in problem.starts if start < step), default=step)


def _rooms(problem: PlacementProblem, choice: Choice) -> dict[int, int]:
    """Main memory for the blocks of each cut step: the largest free piece, up to `problem.room`."""
    limit = problem.main - held(problem, choice)
    packing = packed(problem, choice, {})
    assert packing is not None, "the choice fits"
    others = list(stays(problem, choice))
    rooms: dict[int, int] = {}
    for item in cut_blocks(problem, choice, {}):
        _, free = gap(others, packing.offsets, item.first, problem.alignment, limit)
        rooms[item.first] = max(item.bytes, min(free, problem.room) // _ROUND * _ROUND)
    return rooms


def _outside(problem: PlacementProblem, choice: Choice) -> Shortage | None:
    """That external memory has no room for the tensors that go there; None if it has."""
    needed = spilled_bytes(problem, choice)
    return Shortage(0, needed, problem.external, ()) if needed > problem.external else None


def _shortage(problem: PlacementProblem, choice: Choice, step: int) -> Shortage:
    parts = {
        tensor.name: tensor.bytes
        for tensor in problem.tensors
        if tensor.first <= step <= tensor.last and tensor.name not in choice.spilled
    }
    if choice.fetched[step] is not None:
        parts[CONSTANTS] = problem.steps[step].constants
    if step in cut_steps(problem, choice):
        parts[BLOCKS] = blocks(problem, choice, step)
    parts[""] = held(problem, choice)
    listed = tuple(sorted(((n, s) for n, s in parts.items() if s), key=lambda part: (-part[1], part[0])))
    return Shortage(step, load(problem, choice, {})[step], problem.main, listed)
