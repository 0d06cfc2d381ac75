"""Kernel calls of groups in random strips of rows, in any order in which each has what it reads."""

from __future__ import annotations

import random
from collections.abc import Sequence

from match.ir.group import Call, calls, reads
from match.ir.layer import Group, Layer


def random_calls(rng: random.Random, layer: Layer, by_rows: Sequence[bool]) -> tuple[Call, ...]:
    """All calls of a group; `by_rows` tells of each operator whether it may be cut in rows."""
    left: dict[int, list[Call]] = {}
    for call in calls(layer):
        most = layer.operators[call.operator].oy if by_rows[call.operator] else 1
        count = min(most, rng.randint(1, 4))
        ends = sorted(rng.sample(range(1, most), count - 1))
        parts = zip([0, *ends], [*ends, call.rows], strict=True)
        left.setdefault(call.operator, []).extend(call._replace(row=row, rows=end - row) for row, end in parts)
    order: list[Call] = []
    while any(left.values()):
        ready = [own[0] for own in left.values() if own and not _waits(layer, own[0], left)]
        chosen = rng.choice(ready)
        left[chosen.operator].remove(chosen)
        order.append(chosen)
    return tuple(order)


def _waits(layer: Layer, call: Call, left: dict[int, list[Call]]) -> bool:
    links = layer.get(Group).links[call.operator]
    return any(reads(layer, call, other) for link in links if link >= 0 for other in left[link])
