"""The layouts in which one tensor is there for its readers: all sets that may be of use, and what each costs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import combinations, product
from typing import NamedTuple

from match.cover.problem import Layout

Wanted = Mapping[int, Mapping[int, Collection[Layout]]]
"""The layouts in which a tensor is wanted, by operator that reads it and candidate that has the operator."""

Conversion = Callable[[Layout], int]
"""What it costs to bring the dense tensor into a layout, or to make it dense from any."""


class Way(NamedTuple):
    """A way to hold a tensor: the layouts in which it is there, none of which serves the readers of another.

    asked_for: operators, each with a layout of `held` that it has to want.
    """

    held: tuple[Layout, ...]
    asked_for: tuple[tuple[int, Layout], ...]

    def suits(self, operator: int, wants: Collection[Layout]) -> bool:
        """Whether a candidate finds there what it wants at an operator, and wants what it has to."""
        asks = all(layout in wants for place, layout in self.asked_for if place == operator)
        return asks and all(any(_serves(layout, wanted) for layout in self.held) for wanted in wants)

    def cost(self, given: Layout, conversion: Conversion) -> int | None:
        """That of all layouts that have to be made, by way of the dense one, of the given one.

        None where that is not possible: a part of another tensor is what it is given as, and nothing else.
        """
        made = {layout for layout in self.held if not _serves(given, layout)}
        if made and given is not None:
            made.add(None)
        if made and any(layout is not None and layout.pitch for layout in (given, *made)):
            return None
        return sum(conversion(layout) for layout in made)


def ways(readers: Wanted, output: bool, conversion: Conversion) -> list[Way]:
    """All ways to hold a tensor that its readers may need, or those of the network's outputs if it is one.

    A reader that wants more room along the slowest axis than another one serves both: only the largest is made. Where
    that costs less than what it serves, some reader has to want it, as none is made that nobody wants.
    """
    wanted = {place: {layout for each in own.values() for layout in each} for place, own in readers.items()}
    listed = dict.fromkeys(layout for own in readers.values() for each in own.values() for layout in each)
    most = sum(max(map(len, own.values())) for own in readers.values())
    if output:
        listed[None] = None
        most += 1
    cheaper = {one for one in listed if any(_serves(one, two) and conversion(one) < conversion(two) for two in listed)}
    return [
        Way(held, asked_for)
        for count in range(1, min(most, len(listed)) + 1)
        for held in combinations(listed, count)
        if not (output and None not in held)
        and not any(_serves(one, other) for one in held for other in held if one is not other)
        for asked_for in product(
            *([(place, one) for place, own in wanted.items() if one in own] for one in held if one in cheaper)
        )
    ]


def _serves(layout: Layout, wanted: Layout) -> bool:
    """Whether a tensor that is there in a layout can be read in another one."""
    if layout is None or wanted is None:
        return layout is wanted
    return layout.holds(wanted)
