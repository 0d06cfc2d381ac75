"""A network as a list of rows in the order of computation: layers, and the operators between them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from match.graph.opaque import Constant
from match.graph.value import Graph, Value, readers
from match.graph.work import Loop, Work
from match.ir.layer import Op
from match.partitioning.pattern.types import Core, Match, Rejection, Row

FIXED_POINT = "fixed_point"
"""The name of a function of dozens of operators (a step of an LSTM)."""

_BYTES = "int8", "uint8"


def rows(graph: Graph, found: Iterable[Match | Rejection]) -> tuple[Row, ...]:
    """The layers in `found` and the operators that none of them covers, in execution order."""
    by_root = {layer.root: layer for layer in found}
    covered = {value for layer in by_root.values() for value in layer.covered}
    read_by = readers(graph)
    computed = [value for value in graph.values if is_computed(value)]
    functions, function_of = _functions(computed, covered)
    covered.update(function_of)
    ordered: dict[Value, Row] = {}  # by the last operator
    for value in computed:
        if value in by_root:
            ordered[value] = by_root[value]
        elif value in functions:
            ordered[value] = Core(tuple(functions[value]), value)
        elif value not in covered:
            feeding = [ordered.get(x) for x in value.inputs if len(read_by[x]) == 1]
            loops = [row for row in feeding if isinstance(row, Core) and row.root not in covered]
            continued = next((row.covered for row in loops if _continues(value, row.root)), ())
            if continued:
                del ordered[continued[-1]]
            ordered[value] = Core((*continued, value), value)
    return tuple(ordered.values())


def is_computed(value: Value) -> bool:
    """Whether an operator computes a tensor: it is no input of the network, and no constant."""
    return value.operator is not None and not isinstance(value.operator, Constant)


def work_of(value: Value) -> Work:
    """What the control core does for a tensor."""
    assert value.operator is not None, "what is given is not computed"
    return value.operator.work(value.tensor, [x.tensor for x in value.inputs])


def called(row: Core) -> str:
    """The name of the operators in a report."""
    works = [work_of(value) for value in row.covered]
    if any(work.loop is Loop.END for work in works[:-1]):
        return Op.SOFTMAX.value if "max" in [work.name for work in works] else FIXED_POINT
    names = [work.name for work in works if work.loop is not Loop.END]
    return "+".join(names) or works[-1].name


def products(row: Core) -> tuple[Op, int] | None:
    """The kind of layer of the operators, and its multiply-accumulates; None if they sum no products.

    Such operators are layers that no module has a form for. If there are several, the first one decides the kind.
    """
    works = [work for value in row.covered if (work := work_of(value)).op is not None]
    return (works[0].op, sum(work.macs for work in works)) if works and works[0].op else None


def combined(row: Core) -> int:
    """How many values a reduction or a pooling combines to all of its outputs; 0 of other operators.

    Either is a loop of its own.
    """
    own = [work for value in row.covered if (work := work_of(value)).loop is not Loop.END]
    return own[0].combined if len(own) == 1 else 0


def is_reference(values: Sequence[Value]) -> bool:
    """Whether the control core is known to compute the reference's numbers for some tensors."""
    return all(value.exact and work_of(value).exact for value in values)


def is_floating(row: Core) -> bool:
    """Whether any of the operators gives floating-point numbers, or takes them."""
    return any(work_of(value).floating for value in row.covered)


def _functions(
    order: Sequence[Value], covered: Container[Value]
) -> tuple[dict[Value, list[Value]], dict[Value, Value]]:
    """The operators of each function in fixed point, by its last one and in order, and the function of each operator.

    An operator belongs to the first function that needs it.
    """
    function_of: dict[Value, Value] = {}
    for root in order:
        if root not in covered and root.dtype in _BYTES:
            function_of |= dict.fromkeys(_inside(root, covered, function_of), root)
    functions: dict[Value, list[Value]] = {}
    for value in order:
        if value in function_of:
            functions.setdefault(function_of[value], []).append(value)
    return functions, function_of


def _inside(root: Value, covered: Container[Value], known: Container[Value]) -> set[Value]:
    """The operators of a function in fixed point that ends in a tensor, between 8 bits and 8 bits.

    Every such function has loops that end inside it; an expression without one is no such function. The largest element
    of a row has 8 bits and is inside nevertheless: softmax begins with it. Operators in `known` belong to an earlier
    function. A step of an LSTM, for example, reads the cell of the step before, which has more than 8 bits, and ends
    there.
    """
    found: set[Value] = set()
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if value in found or not is_computed(value) or value in covered:
            continue
        work = work_of(value)
        if value is root or (value not in known and (value.dtype not in _BYTES or work.name == "max")):
            found.add(value)
            waiting += value.inputs
    return found if any(work_of(value).loop is Loop.END for value in found) else set()


def _continues(value: Value, previous: Value) -> bool:
    """Whether TVM fuses what computes `value`, element by element, into the loop of `previous`."""
    loop = work_of(value).loop
    if loop is Loop.END:
        return True
    return (loop, work_of(previous).loop) == (Loop.ELEMENTS, Loop.ELEMENTS) and value.shape == previous.shape
