"""Groups of layers: parts of a network that are computed in one offload, with whole tensors between layers.

Modules that compute out of one memory may be in one group: each layer is on the one whose kernel takes fewest cycles.

A group ends in a layer and grows against the way of the data: a layer joins if everything that reads its output is in
the group already, the last of these layers first. So only the output of the last layer leaves the group, and no way
out of the group leads back into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from match.dispatch.member import Member
from match.dispatch.request import GroupModules
from match.graph.moves import Move
from match.graph.value import Graph, Value, readers
from match.ir.group import MOST_INPUTS, grouped
from match.mapping.packing import Item, loads, pack
from match.partitioning.pattern import Core, Match, Row
from match.target.hardware import MatchTarget
from match.target.operands import element_bytes
from match.target.shared_memory import sharing


@dataclass(frozen=True, eq=False)
class GroupMatch:
    """Layers that may be computed in one offload, and all of them as one.

    rows: the places among the network's rows of all that the group computes, views of its tensors included.
    operators: those of its layers. modules: what executes them.
    """

    rows: tuple[int, ...]
    operators: tuple[int, ...]
    whole: Match
    modules: GroupModules


@dataclass(frozen=True)
class _Joining:
    """A layer as groups see it, by numbers alone.

    inputs: the tensors that it reads, each once for each argument, as numbers. output: the number of what it writes.
    readers: the places of the layers that read its output, or views of it; None if something else does.
    """

    inputs: tuple[int, ...]
    output: int
    readers: frozenset[int] | None


def find_groups(
    network: Graph,
    listed: Sequence[Row],
    members: Mapping[str, Mapping[int, Member]],
    alone: Mapping[int, float],
    target: MatchTarget,
) -> tuple[GroupMatch, ...]:
    """For each layer the largest group that ends in it, and those that save most, if these are others.

    `listed` are the network's rows. `members` has, for each module that executes groups, those that it takes. `alone`
    are the cycles of the cheapest way to compute each layer by itself.
    """
    known = _Network(network, listed)
    found: dict[tuple[tuple[int, ...], GroupModules, tuple[int, ...]], None] = {}
    for modules in sharing(target):
        taken = _cheapest({module.name: members.get(module.name, {}) for module in modules})
        own = {place: member for place, (_, member) in taken.items()}
        growth = _Growth(known.joining, own, known.bytes, alone, modules[0].memories[-1].size)
        for end in own:
            for places in growth.groups(end):
                names = GroupModules(modules[0].name, tuple(taken[place][0] for place in places))
                found[places, names, tuple(own[place].cut for place in places)] = None
    groups = (known.group(*one) for one in found)
    return tuple(group for group in groups if len(group.whole.inputs) <= MOST_INPUTS)


def _cheapest(members: Mapping[str, Mapping[int, Member]]) -> dict[int, tuple[str, Member]]:
    """The module that takes each layer in the fewest cycles, the first of equals, and the layer on it."""
    found: dict[int, tuple[str, Member]] = {}
    for module, own in members.items():
        for place, one in own.items():
            if place not in found or one.cycles < found[place][1].cycles:
                found[place] = module, one
    return found


class _Network:
    """Layers and the tensors between them.

    A view is a row that says how a tensor is read, and computes nothing: it has the number of that tensor.
    """

    def __init__(self, network: Graph, listed: Sequence[Row]) -> None:
        self._layers = {place: row for place, row in enumerate(listed) if isinstance(row, Match)}
        self._views = {row.root: (place, row) for place, row in enumerate(listed) if _is_view(row)}
        self._view_of = {value: x for x, (_, row) in self._views.items() for value in row.covered}
        self._read_by = readers(network)
        self._place_of = {value: place for place, layer in self._layers.items() for value in layer.covered}
        self._numbers: dict[Value, int] = {}
        self.bytes: list[int] = []
        self.joining = {place: self._joining(layer) for place, layer in self._layers.items()}

    def _views_of(self, x: Value) -> list[Value]:
        """A tensor, and in front of it what it is a view of, and so on."""
        found = [x]
        while found[0] in self._views:
            first, *_ = self._views[found[0]][1].covered
            found[:0] = first.inputs
        return found

    def _number(self, x: Value) -> int:
        tensor = self._views_of(x)[0]
        if tensor not in self._numbers:
            self._numbers[tensor] = len(self.bytes)
            self.bytes.append(prod(tensor.shape) * element_bytes(tensor.dtype))
        return self._numbers[tensor]

    def _joining(self, layer: Match) -> _Joining:
        found = self._readers(layer.root)
        known = frozenset(reader for reader in found if reader is not None)
        inputs = tuple(map(self._number, layer.inputs))
        return _Joining(inputs, self._number(layer.root), None if None in found else known)

    def _readers(self, x: Value) -> set[int | None]:
        """The places of the layers that read a tensor or a view of it; None for anything else."""
        found: set[int | None] = set()
        for reader in self._read_by[x]:
            view = self._view_of.get(reader) if reader else None
            found |= self._readers(view) if view else {self._place_of.get(reader) if reader else None}
        return found

    def group(self, places: Sequence[int], modules: GroupModules, cuts: Sequence[int]) -> GroupMatch:
        """Layers, by their places in the order of execution, as one group with the constants of the last one."""
        stages = [self._layers[place] for place in places]
        number = {stage.root: place for place, stage in enumerate(stages)}
        views: dict[Value, None] = {}
        outside: dict[Value, int] = {}
        covered: dict[Value, None] = {}
        links: list[tuple[int, ...]] = []
        for stage in stages:
            own: list[int] = []
            for x in stage.inputs:
                tensor, *viewed = self._views_of(x)
                if tensor in number:
                    own.append(number[tensor])
                    views |= dict.fromkeys(viewed)
                    covered |= dict.fromkeys(value for view in viewed for value in self._views[view][1].covered)
                else:
                    own.append(~outside.setdefault(x, len(outside)))
            links.append(tuple(own))
            covered |= dict.fromkeys(stage.covered)
        last = stages[-1]
        whole = Match(
            root=last.root,
            inputs=tuple(outside),
            covered=tuple(covered),
            layer=grouped([stage.layer for stage in stages], tuple(links), cuts),
            constants=last.constants,
            accumulator=last.accumulator,
            reference=all(stage.reference for stage in stages),
        )
        rows = tuple(sorted((*places, *(self._views[x][0] for x in views))))
        return GroupMatch(rows, tuple(places), whole, modules)


def _is_view(row: Row) -> bool:
    return isinstance(row, Core) and all(
        isinstance(value.operator, Move) and value.operator.keeps_order for value in row.covered
    )


@dataclass(frozen=True)
class _Outside:
    """Tensors that a group reads and does not compute: how many, and their bytes."""

    number: int
    bytes: int


@dataclass(frozen=True)
class _Growth:
    """The growth of groups on a module; `room` are the bytes of its innermost memory."""

    joining: Mapping[int, _Joining]
    members: Mapping[int, Member]
    bytes: Sequence[int]
    alone: Mapping[int, float]
    room: int

    def groups(self, end: int) -> Iterator[tuple[int, ...]]:
        """The places of the layers of the largest group that ends in a layer, and of those that save most.

        What a group saves is beside its layers one by one, not beside chains of another module, which only the choice
        finds. So not only the group that saves most is tried, but each that saves more than all smaller ones, and with
        one layer more less than half: that layer is far cheaper elsewhere.
        """
        order = self._order(end)
        outside = self._outside(order)
        sizes = (count for count in range(len(order), 1, -1) if self._fits(order[:count], outside[count - 1]))
        largest = next(sizes, 0)
        if not largest:
            return
        yield tuple(sorted(order[:largest]))
        saved = [*accumulate(self.alone[place] - self.members[place].cycles for place in order[:largest])]
        constants = [*accumulate(self.members[place].constants for place in order[:largest])]
        fetch = self.members[end].fetch
        net = [one - (more + own.bytes) * fetch for one, more, own in zip(saved, constants, outside, strict=False)]
        most = 1 + max(range(largest), key=lambda count: net[count])
        best = net[0]
        for count in range(2, largest):
            tried = count == most or 2 * net[count] < net[count - 1] > best
            if tried and self._fits(order[:count], outside[count - 1]):
                yield tuple(sorted(order[:count]))
            best = max(best, net[count - 1])

    def _order(self, end: int) -> list[int]:
        """The layers that may join, in the order in which they do."""
        writers = {joining.output: place for place, joining in self.joining.items() if place in self.members}
        order: list[int] = []
        inside: set[int] = set()
        waiting = {end}
        while waiting:
            place = max(waiting)
            waiting.remove(place)
            order.append(place)
            inside.add(place)
            for tensor in self.joining[place].inputs:
                writer = writers.get(tensor)
                if writer is None or writer in inside:
                    continue
                readers = self.joining[writer].readers
                if readers is not None and readers <= inside:
                    waiting.add(writer)
        return order

    def _outside(self, order: Sequence[int]) -> list[_Outside]:
        """What the first layers of an order read and do not compute: of the first one, the first two, and so on."""
        found: list[_Outside] = []
        tensors: set[int] = set()
        for place in order:
            own = self.joining[place]
            tensors = (tensors | {*own.inputs}) - {own.output}
            found.append(_Outside(len(tensors), sum(self.bytes[tensor] for tensor in tensors)))
        return found

    def _fits(self, places: Sequence[int], outside: _Outside) -> bool:
        """Whether everything has room while it is needed, if constants come as late as they may."""
        if outside.number > MOST_INPUTS:
            return False
        rows = sorted(places)
        own = [self.members[row] for row in rows]
        number = {self.joining[row].output: place for place, row in enumerate(rows)}
        last: dict[int, int] = {}
        first: dict[int, int] = {}
        for place, row in enumerate(rows):
            for tensor in self.joining[row].inputs:
                last[tensor] = place
                first.setdefault(tensor, number.get(tensor, place))
        items = [Item(("tensor", tensor), first[tensor], end, self.bytes[tensor]) for tensor, end in last.items()]
        items.append(Item("output", len(rows) - 1, len(rows) - 1, own[-1].output))
        for place, one in enumerate(own):
            items += [
                Item(("constants", place), place, place, one.part),
                Item(("scratch", place), place, place, one.scratch),
            ]
        alignment = max(one.alignment for one in own)
        fits = max(loads(items, len(rows), alignment)) <= self.room
        return fits and pack(items, alignment, self.room, solve=False).peak <= self.room
