"""The layouts in which one tensor may be there for its readers, and which have to be made for that."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from match.cover.problem import Layout

Held = tuple[Layout, ...]
"""Layouts in which a tensor is there, so that each reader finds one; none of them serves the others' readers."""


def serves(layout: Layout, wanted: Layout) -> bool:
    """Whether a tensor that is there in a layout can be read in another one."""
    if layout is None or wanted is None:
        return layout is wanted
    return layout.holds(wanted)


def choices(wanted: Sequence[Layout], most: int) -> list[Held]:
    """All ways to hold a tensor for readers that want some of these layouts, a number of them at most.

    A reader that wants more room along the slowest axis than another one serves both: only the largest is made.
    """
    return [
        held
        for count in range(1, min(most, len(wanted)) + 1)
        for held in combinations(wanted, count)
        if not any(serves(one, other) for one in held for other in held if one is not other)
    ]


def made_of(given: Layout, held: Held) -> set[Layout]:
    """The layouts that have to be made to have all of `held`, by way of the dense one, if a tensor is given in one."""
    made = {layout for layout in held if not serves(given, layout)}
    return made | {None} if made and given is not None else made
