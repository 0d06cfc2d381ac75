"""The calls of a network in the order in which TVM's executor makes them, and the buffers that they touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from match.codegen.pieces import Pieces, pieces_of
from match.codegen.stages import uses
from match.dispatch.plan import InPlace
from match.relay import tvm

_POOLED = "tir.usmp.AssignPoolInfo"
_NOTES_MEMORY = "AnnotateUsedMemory"
_MAIN = "__tvm_main__"


@dataclass(frozen=True)
class Reservation:
    """What TVM reserves in the workspace: the name that its memory planner knows, and bytes."""

    name: str
    bytes: int


@dataclass(frozen=True)
class CallStep:
    """A call of `main`: the C function, the buffer of each argument (None: a tensor of the network), and its own.

    pieces: of an operator of TVM's own that writes its last argument from front to back, and touches no other piece
        of it meanwhile; None for layers, and for operators that do not, have arrays of their own or are called twice.
    tensors: of the network that are arguments, by number: inputs, after them outputs.
    together: pairs of buffers, by name, that the function has in use at the same time, one of its own at least.
    """

    function: str
    arguments: tuple[Reservation | None, ...]
    own: tuple[Reservation, ...]
    pieces: Pieces | None = None
    tensors: tuple[int, ...] = ()
    together: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PartOf:
    """Where a buffer lies that is a part of another one, which is none itself: `offset` bytes into it."""

    whole: Reservation
    offset: int


def parts_of(steps: Sequence[CallStep], in_place: Mapping[str, InPlace]) -> dict[str, PartOf]:
    """The buffers that are parts of others, by name, as operators say that copy nothing; these are by symbol."""
    direct: dict[str, PartOf] = {}
    for step in steps:
        found = in_place.get(step.function)
        for part in found.parts if found else ():
            inner, whole = step.arguments[part.argument], step.arguments[part.whole]
            assert inner, "parts are no tensors of the network"
            assert whole, "wholes are no tensors of the network"
            direct[inner.name] = PartOf(whole, part.offset)
    return {name: _outermost(name, direct) for name in direct}


def _outermost(name: str, direct: Mapping[str, PartOf]) -> PartOf:
    inside = direct[name]
    if inside.whole.name not in direct:
        return inside
    outer = _outermost(inside.whole.name, direct)
    return PartOf(outer.whole, outer.offset + inside.offset)


def without_parts(
    steps: Sequence[CallStep], in_place: Collection[str], parts: Mapping[str, PartOf]
) -> tuple[CallStep, ...]:
    """The steps without operators that copy nothing; the others touch wholes where they touch parts."""

    def whole(buffer: Reservation | None) -> Reservation | None:
        return parts[buffer.name].whole if buffer is not None and buffer.name in parts else buffer

    return tuple(
        replace(step, arguments=tuple(whole(buffer) for buffer in step.arguments))
        for step in steps
        if step.function not in in_place
    )


@tvm.ir.instrument.pass_instrument
class StepReader:
    """Reads `steps` when TVM has a pool for each buffer of a network, before it plans where they lie.

    It leaves out a pass of TVM's that notes at each call of an operator what memory is in use. Two calls of the same
    operator would differ by these notes, so that each had a C function and constants of its own.
    """

    def __init__(self) -> None:
        self.steps: tuple[CallStep, ...] = ()

    def should_run(self, _module: Any, info: Any) -> bool:
        """Called by TVM."""
        return info.name != _NOTES_MEMORY

    def run_after_pass(self, module: Any, info: Any) -> None:
        """Called by TVM."""
        if info.name == _POOLED:
            self.steps = tuple(_steps(module))


def _steps(module: Any) -> Iterator[CallStep]:
    functions = {
        str(function.attrs["global_symbol"]) if function.attrs and "global_symbol" in function.attrs else name: function
        for variable, function in module.functions.items()
        for name in [variable.name_hint]
    }
    main = next(function for name, function in functions.items() if name.endswith(_MAIN))
    buffers = {
        variable: Reservation(str(info.name_hint), int(info.size_bytes))
        for info, statement in tvm.tir.usmp.analysis.extract_buffer_info(main, module).buffer_info_stmts.items()
        if isinstance(statement, tvm.tir.Allocate)
        for variable in [statement.buffer_var]
    }
    tensors = {main.buffer_map[parameter].data: number for number, parameter in enumerate(main.params)}
    calls: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tvm.tir.Call) and node.op.name == "tir.call_extern":
            calls.append(node)

    tvm.tir.stmt_functor.post_order_visit(main.body, visit)
    times = Counter(str(call.args[0].value) for call in calls)
    for call in calls:
        name = str(call.args[0].value)
        function = functions.get(name)
        allocated = _allocated(function)
        own = tuple(buffers[variable] for variable in allocated if variable in buffers)
        pieces = None if allocated or times[name] > 1 else pieces_of(function)
        variables = tuple(call.args[1:])
        arguments = tuple(buffers.get(variable) for variable in variables)
        yield CallStep(
            function=name,
            arguments=arguments,
            own=own,
            pieces=pieces,
            tensors=tuple(sorted(tensors[variable] for variable in variables if variable in tensors)),
            together=tuple(_together(function, arguments, buffers)) if own else (),
        )


def _together(
    function: Any, arguments: Sequence[Reservation | None], buffers: Mapping[Any, Reservation]
) -> Iterator[tuple[str, str]]:
    """Pairs of buffers that a function of TVM's has in use at the same time, one of its own at least."""
    parameters = [function.buffer_map[parameter].data for parameter in function.params]
    given = {p: argument for p, argument in zip(parameters, arguments, strict=True) if argument is not None}
    used = uses(function)
    for one, other in combinations(used, 2):
        if used[one].meet(used[other]) and (one in buffers or other in buffers):
            names = [(buffers.get(variable) or given.get(variable)) for variable in (one, other)]
            if names[0] is not None and names[1] is not None:
                yield names[0].name, names[1].name


def _allocated(function: Any) -> list[Any]:
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tvm.tir.Allocate):
            found.append(node.buffer_var)

    if isinstance(function, tvm.tir.PrimFunc):
        tvm.tir.stmt_functor.post_order_visit(function.body, visit)
    return found
