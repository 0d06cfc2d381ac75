"""Relay that TVM lowers and prints as C as it should, around three of its faults.

- It prints float constants with seven digits. float32 needs nine.
- It fails at arrays of truth values.
- For each argmax it prints a page of its own terms on the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match.ir.moves import REARRANGEMENTS
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.rewrite import dtype, is_call, operator_name, rebuild, shape

_MOST_PLACES = 2**22
"""Along an axis: times 256 they fit 31 bits."""

_BROADCASTING = frozenset(
    {"add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "where"}
    | {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
)


def printable(module: tvm.IRModule) -> tvm.IRModule:
    """The functions of a module, which call operators only, as TVM prints them, types inferred.

    A float constant that print would change is an array. The argmax of 8-bit integers is computed from keys. Arrays of
    truth values become int8 and are converted where they are read.
    """
    functions = {name: _printable(function) for name, function in module.functions.items()}
    return relay.transform.InferType()(tvm.IRModule(functions))


def _printable(function: relay.Function) -> relay.Function:
    replaced: dict[relay.Expr, relay.Expr] = {}
    for expr in post_order(function):
        if isinstance(expr, relay.Call):
            exact = _exact if operator_name(expr) in _BROADCASTING and expr.checked_type.shape else _same
            place = _place_by_keys(expr, replaced)
            replaced[expr] = place or rebuild(expr, lambda argument, exact=exact: exact(replaced[argument]))
        elif isinstance(expr, relay.Tuple | relay.TupleGetItem):
            replaced[expr] = rebuild(expr, replaced.__getitem__)
        else:
            replaced[expr] = _without_truth(expr)
    return relay.Function(function.params, replaced[function.body], attrs=function.attrs)


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
