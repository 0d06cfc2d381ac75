"""The contents of main memory at each step under a choice, and whether they fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from match.mapping.packing import Item, Packed, aligned, gap, loads, pack
from match.placement.problem import Choice, Cut, PlacementProblem, blocks, cut_steps

CONSTANTS = "constants"
BLOCKS = "blocks"


def held(problem: PlacementProblem, choice: Choice) -> int:
    """Bytes that stay in main memory all the time."""
    sizes = [problem.resident, *(problem.steps[step].constants for step in choice.resident)]
    return sum(aligned(size, problem.alignment) for size in sizes)


def stays(problem: PlacementProblem, choice: Choice) -> Iterator[Item]:
    """Tensors, by name, and constants that are fetched whole, by CONSTANTS and step."""
    for tensor in problem.tensors:
        if tensor.name not in choice.spilled:
            yield Item(tensor.name, tensor.first, tensor.last, tensor.bytes)
    for number, at in enumerate(choice.fetched):
        if at is not None:
            yield Item((CONSTANTS, number), at, number, problem.steps[number].constants)


def cut_blocks(problem: PlacementProblem, choice: Choice, used: Mapping[int, Cut]) -> Iterator[Item]:
    """Blocks of the layers that are cut, by BLOCKS and step: of their size, or of the least possible size."""
    for number in sorted(cut_steps(problem, choice)):
        size = used[number].bytes if number in used else blocks(problem, choice, number)
        yield Item((BLOCKS, number), number, number, size)


def load(problem: PlacementProblem, choice: Choice, used: Mapping[int, Cut]) -> list[int]:
    """Bytes in main memory at each step."""
    return _load(problem, choice, [*stays(problem, choice), *cut_blocks(problem, choice, used)])


def _load(problem: PlacementProblem, choice: Choice, items: Sequence[Item]) -> list[int]:
    always = held(problem, choice)
    return [always + size for size in loads(items, len(problem.steps), problem.alignment)]


def packed(problem: PlacementProblem, choice: Choice, used: Mapping[int, Cut], *, solve: bool = True) -> Packed | None:
    """A packing of all else after the bytes that stay all the time, if it fits main memory; see `pack`."""
    small = list(cut_blocks(problem, choice, used))
    items = [*stays(problem, choice), *small]
    if max(_load(problem, choice, items), default=0) > problem.main:
        return None
    if spilled_bytes(problem, choice) > problem.external:
        return None
    limit = problem.main - held(problem, choice)
    packing = pack(items, problem.alignment, limit, solve=solve)
    if packing.peak > limit and used:
        packing = _between(problem, choice, small, limit)
    return packing if packing.peak <= limit else None


def _between(problem: PlacementProblem, choice: Choice, used: Sequence[Item], limit: int) -> Packed:
    """Blocks where all else leaves room that is packed with the least blocks: as rooms are given out."""
    others = list(stays(problem, choice))
    packing = pack([*others, *cut_blocks(problem, choice, {})], problem.alignment, limit)
    offsets = {item.key: packing.offsets[item.key] for item in others}
    tops = [offsets[item.key] + aligned(item.bytes, problem.alignment) for item in others]
    for item in used:
        start, size = gap(others, offsets, item.first, problem.alignment, limit)
        offsets[item.key] = start
        tops.append(start + aligned(item.bytes, problem.alignment) if item.bytes <= size else limit + 1)
    return Packed(offsets, max(tops, default=0))


def spilled_bytes(problem: PlacementProblem, choice: Choice) -> int:
    """Bytes of external memory that tensors take at once, without gaps."""
    items = [Item(t.name, t.first, t.last, t.bytes) for t in problem.tensors if t.name in choice.spilled]
    return max(loads(items, len(problem.steps), problem.alignment), default=0)
