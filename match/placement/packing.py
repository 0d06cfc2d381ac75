"""Puts blocks that live for some steps into one memory, so that those alive at the same time do not overlap."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

_ATTEMPTS = 60


@dataclass(frozen=True)
class Item:
    """Bytes that are taken from step `first` to step `last`, both included. `key` names them."""

    key: Hashable
    first: int
    last: int
    bytes: int

    def meets(self, other: Item) -> bool:
        """Whether both are alive at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Packed:
    """Offsets by key, and the bytes that they reach up to."""

    offsets: Mapping[Hashable, int]
    peak: int


def aligned(size: int, alignment: int) -> int:
    """`size` rounded up to a multiple of `alignment`."""
    return -(-size // alignment) * alignment


def loads(items: Iterable[Item], steps: int, alignment: int) -> list[int]:
    """Bytes alive at each step: no packing needs less than the largest of them."""
    change = [0] * (steps + 1)
    for item in items:
        change[item.first] += aligned(item.bytes, alignment)
        change[item.last + 1] -= aligned(item.bytes, alignment)
    total = 0
    result: list[int] = []
    for difference in change[:-1]:
        total += difference
        result.append(total)
    return result


def pack(items: Sequence[Item], alignment: int, limit: int) -> Packed:
    """A packing with a small peak; the first that stays within `limit` is taken.

    Each item goes to the lowest place that is free, in several orders; then what lies at the peak is put earlier and
    earlier. Deterministic, and not always the best.
    """
    best: Packed | None = None
    order: list[Item] = []
    keys: tuple[Callable[[Item], tuple[int, ...]], ...] = (
        lambda item: (item.first - item.last, -item.bytes),
        lambda item: (-item.bytes, item.first),
        lambda item: (-item.bytes * (item.last - item.first + 1), item.first),
        lambda item: (item.first, -item.bytes),
        lambda item: (-item.last, -item.bytes),
    )
    for key in keys:
        candidate = sorted(items, key=key)
        packing = _in_order(candidate, alignment)
        if best is None or packing.peak < best.peak:
            best, order = packing, candidate
        if best.peak <= limit or not order:
            return best
    assert best is not None
    for _ in range(_ATTEMPTS):
        top = next(item for item in order if best.offsets[item.key] + aligned(item.bytes, alignment) == best.peak)
        place = order.index(top)
        improved = False
        for earlier in range(place):
            if not order[earlier].meets(top):
                continue
            candidate = [*order[:earlier], top, *order[earlier:place], *order[place + 1 :]]
            packing = _in_order(candidate, alignment)
            if packing.peak < best.peak:
                best, order, improved = packing, candidate, True
                break
        if best.peak <= limit or not improved:
            break
    return best


def gap(
    items: Iterable[Item], offsets: Mapping[Hashable, int], step: int, alignment: int, limit: int
) -> tuple[int, int]:
    """The widest gap that a packing leaves below `limit` at a step: its offset and bytes."""
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


def _in_order(items: Iterable[Item], alignment: int) -> Packed:
    """Each item at the lowest place that those before it leave free."""
    placed: list[tuple[int, int, Item]] = []
    offsets: dict[Hashable, int] = {}
    peak = 0
    for item in items:
        size = aligned(item.bytes, alignment)
        start = 0
        for low, high, other in placed:
            if low < start + size and start < high and other.meets(item):
                start = high
        offsets[item.key] = start
        placed.append((start, start + size, item))
        placed.sort(key=lambda place: place[:2])
        peak = max(peak, start + size)
    return Packed(offsets, peak)
