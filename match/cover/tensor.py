"""One tensor while a network's operators are gone through: the layouts in which it is there, and what others cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from match.cover.problem import Layout

DENSE = 0
"""Number of the dense layout of every tensor."""

_USELESS = -1
"""In the place of a layout that nobody wants any more."""


class HeldLayouts(NamedTuple):
    """Layouts, by number, in which a tensor is there: as it was given, and as it was laid out anew since."""

    given: int
    made: frozenset[int] = frozenset()


class TensorLayouts:
    """The layouts of one tensor, numbered, with the cost of each.

    A reader that wants more room along the slowest axis than another one serves both: only the largest is made.
    """

    def __init__(self, layouts: Sequence[Layout], costs: Sequence[int]) -> None:
        """The dense layout is the first; `costs` are those of making each from the dense one, or that from any."""
        self._costs = costs
        self._serves = [
            frozenset(number for number, wanted in enumerate(layouts) if _holds(layout, wanted)) for layout in layouts
        ]
        self._wanted: dict[int, int] = {}
        self._sure: set[int] = set()
        self._after: dict[tuple[HeldLayouts, int], HeldLayouts | None] = {}

    def will_want(self, layout: int, step: int) -> None:
        """A reader may want the layout at a step; steps come in any order."""
        self._wanted[layout] = max(step, self._wanted.get(layout, step))

    def surely_want(self, layout: int) -> None:
        """Some reader wants the layout in every cover in which the tensor is given."""
        self._sure.add(layout)

    def give(self, layout: int) -> tuple[int, HeldLayouts]:
        """The tensor in the layout, and in those that are wanted for sure, with what these cost.

        They are made at once, as that makes the tensors alike whose readers have no choice.
        """
        cost, held = 0, HeldLayouts(layout)
        for wanted in sorted(self._sure):
            more, held = self.read(held, wanted)
            cost += more
        return cost, held

    def read(self, held: HeldLayouts, wanted: int) -> tuple[int, HeldLayouts]:
        """What it costs to read the tensor in a layout, and how it is there then."""
        given, made = held
        if wanted in self._served(held):
            return 0, held
        cost = 0
        if DENSE not in (given, *made):
            cost, made = self._costs[DENSE], made | {DENSE}
        if wanted != DENSE:
            smaller = made & self._serves[wanted]
            cost += self._costs[wanted] - sum(self._costs[layout] for layout in smaller)
            made = made - smaller | {wanted}
        return cost, HeldLayouts(given, made)

    def after(self, held: HeldLayouts, step: int) -> HeldLayouts | None:
        """What of `held` makes a difference to readers behind a step; None: nothing does.

        Many states hold a tensor alike, so that answers are kept.
        """
        if (held, step) not in self._after:
            self._after[held, step] = self._what_matters(held, step)
        return self._after[held, step]

    def _what_matters(self, held: HeldLayouts, step: int) -> HeldLayouts | None:
        wanted = {layout for layout, last in self._wanted.items() if last > step}
        if wanted <= self._served(held):
            return None

        def matters(layout: int) -> bool:
            return bool(self._serves[layout] & wanted) or any(layout in self._serves[other] for other in wanted)

        given, made = held
        useful = given == DENSE or (given != _USELESS and bool(self._serves[given] & wanted))
        if not useful:
            given, made = (DENSE, made - {DENSE}) if DENSE in made else (_USELESS, made)
        return HeldLayouts(given, frozenset(layout for layout in made if layout == DENSE or matters(layout)))

    def _served(self, held: HeldLayouts) -> set[int]:
        there: Iterable[int] = held.made if held.given == _USELESS else (held.given, *held.made)
        return {wanted for layout in there for wanted in self._serves[layout]}


def _holds(layout: Layout, wanted: Layout) -> bool:
    if layout is None or wanted is None:
        return layout is wanted
    return layout.holds(wanted)
