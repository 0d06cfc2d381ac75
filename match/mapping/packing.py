"""Places blocks with lifetimes in one memory, so that blocks alive at the same time do not overlap."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

MOST_WORK = 1.0
"""Limit of CP-SAT for one packing, in its deterministic time, about seconds."""


class Item(NamedTuple):
    """Bytes that are taken from step `first` to step `last`, both included. `key` names them.

    over: items that end at step `first`, by their keys: this one may lie over their bytes if it begins so many bytes
    before them, or more.
    """

    key: Hashable
    first: int
    last: int
    bytes: int
    over: Mapping[Hashable, int] = {}


@dataclass(frozen=True)
class Packed:
    """Offsets by key, and the peak in bytes."""

    offsets: Mapping[Hashable, int]
    peak: int


def aligned(size: int, alignment: int) -> int:
    """`size` rounded up to a multiple of `alignment`."""
    return -(-size // alignment) * alignment


def loads(items: Iterable[Item], steps: int, alignment: int) -> list[int]:
    """Bytes alive at each step: no packing needs less than the largest of them."""
    change, items = [0] * (steps + 1), list(items)
    for item in items:
        size = aligned(item.bytes, alignment)
        change[item.first] += size
        change[item.last + 1] -= size
    result = list(accumulate(change[:-1]))
    above = [item for item in items if item.over]
    if above:
        sizes = {item.key: aligned(item.bytes, alignment) for item in items}
        for item in above:
            under = [(sizes[key], aligned(lag, alignment)) for key, lag in item.over.items()]
            result[item.first] -= shared(sizes[item.key], under)
    return result


def shared(size: int, under: Collection[tuple[int, int]]) -> int:
    """The most bytes that something shares with what it lies over: pairs of bytes, and of bytes that it begins before.

    What lies under it shares nothing with one another.
    """
    if not under:
        return 0
    return max(0, min(sum(own for own, _ in under), size - min(lag for _, lag in under)))


def pack(items: Sequence[Item], alignment: int, limit: int, *, solve: bool = True) -> Packed:
    """A packing with a small peak; one that stays within `limit` is as good as any.

    Each item goes to the lowest free place, in several orders of items. If no order reaches the limit or the lower
    bound (the most bytes alive at once), CP-SAT finds the least peak. With 25 random tensors, one greedy packing in six
    was above the least peak, by up to a fifth. CP-SAT takes milliseconds, but its import takes as long as a small
    network. With a hundred tensors and constants it takes half a second, and seconds where there is no packing: who
    asks often does without (`solve`).
    """
    keys: tuple[Callable[[Item], tuple[int, ...]], ...] = (
        lambda item: (item.first - item.last, -item.bytes),
        lambda item: (-item.bytes, item.first),
        lambda item: (-item.bytes * (item.last - item.first + 1), item.first),
        lambda item: (item.first, -item.bytes),
        lambda item: (-item.last, -item.bytes),
    )
    if any(item.over for item in items):
        keys = *keys, lambda item: (-item.bytes, -item.first)
    steps = max((item.last for item in items), default=0) + 1
    enough = max(limit, *loads(items, steps, alignment))
    best: Packed | None = None
    for key in keys:
        packing = _in_order(sorted(items, key=key), alignment, steps)
        if best is None or packing.peak < best.peak:
            best = packing
        if best.peak <= enough:
            return best
    assert best is not None
    return _least(items, alignment, best, enough) if solve else best


def _least(items: Sequence[Item], alignment: int, known: Packed, enough: int) -> Packed:
    """A packing with at most `enough` bytes, else one with the least peak; `known` if there is none better.

    That the first is asked by itself takes a seventh of the time in which its peak is found as the least one.
    """
    within = _solved(items, alignment, known, enough, enough)
    return within or _solved(items, alignment, known, enough, known.peak) or known


def _solved(items: Sequence[Item], alignment: int, known: Packed, least: int, most: int) -> Packed | None:
    """A packing whose peak is the smallest from `least` to `most` bytes; None if none is found.

    Items are rectangles, of steps by units of the alignment, that do not overlap; those that may lie over others begin
    a step later, and are beside each item of their first step by itself. The search is deterministic, and given up
    after about a second.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    peak = model.new_int_var(least // alignment, most // alignment, "peak")
    times: list[cp_model.IntervalVar] = []
    places: list[cp_model.IntervalVar] = []
    starts: list[cp_model.IntVar] = []
    sizes = [aligned(item.bytes, alignment) // alignment for item in items]
    for item, size in zip(items, sizes, strict=True):
        start = model.new_int_var(0, most // alignment - size, "")
        model.add_hint(start, known.offsets[item.key] // alignment)
        model.add(start + size <= peak)
        starts.append(start)
        first = item.first + (1 if item.over else 0)
        if first <= item.last:
            times.append(model.new_fixed_size_interval_var(first, item.last - first + 1, ""))
            places.append(model.new_fixed_size_interval_var(start, size, ""))
    model.add_no_overlap_2d(times, places)
    for number, item in enumerate(items):
        beside = [n for n, one in enumerate(items) if item.over and one.first <= item.first <= one.last and n != number]
        for other in beside:
            before = model.new_bool_var("")
            apart = [_distance(*pair, alignment) // alignment for pair in ((item, items[other]), (items[other], item))]
            model.add(starts[number] + apart[0] <= starts[other]).only_enforce_if(before)  # pyright: ignore[reportUnknownMemberType]
            model.add(starts[other] + apart[1] <= starts[number]).only_enforce_if(~before)  # pyright: ignore[reportUnknownMemberType]
    if least < most:
        model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 0  # linear relaxations say nothing of blocks beside each other
    solver.parameters.max_deterministic_time = MOST_WORK
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    offsets = {item.key: solver.value(start) * alignment for item, start in zip(items, starts, strict=True)}
    return Packed(offsets, max(offsets[item.key] + aligned(item.bytes, alignment) for item in items))


def gap(
    items: Iterable[Item], offsets: Mapping[Hashable, int], step: int, alignment: int, limit: int
) -> tuple[int, int]:
    """The widest gap of a packing below `limit` at a step: its offset and bytes."""
    taken = sorted(
        (offsets[item.key], offsets[item.key] + aligned(item.bytes, alignment))
        for item in items
        if item.first <= step <= item.last
    )
    widest = (0, 0)
    end = 0
    for start, stop in [*taken, (limit, limit)]:
        widest = max(widest, (end, start - end), key=lambda found: found[1])
        end = max(end, stop)
    return widest


def lowest(item: Item, placed: Iterable[tuple[int, int, Item]], alignment: int) -> int:
    """The lowest free place for an item beside others, given with where they begin and end, that are needed with it."""
    size = aligned(item.bytes, alignment)
    spans = [
        (low - _distance(item, other, alignment), aligned(low + _distance(other, item, alignment), alignment))
        if item.over or other.over
        else (low - size, high)
        for low, high, other in placed
    ]
    start = 0
    for low, high in sorted(spans):
        if low >= start:  # and so do all after it, the lowest are first
            break
        start = max(start, high)
    return start


def _in_order(items: Iterable[Item], alignment: int, steps: int) -> Packed:
    """Each item at the lowest place that is free at all of its steps, in this order."""
    alive: list[list[int]] = [[] for _ in range(steps)]
    placed: list[tuple[int, int, Item]] = []
    for number, item in enumerate(items):
        lived = alive[item.first : item.last + 1]
        start = lowest(item, [placed[n] for n in {n for at in lived for n in at}], alignment)
        placed.append((start, start + aligned(item.bytes, alignment), item))
        for at in lived:
            at.append(number)
    return Packed({item.key: start for start, _, item in placed}, max((end for _, end, _ in placed), default=0))


def _distance(item: Item, other: Item, alignment: int) -> int:
    """Bytes from where an item begins to where another one may begin behind it."""
    lag = item.over.get(other.key)
    return aligned(item.bytes if lag is None else min(lag, item.bytes), alignment)
