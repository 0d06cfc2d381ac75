"""Relay made ready for TVM's AOT executor in C, around seven of its faults.

- It prints float constants with seven digits. float32 needs nine.
- It fails at arrays of truth values.
- It names C variables like inputs, and the name of an input may begin with a digit.
- If several outputs are one tensor, reshaped or not, it writes one of them.
- If several operators read one tuple, it reserves memory for the tuple's fields, which nobody writes.
- For each argmax it prints a page of its own terms on the terminal.
- It infers all types some thirty times. So functions whose C comes from a plan have no body here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from match.dispatch.plan_codec import PLAN_ATTRIBUTE
from match.ir.moves import REARRANGEMENTS
from match.relay import relay, tvm
from match.relay.rewrite import dtype, is_call, operator_name, rebuild, shape

_MOST_PLACES = 2**22
"""Along an axis: times 256 they fit 31 bits."""

_BROADCASTING = frozenset(
    {"add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "where"}
    | {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
)


def prepare(module: tvm.IRModule) -> tvm.IRModule:
    """The module as TVM's executor takes it.

    A float constant that print would change is an array. No two outputs are one tensor. The argmax of 8-bit integers is
    computed from keys. Arrays of truth values become int8 and are converted where they are read. Functions with a plan
    keep only their interface: their C comes from the plan, later.

    Args:
        module: "main" and the functions it calls, types inferred.
    """
    main = module["main"]
    replaced: dict[relay.Expr, relay.Expr] = {}
    read: set[relay.Expr] = set()

    def operand(argument: relay.Expr) -> relay.Expr:
        """What an argument of a call became; a tuple that another call reads, too, once more."""
        again, now = argument in read, replaced[argument]
        read.add(argument)
        return relay.Tuple(now.fields) if again and isinstance(now, relay.Tuple) else now

    def visit(expr: Any) -> None:
        if isinstance(expr, relay.Call):
            place = _place_by_keys(expr, replaced)
            if place is not None:
                replaced[expr] = place
                return
            exact = _exact if operator_name(expr) in _BROADCASTING and expr.checked_type.shape else _same
            replaced[expr] = rebuild(expr, lambda argument: exact(operand(argument)))
        elif isinstance(expr, relay.Tuple | relay.TupleGetItem):
            replaced[expr] = rebuild(expr, replaced.__getitem__)
        else:
            replaced[expr] = _without_truth(expr)

    relay.analysis.post_order_visit(main.body, visit)
    body = replaced[main.body]
    if isinstance(body, relay.Tuple):
        body = relay.Tuple(_distinct(body.fields))
    functions = {name: _hollow(function) for name, function in module.functions.items() if name.name_hint != "main"}
    prepared = tvm.IRModule(functions)
    prepared["main"] = relay.Function(main.params, body, attrs=main.attrs)
    return relay.transform.InferType()(with_names_for_c(prepared))


def with_names_for_c(module: tvm.IRModule) -> tvm.IRModule:
    """The module with an underscore in front of each parameter of "main" that begins with a digit, types inferred."""
    main = module["main"]
    new = {
        parameter: relay.var(f"_{parameter.name_hint}", parameter.checked_type)
        for parameter in main.params
        if parameter.name_hint[:1].isdigit()
    }
    if not new:
        return module
    parameters = [new.get(parameter, parameter) for parameter in main.params]
    renamed = tvm.IRModule({name: function for name, function in module.functions.items() if name.name_hint != "main"})
    renamed["main"] = relay.Function(parameters, relay.bind(main.body, new), attrs=main.attrs)
    return relay.transform.InferType()(renamed)


def _place_by_keys(call: relay.Call, replaced: Mapping[relay.Expr, relay.Expr]) -> relay.Expr | None:
    """The argmax or argmin of widened 8-bit integers along an axis, read from the largest or smallest of int32 keys.

    A key is integer · extent + place, the place counted from the end where the first of equal maxima, or the last of
    equal minima, is wanted. None for other calls.
    """
    if not is_call(call, "argmax", "argmin") or call.attrs.exclude or len(call.attrs.axis or ()) != 1:
        return None
    integers, axis = call.args[0], int(call.attrs.axis[0])
    widened = integers
    while is_call(widened, *REARRANGEMENTS):
        widened = widened.args[0]
    if not is_call(widened, "cast") or dtype(widened.args[0]) not in ("int8", "uint8") or dtype(call) != "int32":
        return None
    extents = shape(integers)
    extent = extents[axis]
    if extent > _MOST_PLACES:
        return None
    largest = is_call(call, "argmax")
    backwards = largest != bool(call.attrs.select_last_index)
    places = np.arange(extent, dtype=np.int32)[:: -1 if backwards else 1]
    places = places.reshape([extent if at == axis % len(extents) else 1 for at in range(len(extents))])
    keys = relay.add(relay.multiply(replaced[integers], relay.const(extent, "int32")), relay.const(places))
    extreme = (relay.max if largest else relay.min)(keys, axis, call.attrs.keepdims)
    place = relay.floor_mod(extreme, relay.const(extent, "int32"))
    return relay.subtract(relay.const(extent - 1, "int32"), place) if backwards else place


def _hollow(function: relay.Function) -> relay.Function:
    """A function of the same parameters, result type and attributes but for the plan, which computes nothing."""
    kind = function.body.checked_type
    hollow = relay.Function(function.params, relay.zeros(kind.shape, kind.dtype), kind, attrs=function.attrs)
    return hollow.without_attr(PLAN_ATTRIBUTE)


def _same(argument: relay.Expr) -> relay.Expr:
    return argument


def _without_truth(expr: relay.Expr) -> relay.Expr:
    if not isinstance(expr, relay.Constant) or expr.data.dtype != "bool" or not expr.data.shape:
        return expr
    return relay.cast(relay.const(expr.data.numpy().astype(np.int8)), "bool")


def _exact(argument: relay.Expr) -> relay.Expr:
    if not isinstance(argument, relay.Constant) or argument.data.shape or "float" not in argument.data.dtype:
        return argument
    value = argument.data.numpy()
    if value.dtype.type(f"{float(value):e}") == value:
        return argument
    return relay.const(np.reshape(value, (1,)), argument.data.dtype)


def _distinct(outputs: Iterable[relay.Expr]) -> list[relay.Expr]:
    """The outputs, with a copy in place of those that share a tensor with one before."""
    seen: set[relay.Expr] = set()
    distinct: list[relay.Expr] = []
    for output in outputs:
        tensor = output
        while isinstance(tensor, relay.Call) and operator_name(tensor) and tensor.op.get_attr("TReshapeOp"):
            tensor = tensor.args[0]
        distinct.append(relay.copy(output) if tensor in seen else output)
        seen.add(tensor)
    return distinct
