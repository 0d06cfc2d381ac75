"""Reads the typed graph from a Relay function in integer form.

An operator is recognised from its last Relay operator backwards. What has no class in `match.graph` is opaque: each of
these Relay operators by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from match.graph import moves
from match.graph.integers import Once
from match.graph.make import named
from match.graph.maximum import Maximum
from match.graph.moves import Columns, Concatenate
from match.graph.opaque import Constant, Opaque
from match.graph.operator import Array, Operator
from match.graph.value import Graph, Value
from match.graph.work import Work
from match.ir.deviation import Deviation
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.ir.moves import RESHAPES
from match.relay import readers, relay, tvm
from match.relay.execute import Executable
from match.relay.fixed_point import ALONE
from match.relay.graph import post_order
from match.relay.integers import (
    read_difference,
    read_elementwise,
    read_entries,
    read_extreme,
    read_place,
    read_saturate,
)
from match.relay.objects import operands
from match.relay.places import parts_of
from match.relay.read import Read
from match.relay.rewrite import (
    constant,
    dtype,
    is_8bit,
    is_call,
    is_narrow,
    operator_name,
    permutation,
    rebuild,
    scalar,
    shape,
    source_name,
)
from match.relay.work import is_reference, work_of


@dataclass(frozen=True, eq=False)
class Form:
    """An operator as Relay has it.

    root: the expression whose value it computes. inputs: what it is computed from. covered: the calls and tuples from
    the root back to the inputs.
    """

    operator: Operator
    root: relay.Expr
    inputs: tuple[relay.Expr, ...]
    covered: tuple[relay.Expr, ...]
    exact: bool = True
    deviation: Deviation | None = None


@dataclass(frozen=True, eq=False)
class Fragment:
    """What an expression is in the graph where its shape alone does not say it, as of quantized operators.

    inputs: what it is computed from. build: makes its tensor of theirs.
    """

    inputs: tuple[relay.Expr, ...]
    build: Callable[..., Value]


FragmentReader = Callable[[relay.Call], Fragment | None]
"""What a typed call is; None for calls that it does not know."""


@dataclass(frozen=True, eq=False)
class GraphReading:
    """The graph of a function: the value of each tensor that it computes, and the form of each operator by its root.

    What has no class has a form, too: one Relay operator, or a field of its tuple.
    """

    main: relay.Function
    graph: Graph
    values: Mapping[relay.Expr, Value]
    forms: Mapping[relay.Expr, Form]

    @property
    def module(self) -> tvm.IRModule:
        """The function as a module."""
        return tvm.IRModule.from_expr(self.main)


def read_graph(
    main: relay.Function,
    known: Mapping[relay.Expr, Form] | None = None,
    fragment: FragmentReader = lambda _: None,
    rest: FragmentReader = lambda _: None,
) -> GraphReading:
    """The graph of a typed function.

    Args:
        main: the function.
        known: operators that the caller has recognised, by their roots.
        fragment: is asked about other calls, before they are taken for operators in integer form.
        rest: is asked about calls that are none.
    """
    return _GraphReader(main, known or {}, fragment, rest).reading


class _GraphReader:
    def __init__(
        self, main: relay.Function, known: Mapping[relay.Expr, Form], fragment: FragmentReader, rest: FragmentReader
    ) -> None:
        self._values: dict[relay.Expr, Value] = {}
        self._forms: dict[relay.Expr, Form] = {}
        order = post_order(main)
        forms = _forms(order, known, fragment, rest)
        for expr in _computed(order, main.body, forms):
            self._add(expr, forms.get(expr))
        for parameter in main.params:
            self._add(parameter, None)
        inputs = tuple(self._values[parameter] for parameter in main.params)
        outputs = tuple(self._values[expr] for expr in fields(main.body))
        self.reading = GraphReading(main, Graph(inputs, outputs), self._values, self._forms)

    def _add(self, expr: relay.Expr, form: Form | Fragment | None) -> None:
        """The value of an expression whose operands have theirs; a tuple has none."""
        if expr in self._values or not isinstance(expr.checked_type, tvm.ir.TensorType):
            return
        tensor = Tensor(shape(expr), dtype(expr))
        if isinstance(expr, relay.Var):
            self._values[expr] = Value(tensor, source=expr.name_hint)
        elif isinstance(expr, relay.Constant):
            self._values[expr] = Value(tensor, Constant(array=cast("Array", constant(expr))))
        elif isinstance(form, Fragment):
            value = named(form.build(*(self._values[source] for source in form.inputs)), source_name(expr))
            assert value.tensor == tensor, f"{value.tensor} stands for {tensor}"
            self._values[expr] = value
        elif form is None and _is_idle(expr):
            self._values[expr] = self._values[operands(expr)[0]]
        else:
            form = form or read_form(expr) or _opaque(expr, tensor)
            self._forms[expr] = form
            inputs = tuple(self._values[source] for source in form.inputs)
            parts = max(parts_of(inside) for inside in form.covered) if form.covered else 1
            source = first_source(form)
            self._values[expr] = Value(tensor, form.operator, inputs, form.exact, source, parts, form.deviation)


def _opaque(expr: relay.Expr, tensor: Tensor) -> Form:
    """An operator without a class: what a call computes, or one of the tensors."""
    inputs = tuple(dict.fromkeys(source for operand in operands(expr) for source in fields(operand)))
    call, function = called(expr), RelayFunction(expr, inputs)
    operator = Opaque(name=operator_name(call), tensor=tensor, function=function)
    return Form(operator, expr, inputs, covered(expr, inputs), is_reference(call))


def _is_idle(expr: relay.Expr) -> bool:
    """Whether a call returns its operand unchanged."""
    if is_call(expr, "cast"):
        return dtype(expr.args[0]) == dtype(expr)
    if is_call(expr, "tile", "broadcast_to", "copy"):
        return shape(expr.args[0]) == shape(expr)
    if is_call(expr, "clip") and is_8bit(expr):
        low, high = value_range(dtype(expr))
        return bool(expr.attrs.a_min <= low and expr.attrs.a_max >= high)
    if is_call(expr, "strided_slice"):
        forwards = all(int(stride) > 0 for stride in expr.attrs.strides)
        return forwards and shape(expr.args[0]) == shape(expr)
    return False


def first_source(form: Form) -> str:
    """The name in the model of the first of the form's operators that has one."""
    names = (source_name(expr) for expr in reversed(form.covered))
    return next((name for name in names if name), "")


def fields(expr: relay.Expr) -> list[relay.Expr]:
    """The tensors that an expression hands on: the fields of a tuple, those of an operator's tuple, or itself."""
    if isinstance(expr, relay.Tuple):
        return [tensor for part in expr.fields for tensor in fields(part)]
    if isinstance(expr.checked_type, tvm.ir.TensorType):
        return [expr]
    return [tensor for operand in operands(expr) for tensor in fields(operand)]


def covered(root: relay.Expr, inputs: tuple[relay.Expr, ...]) -> tuple[relay.Expr, ...]:
    """The calls and tuples of a form, from `root` back to `inputs`."""
    found: dict[relay.Expr, None] = {}
    pending = [root]
    while pending:
        expr = pending.pop()
        if isinstance(expr, (relay.Call, relay.Tuple)) and expr not in inputs and expr not in found:
            found[expr] = None
            pending += operands(expr)
    return tuple(found)


def _forms(
    order: Sequence[relay.Expr],
    known: Mapping[relay.Expr, Form],
    fragment: FragmentReader,
    rest: FragmentReader,
) -> dict[relay.Expr, Form | Fragment]:
    """The operators of a function by their roots; no two cover the same call, but for padding that they share."""
    taken: set[relay.Expr] = set()
    found: dict[relay.Expr, Form | Fragment] = {}
    for expr in reversed(order):
        if expr in taken:
            continue
        part = fragment(expr) if isinstance(expr, relay.Call) else None
        if part is not None:
            taken.update(covered(expr, part.inputs))
            found[expr] = part
            continue
        form = known.get(expr)
        form = form or (None if _is_idle(expr) else read_form(expr))
        if form is not None:
            taken.update(form.covered)
            found[expr] = form
            continue
        part = rest(expr) if isinstance(expr, relay.Call) else None
        if part is not None:
            taken.update(covered(expr, part.inputs))
            found[expr] = part
    return found


def read_form(root: relay.Expr) -> Form | None:
    """The operator of the graph that ends in a typed expression."""
    if isinstance(root, relay.TupleGetItem):
        return _part(root)
    if not isinstance(root, relay.Call):
        return None
    move = _moved(root)
    if move is not None:
        operator, inputs = move
        return Form(operator, root, inputs, covered(root, inputs))
    read = next((read for reader in _READERS if (read := reader(root)) is not None), None)
    return None if read is None else Form(read.operator, root, read.operands, covered(root, read.operands), read.exact)


def _part(root: relay.TupleGetItem) -> Form | None:
    """A part of a split, as a slice."""
    split = root.tuple_value
    if not is_call(split, "split"):
        return None
    (x,), axis = split.args, int(split.attrs.axis) % len(shape(split.args[0]))
    sizes = [int(kind.shape[axis]) for kind in split.checked_type.fields]
    begin = sum(sizes[: root.index])
    columns: list[Columns | None] = [None] * len(shape(x))
    columns[axis] = np.arange(begin, begin + sizes[root.index], dtype=np.int32)
    return Form(moves.take(Tensor(shape(x), dtype(x)), columns), root, (x,), (split,))


_Reader = Callable[[relay.Expr], Read[Operator] | None]


def _once(root: relay.Expr) -> Read[Once] | None:
    """A tensor that is computed once."""
    return Read(Once(), (root.args[0],)) if is_call(root, ALONE) else None


def _maximum(root: relay.Expr) -> Read[Maximum] | None:
    """A maximum pooling of integers, in NHWC."""
    if not is_call(root, "nn.max_pool2d") or str(root.attrs.layout) != "NHWC" or not is_narrow(root):
        return None
    (fy, fx), strides, dilation = root.attrs.pool_size, root.attrs.strides, root.attrs.dilation
    if root.attrs.ceil_mode:
        return None
    maximum = Maximum(
        window=(int(fy), int(fx)),
        strides=(int(strides[0]), int(strides[1])),
        padding=Padding(*(int(side) for side in root.attrs.padding)),
        dilation=(int(dilation[0]), int(dilation[1])),
    )
    return Read(maximum, (root.args[0],))


_READERS: tuple[_Reader, ...] = (
    _maximum,
    readers.read_lookup,
    readers.read_addition,
    readers.read_multiplication,
    readers.read_matrices,
    readers.read_layer,
    readers.read_sums,
    read_place,
    read_extreme,
    read_difference,
    read_saturate,
    read_entries,
    read_elementwise,
    _once,
)


def _moved(root: relay.Call) -> tuple[Operator, tuple[relay.Expr, ...]] | None:
    """An operator that hands on elements as they are, and its inputs."""
    if is_call(root, "concatenate"):
        axis = int(root.attrs.axis) % len(shape(root))
        return (Concatenate(axis=axis), tuple(fields(root.args[0]))) if isinstance(root.args[0], relay.Tuple) else None
    if not root.args or not isinstance(root.args[0].checked_type, tvm.ir.TensorType):
        return None
    x = root.args[0]
    before = Tensor(shape(x), dtype(x))
    if is_call(root, *RESHAPES):
        return moves.reshape(before, shape(root)), (x,)
    if is_call(root, "transpose"):
        return moves.transpose(before, permutation(root)), (x,)
    indices = _taken(root) or _sliced(root) or _reversed(root) or _tiled(root)
    if indices is not None:
        return moves.take(before, indices), (x,)
    padded = _padded(root)
    return None if padded is None else (moves.take(before, *padded), (x,))


def _taken(root: relay.Call) -> list[Columns | None] | None:
    """The indices along each axis of a `take` with constant indices; an axis that is left out has all."""
    if not is_call(root, "take") or root.attrs.axis is None or constant(root.args[0]) is not None:
        return None
    before, indices = shape(root.args[0]), constant(root.args[1])
    axis = int(root.attrs.axis) % len(before)
    if indices is None or indices.ndim != 1 or indices.min() < 0 or indices.max() >= before[axis]:
        return None
    return [indices.astype(np.int32) if place == axis else None for place in range(len(before))]


def _sliced(root: relay.Call) -> list[Columns | None] | None:
    """The indices along each axis of a slice."""
    if not is_call(root, "strided_slice") or str(root.attrs.slice_mode) != "end":
        return None
    attrs, before, after = root.attrs, shape(root.args[0]), shape(root)
    axes = range(len(attrs.begin)) if attrs.axes is None else [int(axis) % len(before) for axis in attrs.axes]
    steps = [int(step) for step in attrs.strides] or [1]
    steps *= len(axes) if len(steps) == 1 else 1
    found: list[Columns | None] = [None] * len(before)
    for axis, begin, step in zip(axes, attrs.begin, steps, strict=True):
        first = int(begin)
        first = min(max(first + before[axis] if first < 0 else first, 0), before[axis] - 1)
        if after[axis] != before[axis] or step < 0:
            found[axis] = (first + step * np.arange(after[axis])).astype(np.int32)
    return found


def _reversed(root: relay.Call) -> list[Columns | None] | None:
    """The indices along each axis of a tensor whose elements are turned around along one."""
    if not is_call(root, "reverse"):
        return None
    extents = shape(root)
    axis = int(root.attrs.axis) % len(extents)
    return [np.arange(extent, dtype=np.int32)[::-1] if own == axis else None for own, extent in enumerate(extents)]


def _tiled(root: relay.Call) -> list[Columns | None] | None:
    """The indices along each axis of a tensor that is repeated, or broadcast along axes of one element."""
    if not is_call(root, "tile", "broadcast_to"):
        return None
    before, after = shape(root.args[0]), shape(root)
    if len(before) != len(after):
        return None
    return [
        np.tile(np.arange(extent, dtype=np.int32), whole // extent) if whole != extent else None
        for extent, whole in zip(before, after, strict=True)
    ]


def _padded(root: relay.Call) -> tuple[list[Columns | None], int] | None:
    """The indices along each axis of a tensor that is padded with its own elements or a constant, and the constant."""
    if not is_call(root, "nn.pad") or scalar(root.args[1]) is None:
        return None
    mode: Any = str(root.attrs.pad_mode)
    own: dict[str, Any] = {"constant_values": moves.FILL} if mode == "constant" else {}
    widths = [(int(before), int(after)) for before, after in root.attrs.pad_width]
    if min(min(width) for width in widths) < 0 or not dtype(root).startswith(("int", "uint")):
        return None
    extents = shape(root.args[0])
    columns: list[Columns | None] = [
        np.pad(np.arange(extent, dtype=np.int32), width, mode, **own) if any(width) else None
        for extent, width in zip(extents, widths, strict=True)
    ]
    return columns, int(scalar(root.args[1]))


def _computed(
    order: Iterable[relay.Expr], body: relay.Expr, forms: Mapping[relay.Expr, Form | Fragment]
) -> Iterable[relay.Expr]:
    """The expressions that the graph has values for, in order: what is inside a form alone has none."""
    needed: set[relay.Expr] = set()
    pending = [body]
    while pending:
        expr = pending.pop()
        if expr in needed:
            continue
        needed.add(expr)
        pending += forms[expr].inputs if expr in forms else operands(expr)
    return [expr for expr in order if expr in needed]


class RelayFunction:
    """An expression as a function of arrays that stand for `inputs`; TVM compiles it when it is called first.

    done: what the control core does for it, where that is not just one operator.
    """

    def __init__(self, expr: relay.Expr, inputs: Sequence[relay.Expr], done: Work | None = None) -> None:
        self.expr, self.inputs = expr, tuple(inputs)
        self.done = done or work_of(called(expr))

    @classmethod
    def of(cls, written: str) -> RelayFunction:
        """The function of a text that `written` was."""
        function = tvm.ir.load_json(written)
        return cls(function.body, list(function.params))

    def written(self) -> str:
        """The function as TVM writes it."""
        return self._written

    @cached_property
    def _written(self) -> str:
        return tvm.ir.save_json(self._module["main"])

    def __call__(self, *arrays: Array) -> Array:
        """Its result."""
        (result,) = self._executable({f"input_{number}": array for number, array in enumerate(arrays)})
        return result

    @cached_property
    def _executable(self) -> Executable:
        return Executable(self._module)

    @cached_property
    def _module(self) -> tvm.IRModule:
        variables = {
            x: relay.var(f"input_{number}", shape=shape(x), dtype=dtype(x)) for number, x in enumerate(self.inputs)
        }

        replaced: dict[relay.Expr, relay.Expr] = dict(variables)

        def new(expr: relay.Expr) -> relay.Expr:
            if expr not in replaced:
                replaced[expr] = rebuild(expr, new)
            return replaced[expr]

        function = relay.Function(list(variables.values()), new(self.expr))
        return relay.transform.InferType()(tvm.IRModule.from_expr(function))


def called(expr: relay.Expr) -> relay.Call:
    """The call that an expression is, or a field of its tuple."""
    while isinstance(expr, relay.TupleGetItem):
        expr = expr.tuple_value
    assert isinstance(expr, relay.Call), "what is neither a field nor a call has a value by itself"
    return expr
