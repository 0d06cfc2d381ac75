"""Which kernel calls of a group are under way at once: what each call has to wait for.

The core starts the calls in their order. One whose module goes on by itself need not be waited for at once: the core
prepares the next call meanwhile, and starts it, too, where another module computes it or the same one takes several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from match.ir.group import Call, reads
from match.ir.layer import Layer


class Lane(NamedTuple):
    """Where the kernel calls of an operator run.

    unit: the module. most: how many of its calls may be under way; 0 where the core waits for each at once. It ends
    them in order. alone: no call of another module may be under way beside it. by_rows: whether a call may compute some
    rows of the output.
    """

    unit: str
    most: int = 0
    alone: bool = False
    by_rows: bool = False


def ends(layer: Layer, own: Sequence[Call], lanes: Sequence[Lane]) -> tuple[int, ...]:
    """For each kernel call of a group the one in front of which it is waited for, as late as that may be.

    `own` are the calls in the order in which they start.

    That is itself where it is waited for at once, and the number of all calls where nothing but the output's write-back
    waits for it. `lanes` has an entry for each operator.

    A call waits for what it reads of another module's, for the oldest one where its module has no place for more, and
    for all others where one of the two is alone. A module that has several under way executes them in order, so that
    one reads what the call before it wrote.
    """
    found = [len(own)] * len(own)
    under_way: list[int] = []
    for number, call in enumerate(own):
        lane = lanes[call.operator]
        left = lane.most
        last: dict[str, int] = {}  # the last call of each module that this one waits for
        for other in reversed(under_way):
            its = lanes[own[other].operator]
            if its.unit == lane.unit and not lane.alone:
                left -= 1
                waits = left < 1
            else:
                waits = lane.alone or its.alone or reads(layer, call, own[other])
            if waits:
                last.setdefault(its.unit, other)
        for other in under_way:
            if other <= last.get(lanes[own[other].operator].unit, -1):
                found[other] = number
        under_way = [other for other in under_way if found[other] > number]
        if lane.most:
            under_way.append(number)
        else:
            found[number] = number
    return tuple(found)
