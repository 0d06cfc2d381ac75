"""A network as the steps of one inference: functions that it calls one after the other, and tensors between them.

What a row of the network computes on the control core is one step. A row on a module is the call of its function.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from match.dispatch.plan import InPlace, LayerDecision, LayerPlan
from match.graph.moves import Concatenate, Move
from match.graph.operator import Array
from match.graph.value import Graph, Value, ordered, readers
from match.graph.work import Loop
from match.ir.graph import Tensor
from match.mapping.storage import Storage, dense
from match.partitioning.choice import layouts
from match.partitioning.layouts import LAYOUT, Conversion, Tensors
from match.partitioning.pattern.rows import work_of
from match.partitioning.pattern.types import Row, read_by, sources
from match.target.hardware import MatchTarget

_MOVES = Loop.ELEMENTS, Loop.MOVES


@dataclass(frozen=True, eq=False)
class Planned:
    """What a plan computes: the tensor `root`, from `inputs`."""

    root: Value
    inputs: tuple[Value, ...]
    plan: LayerPlan | InPlace


@dataclass(frozen=True, eq=False)
class Step:
    """A call of one inference.

    reads: tensors and constants. writes: tensors.
    plan: of a call on a module, or of one that copies nothing; layouts: how its arguments lie, the output last.
    body: of a step on the control core, what it computes: its inputs stand for what it reads, its outputs for what it
        writes. alias: it is the tensor that it reads, in another shape.
    rows: numbers of the rows that a step on the control core computes, a layer last.
    conversions: numbers of those between layouts that it computes, alone or in front of the row.
    layers: names of the decisions that it computes; it is called by the last.
    computed: the network's tensors that it computes, those included that nobody else reads.
    """

    reads: tuple[Value, ...]
    writes: tuple[Value, ...]
    plan: LayerPlan | InPlace | None = None
    layouts: tuple[Storage, ...] = ()
    body: Graph | None = None
    alias: bool = False
    rows: tuple[int, ...] = ()
    conversions: tuple[int, ...] = ()
    layers: tuple[str, ...] = ()
    computed: tuple[Value, ...] = ()


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a network in the order of execution.

    inputs, outputs: the network's tensors; an output may be an input or a constant. conversions: between layouts.
    states: as of the graph, what the last inputs are at first.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    steps: tuple[Step, ...]
    conversions: tuple[Conversion, ...]
    states: tuple[Array, ...] = ()

    @property
    def places(self) -> dict[Value, int]:
        """The place of each tensor that is computed, among all, in the order of execution."""
        return {value: place for place, value in enumerate(x for step in self.steps for x in step.computed)}


class Cut(Protocol):
    """A network that is cut for a target: its steps, and the decisions that these compute."""

    @property
    def steps(self) -> Steps:
        """Its steps."""
        ...

    @property
    def decisions(self) -> Sequence[LayerDecision]:
        """Its decisions, in the order of execution."""
        ...

    @property
    def target(self) -> MatchTarget:
        """The chip."""
        ...


def with_names(steps: Steps, decisions: Sequence[LayerDecision]) -> Steps:
    """The steps with the names of the decisions that they compute; these are by row."""
    planned = {plan.symbol: decision.name for decision in decisions if (plan := decision.plan or decision.in_place)}
    found: list[Step] = []
    for step in steps.steps:
        rows = (decisions[row].name for row in step.rows)
        own = (planned[step.plan.symbol],) if step.plan else tuple(rows)
        found.append(replace(step, layers=(*(f"{LAYOUT}_{number}" for number in step.conversions), *own)))
    return replace(steps, steps=tuple(found))


def network_steps(
    network: Graph, planned: Sequence[Planned], rows: Sequence[Row | None], layers: Container[int] = ()
) -> Steps:
    """The steps of a network.

    A row is one step, and with it rows in front of it whose results nothing else reads, where that is no more than a
    loop which TVM joins with its loop.

    Args:
        network: the graph.
        planned: what has a plan.
        rows: those that the control core computes, by number; None for rows with a plan.
        layers: numbers of the rows that are layers.
    """
    return _Network(network, planned, rows, layers).result()


class _Network:
    """Goes through a network once, in the order of execution."""

    def __init__(
        self,
        network: Graph,
        planned: Sequence[Planned],
        rows: Sequence[Row | None],
        layers: Container[int],
    ) -> None:
        self._network, self._layers = network, layers
        self._planned = {one.root: one for one in planned}
        on_core = {number: row for number, row in enumerate(rows) if row is not None}
        self._row_of = {value: number for number, row in on_core.items() for value in row.covered}
        self._known_as = {row.covered[-1]: row.root for row in on_core.values() if row.covered[-1] is not row.root}
        computed_as = {root: value for value, root in self._known_as.items()}
        joined = _joined(readers(network), on_core, layers)
        self._order, self._groups = _execution_order(network.ends, self._planned, joined, computed_as)
        self._readers = self._who_reads()
        self._steps: list[Step] = []
        self._waiting: list[int] = []
        self._tensors = Tensors(self._converted)
        for one in planned:
            if isinstance(one.plan, LayerPlan):
                for x, layout in zip(one.inputs, layouts(one.plan.schedule), strict=False):
                    self._tensors.will_want(x, layout)

    def _who_reads(self) -> dict[Value, set[Value | None]]:
        """For each tensor what is computed from it; None: the network's caller."""
        found: dict[Value, set[Value | None]] = {}
        for value in self._order:
            for x in self._planned[value].inputs if value in self._planned else value.inputs:
                found.setdefault(x, set()).add(value)
        for value in self._network.outputs:
            found.setdefault(value, set()).add(None)
        return found

    def result(self) -> Steps:
        tensors = self._tensors
        for value in self._order:
            tensors.reader = value
            if value in self._planned:
                self._call(self._planned[value])
            elif value in self._groups:
                self._group(self._groups[value])
        tensors.reader = None
        outputs = tuple(map(tensors.plain, self._network.outputs))
        network, conversions = self._network, tuple(tensors.conversions)
        return Steps(network.inputs, outputs, tuple(self._steps), conversions, network.states)

    def _call(self, one: Planned) -> None:
        wanted = _layouts(one)
        arguments = [self._tensors.stored(x, layout) for x, layout in zip(one.inputs, wanted, strict=False)]
        output = wanted[-1]
        tensor = one.root.tensor if output.in_order else Tensor(output.room, one.root.dtype)
        written = Value(tensor)
        stored = (*(layout for layout, _ in arguments), output)
        reads = tuple(x for _, x in arguments)
        self._steps.append(Step(reads, (written,), one.plan, stored, computed=(one.root,)))
        self._tensors.put(one.root, written, output)

    def _group(self, group: Sequence[Value]) -> None:
        """A step of the control core that computes tensors, for those that read them outside of it."""
        own = set(group)
        roots = {value: self._known_as.get(value, value) for value in group}
        inside: dict[Value, Value] = {}
        for x in sources(group):
            inside[x] = self._tensors.plain(x, alone=own.issuperset(self._readers.get(x, ())))
        conversions = tuple(self._waiting)
        self._waiting.clear()
        for value in group:
            inside[value] = replace(value, inputs=tuple(inside[x] for x in value.inputs))
        handed_on = [value for value in group if not own.issuperset(self._readers.get(roots[value], ()))]
        step = _core_step([inside[value] for value in handed_on])
        alias = len(step.reads) == 1 and not conversions and all(map(_keeps_bytes, group))
        rows = sorted({self._row_of[value] for value in group})
        rows = tuple(sorted(rows, key=lambda row: row in self._layers))
        made = replace(step, alias=alias, rows=rows, conversions=conversions, computed=tuple(group))
        self._steps.append(made)
        for value, written in zip(handed_on, step.writes, strict=True):
            self._tensors.put(roots[value], written)

    def _converted(self, number: int, value: Value, *, alone: bool) -> Value:
        """A conversion as a step of its own; or what it computes, for the one step that reads it."""
        if alone:
            self._waiting.append(number)
            return value
        step = _core_step([value])
        self._steps.append(replace(step, conversions=(number,)))
        return step.writes[0]


def _core_step(results: Sequence[Value]) -> Step:
    """The step that computes tensors of those that others wrote, which have no operator here."""
    reads = tuple(value for value in ordered(results) if value.operator is None)
    return Step(reads, tuple(Value(value.tensor) for value in results), body=Graph(reads, tuple(results)))


def _keeps_bytes(value: Value) -> bool:
    """Whether an operator leaves all elements where they are."""
    return isinstance(value.operator, Move) and value.operator.keeps_order


def _layouts(one: Planned) -> list[Storage]:
    """How inputs and output lie."""
    if isinstance(one.plan, LayerPlan):
        return layouts(one.plan.schedule)
    tensors = (*one.inputs, one.root)
    return [layout or dense(x.shape) for x, layout in zip(tensors, one.plan.layouts, strict=True)]


def _joined(
    readers_of: Mapping[Value, Sequence[Value | None]], rows: Mapping[int, Row], layers: Container[int]
) -> list[list[Value]]:
    """The tensors of each row, and of rows that are one loop with the one row that reads their result.

    These read one tensor, so that nothing else is held for longer. Two layers are joined only if both are moves.
    """
    row_of = {value: number for number, row in rows.items() for value in row.covered}
    groups = {number: list(row.covered) for number, row in rows.items()}
    for number, row in rows.items():
        own = groups[number]
        readers = readers_of[row.root]
        others = {row_of.get(reader) if reader else None for reader in readers}
        if len(others) != 1 or (other := others.pop()) is None or other == number:
            continue
        both = (row.covered, rows[other].covered)
        known = [reader for reader in readers if reader]
        if len(read_by(own)) > 1 or any(all(map(_keeps_bytes, one)) for one in both) or not _joins(row, known):
            continue
        if number in layers and other in layers and not all(_loop(value) in _MOVES for one in both for value in one):
            continue
        while other not in groups:  # it has become a part of another one itself
            other = next(n for n, group in groups.items() if rows[other].covered[-1] in group)
        groups[other] = [*groups.pop(number), *groups[other]]
    return [group for group in groups.values() if group]


def _joins(row: Row, readers: Sequence[Value]) -> bool:
    """Whether TVM computes a row in one loop with those that alone read its result.

    Moves and operators element by element are a part of the like and of a reduction; operators element by element go on
    with sums of products. What a concatenation joins is in loops of its own.
    """
    if any(isinstance(reader.operator, Concatenate) for reader in readers):
        return False
    own, others = [[_loop(value) for value in loop] for loop in (_last_loop(row.covered), readers)]
    if Loop.PRODUCTS in own:
        return own.count(Loop.PRODUCTS) == 1 and all(
            found is Loop.ELEMENTS and value.shape == row.root.shape
            for found, value in zip(others, readers, strict=True)
        )
    return all(found in _MOVES for found in own) and (
        others == [Loop.REDUCTION] or all(found in _MOVES for found in others)
    )


def _last_loop(row: Sequence[Value]) -> list[Value]:
    """The operators of a row that are one loop with the last: element by element, and what these read first."""
    own = set(row)
    found = {row[-1]: None}
    pending = [row[-1]]
    while pending:
        value = pending.pop()
        for source in value.inputs if _loop(value) is Loop.ELEMENTS else ():
            if source in own and source not in found:
                found[source] = None
                pending.append(source)
    return list(found)


def _loop(value: Value) -> Loop:
    return work_of(value).loop


class _CircleError(Exception):
    """A group needs what is computed from it."""

    def __init__(self, last: Value) -> None:
        super().__init__()
        self.last = last


def _execution_order(
    outputs: Sequence[Value],
    planned: Mapping[Value, Planned],
    groups: Sequence[Sequence[Value]],
    computed_as: Mapping[Value, Value],
) -> tuple[list[Value], dict[Value, list[Value]]]:
    """The tensors that are computed, each after those that it reads, and those of a group together.

    Tensors inside planned layers are left out. Also the groups, by the last tensor of each. Of a group that another one
    divides, which reads of it and is read by it, each operator is a group.
    """
    whole = [list(group) for group in groups]
    while True:
        by_last = {group[-1]: _in_order(group) for group in whole}
        last_of = {value: group[-1] for group in whole for value in group}
        try:
            return _ordered(outputs, planned, by_last, last_of, computed_as), by_last
        except _CircleError as circle:
            divided = by_last[circle.last]
            whole = [group for group in whole if group[-1] is not circle.last] + [[value] for value in divided]


def _in_order(group: Sequence[Value]) -> list[Value]:
    """The tensors of a group, each after those that it reads, in an order that does not depend on the given one."""
    own, found = set(group), dict[Value, None]()
    pending = [(value, False) for value in group]  # the last one is looked at first
    while pending:
        value, ready = pending.pop()
        if ready:
            found[value] = None
        elif value not in found:
            pending.append((value, True))
            pending += [(source, False) for source in reversed(value.inputs) if source in own]
    return list(found)


def _ordered(
    outputs: Sequence[Value],
    planned: Mapping[Value, Planned],
    groups: Mapping[Value, Sequence[Value]],
    last_of: Mapping[Value, Value],
    computed_as: Mapping[Value, Value],
) -> list[Value]:
    """The tensors that outputs are computed from, each after those that it reads.

    There can be thousands, more than Python's calls may be nested.
    """
    order: dict[Value, None] = {}
    begun: set[Value] = set()
    pending = [(value, False) for value in reversed(outputs)]
    while pending:
        value, ready = pending.pop()
        value = computed_as.get(value, value)
        value = last_of.get(value, value)
        if ready:
            order.update(dict.fromkeys(groups.get(value, [value])))
        elif value not in order:
            if value in begun:
                circle = [other for other, waits in pending if waits]
                raise _CircleError(
                    next(other for other in circle[circle.index(value) :] if len(groups.get(other, ())) > 1)
                )
            begun.add(value)
            pending.append((value, True))
            read = planned[value].inputs if value in planned else read_by(groups.get(value, ()))
            pending += [(source, False) for source in reversed(read)]
    return list(order)
