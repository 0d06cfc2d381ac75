"""Improves the predicted latency of a choice by one change after another; every choice fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from match.mapping.packing import aligned
from match.placement.contents import load, packed
from match.placement.latency import course, faster
from match.placement.problem import Choice, Cut, PlacementProblem, blocks

_EARLIER = 24
_SWEEPS = 2


def improved(
    problem: PlacementProblem, choice: Choice, used: Mapping[int, Cut], *, whole: bool = False, cutting: bool = False
) -> Choice:
    """A faster choice: other times to fetch, and on request other operands that are cut.

    Choices that no order packs are left out. To ask the solver about them made two networks of thirty 0.7 % faster, and
    took ten times as long to compile one of these.

    Args:
        problem: what it is about.
        choice: one that fits.
        used: bytes of the blocks of cut layers, where known.
        whole: whether operands that are cut may be fetched whole again.
        cutting: whether constants that are fetched whole may be cut.
    """
    best = course(problem, choice, used)
    loads = load(problem, choice, used)
    for _ in range(_SWEEPS):
        before = best
        for step in range(len(problem.steps)):
            for other in _alternatives(problem, best.choice, step, loads, whole, cutting):
                found = faster(problem, other, used, best)
                if found is not None and packed(problem, other, used, solve=False) is not None:
                    best, loads = found, load(problem, other, used)
        if best is before:
            break
    return best.choice


def _alternatives(
    problem: PlacementProblem,
    choice: Choice,
    step: int,
    loads: Sequence[int],
    whole: bool,
    cutting: bool,
) -> Iterator[Choice]:
    """Other ways to fetch the constants of a step, and choices with its tensors back in main memory.

    `loads` are the bytes in main memory at each step; constants are fetched no earlier than there is room for them.
    """
    asked = problem.steps[step]
    if whole:
        for name in asked.tensors:
            if name in choice.spilled:
                yield replace(choice, spilled=choice.spilled - {name})
    if not asked.constants or step in choice.resident or (step in choice.cut and not whole):
        return
    uncut = replace(choice, cut=choice.cut - {step})
    for at in _with_room(problem, choice, uncut, step, loads):
        if choice.fetched[step] != at:
            yield fetched_at(uncut, step, at)
    if cutting and step not in choice.cut and least_block(problem, step) < asked.constants:
        yield with_cut(choice, step)


def _with_room(
    problem: PlacementProblem, choice: Choice, uncut: Choice, step: int, loads: Sequence[int]
) -> Iterator[int]:
    """When the constants of a step may be fetched whole, the latest first, as long as main memory has bytes for them.

    `loads` are those of `choice`; `uncut` is that choice without cut constants of the step.
    """
    size = aligned(problem.steps[step].constants, problem.alignment)
    since = choice.fetched[step]
    block, rest = (aligned(blocks(problem, one, step), problem.alignment) for one in (choice, uncut))
    left = step + 1
    for at in earlier(problem, step, _EARLIER):
        for n in range(at, left):
            own = size if since is not None and n >= since else block - rest if n == step else 0
            if loads[n] - own + size > problem.main:
                return
        left = at
        yield at


def with_residents(problem: PlacementProblem, choice: Choice, used: Mapping[int, Cut], *, saving: bool) -> Choice:
    """The choice with more constants that stay in main memory, those first that save most cycles per byte.

    As many stay as fit; if `saving`, only those that make the network faster. Constants cannot save more once others
    stay, so the saving is computed again only for the next candidate.
    """
    left = {step for step, at in enumerate(choice.fetched) if at is not None}
    now = course(problem, choice, used).cycles
    worth = {step: now - course(problem, _resident(choice, step), used).cycles for step in left}
    known = set(left)
    while left:
        step = max(left, key=partial(_order, problem, worth))
        other = _resident(choice, step)
        if step not in known:
            worth[step] = now - course(problem, other, used).cycles
            known.add(step)
            continue
        if saving and worth[step] <= 0:
            return choice
        left.remove(step)
        if packed(problem, other, used) is not None:
            choice, now = other, now - worth[step]
            known.clear()
    return choice


def _order(problem: PlacementProblem, worth: Mapping[int, float], step: int) -> tuple[float, int]:
    return worth[step] / problem.steps[step].constants, -step


def _resident(choice: Choice, step: int) -> Choice:
    return replace(fetched_at(choice, step, None), resident=choice.resident | {step})


def least_block(problem: PlacementProblem, step: int) -> int:
    """Least bytes of a block of constants; all bytes if they cannot be cut."""
    asked = problem.steps[step]
    return asked.constants if asked.constant_block is None else aligned(asked.constant_block, problem.alignment)


def earlier(problem: PlacementProblem, step: int, number: int) -> Sequence[int]:
    """The last `number` steps at which the constants of a step may be fetched, the latest first."""
    return [start for start in problem.starts if start <= step][: -number - 1 : -1]


def with_cut(choice: Choice, step: int) -> Choice:
    """The choice with the constants of a step cut."""
    whole = fetched_at(choice, step, None)
    return replace(whole, cut=choice.cut | {step}, resident=choice.resident - {step})


def fetched_at(choice: Choice, step: int, at: int | None) -> Choice:
    """The choice with the constants of a step fetched at the beginning of another one, or not."""
    fetched = list(choice.fetched)
    fetched[step] = at
    return replace(choice, fetched=tuple(fetched))
