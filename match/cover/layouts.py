"""The layouts in which one tensor is there for its readers: all sets that may be of use, and what each costs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import combinations, product
from typing import NamedTuple

from match.cover.problem import Layout

Wanted = Mapping[int, Mapping[int, Collection[Layout]]]
"""The layouts in which a tensor is wanted, by operator that reads it and candidate that has the operator."""

ConversionCost = Callable[[Layout], int]
"""What it costs to bring the dense tensor into a layout, or to make it dense from any."""


class LayoutSet(NamedTuple):
    """The layouts in which a tensor is there for its readers. No layout serves the readers of another one.

    held: the layouts. asked_for: operators by number, each with a layout of `held` that its candidate has to want.
    """

    held: tuple[Layout, ...]
    asked_for: tuple[tuple[int, Layout], ...]

    def suits(self, operator: int, wants: Collection[Layout]) -> bool:
        """Whether a candidate with the operator finds each layout that it wants, and wants those `asked_for` of it."""
        asks = all(layout in wants for place, layout in self.asked_for if place == operator)
        return asks and all(any(_serves(layout, wanted) for layout in self.held) for wanted in wants)

    def cost(self, given: Layout, conversion: ConversionCost) -> int | None:
        """The cost of all layouts that have to be made of the given one. Each is made of the dense tensor.

        None where that is not possible: a part of another tensor is what it is given as, and nothing else.
        """
        made = {layout for layout in self.held if not _serves(given, layout)}
        if made and given is not None:
            made.add(None)
        if made and any(layout is not None and layout.pitch for layout in (given, *made)):
            return None
        return sum(conversion(layout) for layout in made)


def layout_sets(readers: Wanted, output: bool, conversion: ConversionCost) -> list[LayoutSet]:
    """All sets of layouts that a tensor's readers may need; a network's `output` is there densely, too.

    A layout with more room along its slowest axis serves readers that want less of it: only the largest is made. Where
    the larger layout costs less than a smaller one that it serves, some reader has to want the larger one: no layout
    is made that nobody wants.
    """
    wanted = {place: {layout for each in own.values() for layout in each} for place, own in readers.items()}
    listed = dict.fromkeys(layout for own in readers.values() for each in own.values() for layout in each)
    most = sum(max(map(len, own.values())) for own in readers.values())
    if output:
        listed[None] = None
        most += 1
    cheaper = {one for one in listed if any(_serves(one, two) and conversion(one) < conversion(two) for two in listed)}
    return [
        LayoutSet(held, asked_for)
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
