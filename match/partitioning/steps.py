"""A network as the steps of one inference: functions that it calls one after the other, and tensors between them.

What a row of the network computes on the control core is one step. A row on a module is the call of its function.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from match.dispatch.plan import InPlace, LayerDecision, LayerPlan
from match.mapping.storage import Storage, dense
from match.partitioning.choice import layouts
from match.partitioning.layouts import LAYOUT, Conversion, Tensors
from match.relay import relay
from match.relay.graph import users
from match.relay.objects import operands
from match.relay.recurrent import unrolled
from match.relay.rewrite import operator_name, rebuild, shape
from match.target.hardware import MatchTarget

# TVM's patterns of operators, attribute TOpPattern: element by element, these or moves of elements, reductions, sums of
# products.
_ELEMENTWISE = (0, 1)
_MOVES = (0, 1, 2)
_REDUCTION = 3
_PRODUCTS = 4


@dataclass(frozen=True, eq=False)
class Planned:
    """What a plan computes: the expression `root`, from `inputs`."""

    root: relay.Expr
    inputs: tuple[relay.Expr, ...]
    plan: LayerPlan | InPlace


@dataclass(frozen=True, eq=False)
class Step:
    """A call of one inference.

    reads: variables that stand for tensors, and constants. writes: variables.
    plan: of a call on a module, or of one that copies nothing; layouts: how its arguments lie, the output last.
    body: of a step on the control core, what it computes from the variables that it reads: a tensor, or a tuple of
        tensors. alias: it is the tensor that it reads, in another shape.
    rows: numbers of the rows that a step on the control core computes, a layer last. None of what rows read, and none
        computes.
    conversions: numbers of those between layouts that it computes, alone or in front of the row.
    layers: names of the decisions that it computes; it is called by the last.
    """

    reads: tuple[relay.Expr, ...]
    writes: tuple[relay.Var, ...]
    plan: LayerPlan | InPlace | None = None
    layouts: tuple[Storage, ...] = ()
    body: relay.Expr | None = None
    alias: bool = False
    rows: tuple[int, ...] = ()
    conversions: tuple[int, ...] = ()
    layers: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a network in the order of execution.

    outputs: of the network: variables, its parameters or constants among them. places: of each expression that is
    computed, among all, in the order of execution. conversions: between layouts.
    """

    parameters: tuple[relay.Var, ...]
    outputs: tuple[relay.Expr, ...]
    steps: tuple[Step, ...]
    places: Mapping[relay.Expr, int]
    conversions: tuple[Conversion, ...]


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
    """The steps with the names of the decisions that they compute; these are by row.

    What no decision is about belongs to the next one that reads it.
    """
    planned = {plan.symbol: decision.name for decision in decisions if (plan := decision.plan or decision.in_place)}
    found: list[Step] = []
    for step in reversed(steps.steps):
        rows = (decisions[row].name for row in step.rows)
        own = (planned[step.plan.symbol],) if step.plan else tuple(rows)
        layers = (*(f"{LAYOUT}_{number}" for number in step.conversions), *own)
        if not layers:
            layers = next(other.layers for other in reversed(found) if not set(step.writes).isdisjoint(other.reads))[
                -1:
            ]
        found.append(replace(step, layers=layers))
    return replace(steps, steps=tuple(reversed(found)))


def network_steps(
    main: relay.Function,
    planned: Sequence[Planned],
    rows: Sequence[Sequence[relay.Expr]],
    layers: Container[int] = (),
) -> Steps:
    """The steps of a network.

    A row is one step, and with it rows in front of it whose results nothing else reads, where that is no more than a
    loop which TVM joins with its loop.

    Args:
        main: the network, types inferred.
        planned: what has a plan.
        rows: for each row the expressions that the control core computes for it; none of rows with a plan.
        layers: numbers of the rows that are layers.
    """
    return _Network(main, planned, rows, layers).result()


class _Network:
    """Goes through a network once, in the order of execution."""

    def __init__(
        self,
        main: relay.Function,
        planned: Sequence[Planned],
        rows: Sequence[Sequence[relay.Expr]],
        layers: Container[int],
    ) -> None:
        self._main = main
        self._layers = layers
        self._planned = {one.root: one for one in planned}
        rows = [in_order(row)[0] for row in rows]
        self._row_of = _row_of(rows, self._planned)
        order, self._groups = _execution_order(main, self._planned, _joined(main, rows, self._row_of, layers))
        self._order = order
        self._users = _users(order, self._read, main.body)
        self._steps: list[Step] = []
        self._waiting: list[int] = []
        self._count = 0
        self._tensors = Tensors(self._converted)
        for one in planned:
            if isinstance(one.plan, LayerPlan):
                for x, layout in zip(one.inputs, layouts(one.plan.schedule), strict=False):
                    self._tensors.will_want(x, layout)

    def result(self) -> Steps:
        tensors = self._tensors
        for expr in self._order:
            tensors.reader = expr
            if expr in self._planned:
                self._call(self._planned[expr])
            elif expr in self._groups:
                self._group(self._groups[expr])
        tensors.reader = None
        body = tensors.plain(self._main.body)
        outputs = tuple(body.fields) if isinstance(body, relay.Tuple) else (body,)
        places = {expr: number for number, expr in enumerate(self._order)}
        return Steps(tuple(self._main.params), outputs, tuple(self._steps), places, tuple(tensors.conversions))

    def _read(self, expr: relay.Expr) -> Sequence[relay.Expr]:
        return self._planned[expr].inputs if expr in self._planned else operands(expr)

    def _call(self, one: Planned) -> None:
        plan = one.plan
        wanted = _layouts(one)
        arguments = [self._tensors.stored(x, layout) for x, layout in zip(one.inputs, wanted, strict=False)]
        output, kind = wanted[-1], one.root.checked_type
        written = self._variable(kind if output.in_order else relay.TensorType(output.room, kind.dtype))
        stored = (*(layout for layout, _ in arguments), output)
        self._steps.append(Step(tuple(x for _, x in arguments), (written,), plan, stored))
        self._tensors.put(one.root, written, output)

    def _group(self, group: Sequence[relay.Expr]) -> None:
        """A step of the control core that computes expressions, for those that read them outside of it."""
        inside: dict[relay.Expr, relay.Expr] = {}
        own = set(group)

        def value(expr: relay.Expr) -> relay.Expr:
            if expr not in inside:
                inside[expr] = self._tensors.plain(expr, alone=own.issuperset(self._users[expr]))
            return inside[expr]

        for expr in group:
            written_out = unrolled(expr, value) if isinstance(expr, relay.Call) else None
            inside[expr] = written_out or rebuild(expr, value)
        conversions = tuple(self._waiting)
        self._waiting.clear()
        read = [expr for expr in group if not own.issuperset(self._users[expr])]
        fields = [field for expr in read for field in _fields(inside[expr], expr.checked_type)]
        written = [self._variable(kind) for _, kind in fields]
        body = fields[0][0] if len(fields) == 1 else relay.Tuple([field for field, _ in fields])
        reads = tuple(relay.analysis.free_vars(body))
        alias = len(reads) == 1 and not conversions and all(map(_keeps_bytes, group))
        rows = sorted({self._row_of[expr] for expr in group if expr in self._row_of})
        rows = tuple(sorted(rows, key=lambda row: row in self._layers))
        self._steps.append(Step(reads, tuple(written), None, (), body, alias, rows, conversions))
        variables = iter(written)
        for expr in read:
            self._tensors.put(expr, _of_fields(expr.checked_type, variables))

    def _converted(self, number: int, body: relay.Expr, kind: Any, *, alone: bool) -> relay.Expr:
        """A conversion as a step of its own; or what it computes, for the one step that reads it."""
        if alone:
            self._waiting.append(number)
            return body
        written = self._variable(kind)
        reads = tuple(relay.analysis.free_vars(body))
        self._steps.append(Step(reads, (written,), body=body, conversions=(number,)))
        return written

    def _variable(self, kind: Any) -> relay.Var:
        self._count += 1
        return relay.var(f"tensor_{self._count}", kind)


def _fields(value: relay.Expr, kind: Any) -> Iterator[tuple[relay.Expr, Any]]:
    """The tensors of a value of any type, with their types."""
    if not isinstance(kind, relay.TupleType):
        yield value, kind
        return
    for number, field in enumerate(kind.fields):
        part = value.fields[number] if isinstance(value, relay.Tuple) else relay.TupleGetItem(value, number)
        yield from _fields(part, field)


def _of_fields(kind: Any, variables: Iterator[relay.Var]) -> relay.Expr:
    """A value of any type out of its tensors."""
    if not isinstance(kind, relay.TupleType):
        return next(variables)
    return relay.Tuple([_of_fields(field, variables) for field in kind.fields])


def _keeps_bytes(expr: relay.Expr) -> bool:
    """Whether an operator leaves all elements where they are."""
    return bool(operator_name(expr)) and bool(expr.op.get_attr("TReshapeOp"))


def _layouts(one: Planned) -> list[Storage]:
    """How inputs and output lie."""
    if isinstance(one.plan, LayerPlan):
        return layouts(one.plan.schedule)
    tensors = (*one.inputs, one.root)
    return [layout or dense(shape(x)) for x, layout in zip(tensors, one.plan.layouts, strict=True)]


def _users(
    order: Sequence[relay.Expr], read: Callable[[relay.Expr], Sequence[relay.Expr]], body: relay.Expr
) -> dict[relay.Expr, list[relay.Expr | None]]:
    """For each expression the calls that read it, or a tuple that it is a field of; None: the network's caller."""
    found: dict[relay.Expr, list[relay.Expr | None]] = {expr: [] for expr in order}
    found[body].append(None)
    for expr in order:
        for operand in read(expr):
            found[operand].append(expr)
    for expr in reversed(order):
        for operand in [] if isinstance(expr, relay.Call) else operands(expr):
            found[operand] = [user for user in found[operand] if user != expr] + found[expr]
    return found


class _CircleError(Exception):
    """A group needs what is computed from it."""

    def __init__(self, root: relay.Expr) -> None:
        super().__init__()
        self.root = root


def _row_of(rows: Sequence[Sequence[relay.Expr]], planned: Mapping[relay.Expr, Planned]) -> dict[relay.Expr, int]:
    """The number of the first row that contains each expression which the control core computes."""
    found: dict[relay.Expr, int] = {}
    for number, row in enumerate(rows):
        for expr in row:
            if expr not in planned:
                found.setdefault(expr, number)
    return found


def _joined(
    main: relay.Function,
    rows: Sequence[Sequence[relay.Expr]],
    row_of: Mapping[relay.Expr, int],
    layers: Container[int],
) -> list[list[relay.Expr]]:
    """The expressions of each row, and of rows that are one loop with the one row that reads their result.

    These read one tensor, so that nothing else is held for longer. Two layers are joined only if both are moves.
    """
    used_by = users(main)
    groups = {number: [expr for expr in row if row_of.get(expr) == number] for number, row in enumerate(rows)}
    for number, row in enumerate(rows):
        own = groups[number]
        readers = used_by.get(own[-1], []) if own else []
        others = {row_of.get(reader) for reader in readers}
        if len(others) != 1 or (other := others.pop()) is None or other == number:
            continue
        both = (row, rows[other])
        if len(_read(own)) > 1 or any(all(map(_keeps_bytes, one)) for one in both) or not _joins(row, readers):
            continue
        if number in layers and other in layers and not all(_pattern(expr) in _MOVES for one in both for expr in one):
            continue
        while other not in groups:  # it has become a part of another one itself
            other = next(n for n, group in groups.items() if rows[other][-1] in group)
        groups[other] = [*groups.pop(number), *groups[other]]
    return [group for group in groups.values() if group]


def _read(group: Sequence[relay.Expr]) -> list[relay.Expr]:
    """The tensors that a group reads."""
    return [expr for expr in in_order(group)[1] if not isinstance(expr, relay.Constant)]


def _joins(row: Sequence[relay.Expr], readers: Sequence[relay.Expr]) -> bool:
    """Whether TVM computes a row in one loop with those that alone read its result.

    Moves and operators element by element are a part of the like and of a reduction; operators element by element go on
    with sums of products.
    """
    own, others = [[_pattern(expr) for expr in loop] for loop in (_last_loop(row), readers)]
    if _PRODUCTS in own:
        return own.count(_PRODUCTS) == 1 and all(
            found in _ELEMENTWISE and shape(expr) == shape(row[-1]) for found, expr in zip(others, readers, strict=True)
        )
    return all(found in _MOVES for found in own) and (
        others == [_REDUCTION] or all(found in _MOVES for found in others)
    )


def _last_loop(row: Sequence[relay.Expr]) -> list[relay.Expr]:
    """The operators of a row that are one loop with the last: element by element, and what these read first."""
    own = set(row)
    found = {row[-1]: None}
    pending = [row[-1]]
    while pending:
        expr = pending.pop()
        for operand in operands(expr) if _pattern(expr) in _ELEMENTWISE else ():
            if operand in own and operand not in found:
                found[operand] = None
                pending.append(operand)
    return list(found)


def _pattern(expr: relay.Expr) -> int | None:
    """TVM's pattern of an operator, if it has one."""
    pattern = expr.op.get_attr("TOpPattern") if operator_name(expr) else None
    return None if pattern is None else int(pattern)


def _execution_order(
    main: relay.Function, planned: Mapping[relay.Expr, Planned], rows: Sequence[Sequence[relay.Expr]]
) -> tuple[list[relay.Expr], dict[relay.Expr, list[relay.Expr]]]:
    """The expressions that remain in the network, each after its operands, and those of a row together.

    Expressions inside planned layers are left out. Also the groups, by the last expression of each. Of a row that
    another one divides, which reads of it and is read by it, each operator is a group.
    """
    whole = list(rows)
    while True:
        groups = {row[-1]: list(row) for row in whole}
        try:
            order = _ordered(main.body, planned, groups, {expr: row[-1] for row in whole for expr in row})
        except _CircleError as circle:
            divided = next(row for row in whole if row[-1] == circle.root)
            whole = [row for row in whole if row is not divided] + [[expr] for expr in divided]
            continue
        return order, groups


def _ordered(
    body: relay.Expr,
    planned: Mapping[relay.Expr, Planned],
    groups: dict[relay.Expr, list[relay.Expr]],
    root_of: Mapping[relay.Expr, relay.Expr],
) -> list[relay.Expr]:
    """All expressions that one is computed from, and itself, each after those that it reads; groups are completed.

    There can be thousands, more than Python's calls may be nested.
    """
    order: dict[relay.Expr, None] = {}
    begun: set[relay.Expr] = set()
    pending: list[tuple[relay.Expr, bool]] = [(body, False)]
    while pending:
        expr, ready = pending.pop()
        expr = root_of.get(expr, expr)
        if ready:
            if expr not in planned and isinstance(expr, relay.Call):
                groups.setdefault(expr, [expr])
            order.update(dict.fromkeys(groups.get(expr, [expr])))
        elif expr not in order:
            if expr in begun:
                circle = [other for other, waits in pending if waits]
                raise _CircleError(
                    next(other for other in circle[circle.index(expr) :] if len(groups.get(other, ())) > 1)
                )
            begun.add(expr)
            pending.append((expr, True))
            if expr in planned:
                sources = list(planned[expr].inputs)
            elif expr in groups:
                groups[expr], sources = in_order(groups[expr])
            else:
                sources = operands(expr)
            pending += [(source, False) for source in reversed(sources)]
    return list(order)


def in_order(group: Sequence[relay.Expr]) -> tuple[list[relay.Expr], list[relay.Expr]]:
    """The expressions of a group, each after those that it reads, and what they read of others."""
    own = set(group)
    found: dict[relay.Expr, None] = {}
    pending = [(expr, False) for expr in group]
    while pending:
        expr, ready = pending.pop()
        if ready:
            found[expr] = None
        elif expr not in found:
            pending.append((expr, True))
            if expr in own:
                pending += [(source, False) for source in reversed(operands(expr))]
    return [expr for expr in found if expr in own], [expr for expr in found if expr not in own]
