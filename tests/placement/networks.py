"""Random networks to place, and every choice there is for a small one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from match.placement.problem import Choice, Lifetime, PlacementProblem, Step


def chain(seed: int, length: int, main: int) -> PlacementProblem:
    """Steps one after the other, some tensors read again later; some steps are the control core's."""
    rng = np.random.default_rng(seed)
    on_module = [bool(rng.random() < 0.8) for _ in range(length)]
    reads: list[list[str]] = [[] for _ in range(length)]
    ends: list[int] = []
    for step in range(length - 1):
        further = int(rng.integers(step + 1, length)) if rng.random() < 0.25 else step + 1
        ends.append(further)
        for reader in {step + 1, further}:
            reads[reader].append(f"t{step}")
    touched = [[*reads[step], *([f"t{step}"] if step < length - 1 else [])] for step in range(length)]
    tensors = tuple(
        Lifetime(
            f"t{step}",
            int(rng.integers(1, 60)) * 8,
            step,
            end,
            all(on_module[n] for n in range(length) if f"t{step}" in touched[n]),
        )
        for step, end in enumerate(ends)
    )
    steps: list[Step] = []
    for number in range(length):
        constants = int(rng.integers(1, 120)) * 8 if on_module[number] and rng.random() < 0.8 else 0
        cuts = bool(constants) and rng.random() < 0.9
        blocks = tuple(
            (tensor.name, int(rng.integers(1, 8)) * 8)
            for tensor in tensors
            if tensor.movable and tensor.name in touched[number]
        )
        steps.append(
            Step(
                f"s{number}",
                float(rng.integers(10, 1000)),
                tuple(touched[number]),
                constants,
                float(constants),
                int(rng.integers(1, 20)) * 8 if cuts else None,
                blocks,
            )
        )
    return PlacementProblem(tuple(steps), tensors, main, 1 << 20, issue=5.0, room=256)


def choices(problem: PlacementProblem) -> Iterator[Choice]:
    """All ways for constants to come, and all sets of tensors in external memory."""
    ways: list[list[int | str | None]] = []
    for number, step in enumerate(problem.steps):
        if not step.constants:
            ways.append([None])
            continue
        starts: list[int | str | None] = [start for start in problem.starts if start <= number]
        ways.append([*starts, "resident", *(["cut"] if step.constant_block is not None else [])])
    movable = [tensor.name for tensor in problem.tensors if tensor.movable]
    spills = [frozenset(s) for n in range(len(movable) + 1) for s in itertools.combinations(movable, n)]
    for way in itertools.product(*ways):
        fetched = tuple(at if isinstance(at, int) else None for at in way)
        cut = frozenset(number for number, at in enumerate(way) if at == "cut")
        resident = frozenset(number for number, at in enumerate(way) if at == "resident")
        for spilled in spills:
            yield Choice(fetched, cut, resident, spilled)
