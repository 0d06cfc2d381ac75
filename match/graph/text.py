"""Graphs as text, one line for each tensor, that people read, tests write and `parse` reads again.

Lines are Python expressions, though nothing is run::

    v0: int8[1, 4, 4, 3] = input("x")
    v1: uint8[1, 4, 4, 3] = lookup(v0, outputs=int64((256,), "9f86d081"), dtype="uint8").of("first", exact=False)
    return v1

A line says how a tensor is called, its type and shape, its operator, the tensors that this reads, its fields that are
not as they mostly are, and after ``of`` what else is known of the tensor (`match.graph.value.Value`). An array is its
type with its elements, ``int32([1, 2])``, or, where they are all alike, one element and the shape, ``int32(7, (64,))``.
Of an array of more than `MOST_ELEMENTS` there are the shape and a digest. What a network keeps is a ``state`` with what
it holds at first, and a line after all operators says what it holds afterwards::

    v2: int8[1, 8] = state("last", int8(0, (1, 8)))
    v2 = v5
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from match.graph import (
    elements,
    fixed_point,
    float_average,
    gathers,
    integers,
    maximum,
    moves,
    opaque,
    pairs,
    reals,
    recurrent,
    reductions,
    resize,
    rows,
    sums,
)
from match.graph.opaque import Function, Opaque
from match.graph.operator import Array, Operator
from match.graph.value import Graph, Value
from match.ir.constants import Normalization
from match.ir.deviation import Deviation
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.ir.requantization import Requantization

MOST_ELEMENTS = 16
"""Elements of an array that are written out."""

_MODULES = (
    *(elements, fixed_point, float_average, gathers, integers, maximum, moves, opaque),
    *(pairs, reals, recurrent, reductions, resize, rows, sums),
)

_PARTS = (
    *(Requantization, FloatQuantization, Normalization, Padding, Deviation, Tensor),
    *(resize.Between, rows.LogTables, rows.ProbabilityScale),
)
"""Types of the fields of operators that are no numbers, texts or arrays."""

_FUNCTION = "function"
"""The field of an operator without a class that is a function."""

_OF = MappingProxyType({"exact": True, "parts": 1, "deviation": None})
"""What is known of most tensors, beside the name in the model, which comes first."""


def text(graph: Graph) -> str:
    """The text of a graph, inputs first. Of the function of an operator without a class there is a digest."""
    names = {value: f"v{number}" for number, value in enumerate(dict.fromkeys((*graph.inputs, *graph.values)))}
    states = dict(zip(graph.inputs[len(graph.given) :], graph.states, strict=True))
    lines = [f"{name}: {_type(value.tensor)} = {_written(value, names, states)}" for value, name in names.items()]
    after = zip(states, graph.outputs[len(graph.handed_out) :], strict=True)
    lines += [f"{names[state]} = {names[value]}" for state, value in after]
    return "\n".join([*lines, f"return {', '.join(names[value] for value in graph.handed_out)}", ""])


def functions(graph: Graph) -> dict[str, str]:
    """The functions of operators without a class, as text, by their digests."""
    written = (value.operator.function.written() for value in graph.values if isinstance(value.operator, Opaque))
    return {_digest_of(one.encode()): one for one in written}


def arrays(graph: Graph) -> dict[str, Array]:
    """The arrays of a graph whose elements its text leaves out, by their digests."""
    found = (*graph.states, *(array for value in graph.values for array in arrays_of(value.operator)))
    return {_digest(array): array for array in found if _is_left_out(array)}


def parse(
    source: str,
    known: Mapping[str, Array] = MappingProxyType({}),
    functions: Mapping[str, Function] = MappingProxyType({}),
) -> Graph:
    """The graph of a text. `known` are the arrays whose elements it leaves out, and `functions`, by their digests.

    Raises:
        ValueError: the text is none of a graph, or says another type or shape of a tensor than its operator gives it.
    """
    return _Parser(known, functions).graph(ast.parse(source))


def _type(tensor: Tensor) -> str:
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape)) or '()'}]"


def _written(value: Value, names: Mapping[Value, str], states: Mapping[Value, Array]) -> str:
    if value in states:
        return f"state({value.source!r}, {_array(states[value])})"
    if value.operator is None:
        return f"input({value.source!r})"
    arguments = [*(names[x] for x in value.inputs), *_fields(value.operator)]
    call = f"{value.operator.called}({', '.join(arguments)})"
    facts = [repr(value.source)] if value.source else []
    facts += [f"{name}={_field(own)}" for name, usual in _OF.items() if (own := getattr(value, name)) != usual]
    return f"{call}.of({', '.join(facts)})" if facts else call


def _fields(part: Any) -> Iterator[str]:
    """The fields of a dataclass that are not as they are by default."""
    for field in fields(part):
        own = getattr(part, field.name)
        if isinstance(part, Opaque) and field.name == _FUNCTION:
            yield f"{field.name}={_digest_of(part.function.written().encode())!r}"
        elif field.init and not _is_default(own, field.default):
            yield f"{field.name}={_field(own)}"


def _is_default(own: Any, default: Any) -> bool:
    return default is not MISSING and type(own) is type(default) and not isinstance(own, np.ndarray) and own == default


def _field(own: Any) -> str:
    if isinstance(own, np.ndarray):
        return _array(cast("Array", own))
    if isinstance(own, np.generic):
        return f"{np.asarray(cast('Any', own)).dtype}({own.item()!r})"
    if isinstance(own, tuple):
        parts = cast("tuple[Any, ...]", own)
        inside = ", ".join(map(_field, parts))
        kind = "Padding" if isinstance(own, Padding) else ""
        return f"{kind}({inside},)" if len(parts) == 1 else f"{kind}({inside})"
    if is_dataclass(own):
        return f"{type(own).__name__}({', '.join(_fields(own))})"
    return repr(own)


def _array(array: npt.NDArray[Any]) -> str:
    if array.size > 1 and np.all(array == array.flat[0]):
        return f"{array.dtype}({array.flat[0].item()!r}, {array.shape})"
    if _is_left_out(array):
        return f'{array.dtype}({array.shape}, "{_digest(array)}")'
    return f"{array.dtype}({array.tolist()!r})"


def _is_left_out(array: npt.NDArray[Any]) -> bool:
    return array.size > MOST_ELEMENTS and not np.all(array == array.flat[0])


def _digest(array: npt.NDArray[Any]) -> str:
    described = f"{array.dtype} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes()
    return _digest_of(described)


def _digest_of(described: bytes) -> str:
    return hashlib.sha256(described).hexdigest()[:16]


def arrays_of(part: Any) -> Iterator[npt.NDArray[Any]]:
    """The arrays in the fields of an operator, and in those of its parts."""
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, tuple):
        for one in cast("tuple[Any, ...]", part):
            yield from arrays_of(one)
    elif is_dataclass(part):
        for field in fields(part):
            yield from arrays_of(getattr(part, field.name))


def _operators() -> dict[str, type[Operator]]:
    """The classes of operators by their names in a text."""
    classes = (one for module in _MODULES for one in vars(module).values() if isinstance(one, type))
    return {one.called: one for one in classes if issubclass(one, Operator) and hasattr(one, "called")}


class _Parser:
    """Reads the lines of a text."""

    def __init__(self, known: Mapping[str, Array], functions: Mapping[str, Function]) -> None:
        self._known, self._functions = known, functions
        self._values: dict[str, Value] = {}
        self._states: dict[Value, Array] = {}
        self._operators = _operators()
        self._parts: dict[str, Any] = {one.__name__: one for one in _PARTS}

    def graph(self, module: ast.Module) -> Graph:
        outputs: tuple[Value, ...] = ()
        after: dict[Value, Value] = {}
        for line in module.body:
            match line:
                case ast.Assign(targets=[ast.Name() as state], value=one):
                    after[self._named(state)] = self._named(one)
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as written):
                    self._values[name] = self._value(self._tensor(annotation), written)
                case ast.Return(value=ast.Tuple(elts=names)):
                    outputs = tuple(self._named(one) for one in names)
                case ast.Return(value=ast.expr() as one):
                    outputs = (self._named(one),)
                case _:
                    raise ValueError(f"{ast.unparse(line)!r} is no line of a graph")
        if set(after) != set(self._states):
            raise ValueError("a line for each state, and for nothing else, says what it holds afterwards")
        given = (value for value in self._values.values() if value.operator is None and value not in after)
        return Graph((*given, *after), (*outputs, *after.values()), tuple(self._states[state] for state in after))

    def _value(self, tensor: Tensor, written: ast.expr) -> Value:
        facts: dict[str, Any] = {}
        if isinstance(written, ast.Call) and isinstance(written.func, ast.Attribute):
            facts = {keyword.arg: self._field(keyword.value) for keyword in written.keywords if keyword.arg}
            if written.args:
                facts["source"] = self._field(written.args[0])
            written = written.func.value
        if not isinstance(written, ast.Call) or not isinstance(written.func, ast.Name):
            raise ValueError(f"{ast.unparse(written)!r} is no operator of a graph")
        if written.func.id == "input":
            return Value(tensor, source=self._field(written.args[0]))
        if written.func.id == "state":
            state = Value(tensor, source=self._field(written.args[0]))
            self._states[state] = np.asarray(self._field(written.args[1]))
            return state
        if written.func.id not in self._operators:
            raise ValueError(f"{written.func.id!r} is no operator of a graph")
        own = {keyword.arg: self._field(keyword.value) for keyword in written.keywords if keyword.arg}
        if written.func.id == Opaque.called:
            own[_FUNCTION] = self._functions[own[_FUNCTION]]
        operator = self._operators[written.func.id](**own)
        inputs = tuple(self._named(argument) for argument in written.args)
        result = operator.result(*(x.tensor for x in inputs))
        if result != tensor:
            raise ValueError(f"{ast.unparse(written)!r} is of type {_type(result)}, not {_type(tensor)}")
        return Value(tensor, operator, inputs, **facts)

    def _named(self, name: ast.expr) -> Value:
        if not isinstance(name, ast.Name) or name.id not in self._values:
            raise ValueError(f"{ast.unparse(name)!r} is no tensor of a line before")
        return self._values[name.id]

    def _tensor(self, annotation: ast.expr) -> Tensor:
        match annotation:
            case ast.Subscript(value=ast.Name(id=dtype), slice=extents):
                shape = self._field(extents if isinstance(extents, ast.Tuple) else ast.Tuple([extents]))
                return Tensor(shape, dtype)
            case _:
                raise ValueError(f"{ast.unparse(annotation)!r} is no type of a tensor, such as int8[1, 4]")

    def _field(self, written: ast.expr) -> Any:
        match written:
            case ast.Tuple(elts=inside):
                return tuple(map(self._field, inside))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                own = {keyword.arg: self._field(keyword.value) for keyword in keywords if keyword.arg}
                given = [self._field(argument) for argument in arguments]
                return self._parts[name](*given, **own) if name in self._parts else self._array(name, *given)
            case _:
                return ast.literal_eval(written)

    def _array(self, dtype: str, given: Any, more: Any = None) -> Any:
        if isinstance(more, str):
            return self._known[more]
        if more is not None:
            return np.full(more, given, dtype)
        return np.array(given, dtype) if isinstance(given, list) else np.dtype(dtype).type(given)
