"""A network as a list of rows in the order of computation: layers, and the operators between them."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence

from match.ir.layer import Op
from match.ir.moves import REARRANGEMENTS
from match.partitioning.pattern.types import Match, Rejection
from match.relay import relay, tvm
from match.relay.fixed_point import ALONE, inside
from match.relay.graph import post_order, users
from match.relay.integer_form import is_real_sums
from match.relay.rewrite import dtype, is_call, operator_name, shape

_MATRICES = ("nn.dense", "nn.matmul", "nn.batch_matmul", "qnn.dense", "qnn.batch_matmul")
_CONVOLUTIONS = (
    *("nn.conv1d", "nn.conv2d", "nn.conv3d", "qnn.conv2d"),
    *("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose", "qnn.conv2d_transpose"),
)

_ELEMENTWISE = (0, 1)
"""TVM's operator patterns, attribute TOpPattern, of element-wise and broadcasting operators."""

_REDUCTION = 3
"""The same of operators that combine elements along axes."""

_MOVES = frozenset(
    {*REARRANGEMENTS, "strided_slice", "concatenate", "split", "take", "nn.pad", "layout_transform"}
    | {"broadcast_to", "tile", "repeat", "stack", "reverse", "copy"}
)
_ROUNDED_ONCE = frozenset({"add", "subtract", "multiply"})
_EXACT_REALS = _MOVES | {
    *("cast", "clip", "round", "floor", "ceil", "abs", "negative", "where"),
    *("nn.relu", "maximum", "minimum", "max", "min", "argmax", "argmin", "nn.max_pool2d"),
}
_WINDOWED_MEAN = "nn.avg_pool2d"
"""The mean over windows of real numbers, summed in the order of onnxruntime's kernel.

The last bit of an output may differ if the number of values in a window is not a power of two.
"""

CoreCalls = tuple[relay.Call, ...]
"""Operators that TVM fuses into one loop, or all operators of a function in fixed point, in order of computation.

Mostly it is one operator.
"""

FIXED_POINT = "fixed_point"
"""The name of a function of dozens of operators that is not a function of a row (a step of an LSTM)."""


def rows(main: relay.Function, found: Iterable[Match | Rejection]) -> tuple[Match | Rejection | CoreCalls, ...]:
    """The layers in `found` and the operators that none of them covers, in execution order."""
    by_root = {layer.root: layer for layer in found}
    covered = {expr for layer in by_root.values() for expr in layer.covered}
    used_by = users(main)
    order = post_order(main)
    functions, function_of = _functions(order, covered)
    covered.update(function_of)
    ordered: dict[relay.Expr, Match | Rejection | CoreCalls] = {}  # by the last operator
    for expr in order:
        if expr in by_root:
            ordered[expr] = by_root[expr]
        elif expr in functions:
            ordered[expr] = tuple(functions[expr])
        elif isinstance(expr, relay.Call) and expr not in covered:
            feeding = [ordered.get(x, ()) for x in expr.args if len(used_by[x]) == 1]
            loops = [calls for calls in feeding if isinstance(calls, tuple) and calls and calls[0] not in covered]
            continued = next((calls for calls in loops if _continues(expr, calls[-1])), ())
            if continued:
                del ordered[continued[-1]]
            ordered[expr] = (*continued, expr)
    return tuple(ordered.values())


def _functions(
    order: Sequence[relay.Expr], covered: Container[relay.Expr]
) -> tuple[dict[relay.Expr, list[relay.Call]], dict[relay.Call, relay.Expr]]:
    """The operators of each function in fixed point, by its last one and in order, and the function of each operator.

    An operator belongs to the first function that needs it.
    """
    function_of: dict[relay.Call, relay.Expr] = {}
    for root in order:
        if root not in covered:
            function_of |= dict.fromkeys(inside(root, function_of), root)
    functions: dict[relay.Expr, list[relay.Call]] = {}
    for expr in order:
        if isinstance(expr, relay.Call) and expr in function_of:
            functions.setdefault(function_of[expr], []).append(expr)
    return functions, function_of


def called(calls: CoreCalls) -> str:
    """The name of the operators in a report."""
    names = [operator_name(call) or "function" for call in calls if not is_call(call, ALONE)]
    if any(is_call(call, ALONE) for call in calls[:-1]):  # which ends a loop
        return Op.SOFTMAX.value if "max" in names else FIXED_POINT
    return "+".join(names) or ALONE


def is_floating(calls: CoreCalls) -> bool:
    """Whether any of the operators gives floating-point numbers, or takes them."""
    tensors = [tensor for call in calls for tensor in (call, *call.args)]
    return any(isinstance(x.checked_type, tvm.ir.TensorType) and dtype(x).startswith("float") for x in tensors)


def is_reference(calls: CoreCalls) -> bool:
    """Whether the operators are known to compute the reference's numbers.

    Operators on integers do, because the integer form is the reference's; TVM's own fixed-point multiplication and
    tables of approximations do not. Operators on real numbers do if they move, compare or convert numbers, or round
    once with a constant, as between real and quantized numbers. For other operators it is not known how the reference
    computes, and in which order it sums.
    """
    return all(_is_reference(call) for call in calls)


def _is_reference(call: relay.Call) -> bool:
    name = operator_name(call)
    if name.startswith("fixed_point_multiply") or (name == "take" and is_real_sums(call.args[1])):
        return False
    if name == "cast" and dtype(call) == "float32" and _has_real_sums(call.args[0]):
        return False
    if not is_floating((call,)):
        return True
    constants = [argument for argument in call.args if isinstance(argument, relay.Constant)]
    if name == "divide":  # by a scalar TVM multiplies by the reciprocal, which rounds otherwise
        return constants == [call.args[1]] and len(shape(call.args[1])) > 0
    if name == _WINDOWED_MEAN:  # of marked numbers the reference adds up in an order that is not known
        numbers = call.args[0]
        while is_call(numbers, "nn.pad", *REARRANGEMENTS):
            numbers = numbers.args[0]
        return not is_real_sums(numbers) and math.prod(map(int, call.attrs.pool_size)).bit_count() == 1
    return name in _EXACT_REALS or (name in _ROUNDED_ONCE and bool(constants))


def _has_real_sums(expr: relay.Expr) -> bool:
    """Whether a tensor is sums of a layer that the reference computes in floating point, maybe with a bias."""
    while is_call(expr, *REARRANGEMENTS, "add", "nn.bias_add"):
        expr = expr.args[0]
    return is_real_sums(expr)


def products(calls: CoreCalls) -> tuple[Op, int] | None:
    """The kind of layer of the operators, and its multiply-accumulates; None if they sum no products.

    Such operators are layers whose sums stay 32 bits, or are scaled in floating point. Products of matrices count as
    dense layers. Convolutions in any number of dimensions, and transposed ones, count as convolutions in two. If there
    are several, the first one decides the kind.
    """
    found = [one for call in calls if (one := _products(call))]
    return (found[0][0], sum(macs for _, macs in found)) if found else None


def has_real_products(calls: CoreCalls) -> bool:
    """Whether any of the operators multiplies and sums in floating point, as layers do that nothing quantized."""
    return any(_products(call) is not None and is_floating((call,)) for call in calls)


def _products(call: relay.Call) -> tuple[Op, int] | None:
    if is_call(call, *_MATRICES):
        return Op.DENSE, math.prod(shape(call)) * _summed(call)
    if not is_call(call, *_CONVOLUTIONS):
        return None
    attrs, groups = call.attrs, int(call.attrs.groups)
    transposed = str(operator_name(call)).endswith("_transpose")
    # An output of a convolution sums as many products as a filter has weights; transposed, an input is multiplied with
    # all those of its channel.
    tensor = call.args[0] if transposed else call
    layout = str(attrs.data_layout if transposed else attrs.out_layout or attrs.data_layout)
    channels = shape(tensor)[layout.index("C")]
    op = Op.CONV2D if groups == 1 else Op.DEPTHWISE_CONV2D
    return op, math.prod(shape(tensor)) * math.prod(shape(call.args[1])) // channels


def combined(calls: CoreCalls) -> int:
    """How many values a reduction or a pooling combines to all of its outputs; 0 of other operators.

    Either is a loop of its own.
    """
    own = [call for call in calls if not is_call(call, ALONE)]
    if len(own) != 1:
        return 0
    (call,) = own
    if "pool" in operator_name(call):
        window = getattr(call.attrs, "pool_size", None)
        if window is not None:
            return math.prod(shape(call)) * math.prod(map(int, window))
        return math.prod(shape(call.args[0]))
    return math.prod(shape(call.args[0])) if _pattern(call) == _REDUCTION else 0


def _summed(call: relay.Call) -> int:
    """How many products an element of a product of two matrices sums."""
    if is_call(call, "nn.dense", "qnn.dense"):
        return shape(call.args[1])[1]
    *_, rows, columns = shape(call.args[0])
    return rows if call.attrs.transpose_a else columns


def _continues(call: relay.Call, previous: relay.Call) -> bool:
    """Whether TVM fuses `call`, element by element, into the loop of `previous`."""
    if is_call(call, ALONE):
        return True
    return _elementwise(call) and _elementwise(previous) and shape(call) == shape(previous)


def _elementwise(call: relay.Call) -> bool:
    return _pattern(call) in _ELEMENTWISE


def _pattern(call: relay.Call) -> int | None:
    """TVM's pattern of an operator, if it has one."""
    pattern = call.op.get_attr("TOpPattern") if operator_name(call) else None
    return None if pattern is None else int(pattern)
