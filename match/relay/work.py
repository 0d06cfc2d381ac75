"""What the control core does for one Relay operator that has no class, and whether that is what the reference does."""

from __future__ import annotations

import math

from match.graph.work import Loop, Work
from match.ir.layer import Op
from match.ir.moves import REARRANGEMENTS
from match.relay import relay, tvm
from match.relay.integer_form import is_real_sums
from match.relay.rewrite import dtype, is_call, operator_name, shape

_MATRICES = ("nn.dense", "nn.matmul", "nn.batch_matmul", "qnn.dense", "qnn.batch_matmul")
_CONVOLUTIONS = (
    *("nn.conv1d", "nn.conv2d", "nn.conv3d", "qnn.conv2d"),
    *("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose", "qnn.conv2d_transpose"),
)

_LOOPS = {0: Loop.ELEMENTS, 1: Loop.ELEMENTS, 2: Loop.MOVES, 3: Loop.REDUCTION, 4: Loop.PRODUCTS}
"""Loops by TVM's patterns of operators, attribute TOpPattern; others are loops of their own."""

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


def work_of(call: relay.Call) -> Work:
    """What is done for an operator, types inferred.

    It sums products if it is a layer whose sums stay 32 bits, or that computes in floating point. Products of matrices
    count as dense layers. Convolutions in any number of dimensions, and transposed ones, count as convolutions in two.
    """
    name = operator_name(call)
    pattern = call.op.get_attr("TOpPattern") if name else None
    loop = Loop.OTHER if pattern is None else _LOOPS.get(int(pattern), Loop.OTHER)
    op, macs = _products(call)
    return Work(name or "function", loop, op, macs, 0 if op else _combined(call, loop), _is_floating(call))


def is_reference(call: relay.Call) -> bool:
    """Whether an operator is known to compute the reference's numbers.

    Operators on integers do, because the integer form is the reference's; TVM's own fixed-point multiplication and
    tables of approximations do not. Operators on real numbers do if they move, compare or convert numbers, or round
    once with a constant, as between real and quantized numbers. For other operators it is not known how the reference
    computes, and in which order it sums.
    """
    name = operator_name(call)
    if name.startswith("fixed_point_multiply") or (name == "take" and is_real_sums(call.args[1])):
        return False
    if name == "cast" and dtype(call) == "float32" and _has_real_sums(call.args[0]):
        return False
    if not _is_floating(call):
        return True
    constants = [argument for argument in call.args if isinstance(argument, relay.Constant)]
    if name == "divide":  # by a scalar TVM multiplies by the reciprocal, which rounds otherwise
        return constants == [call.args[1]] and len(shape(call.args[1])) > 0
    if name == _WINDOWED_MEAN:  # a product with the reciprocal of their number
        return math.prod(map(int, call.attrs.pool_size)).bit_count() == 1
    return name in _EXACT_REALS or (name in _ROUNDED_ONCE and bool(constants))


def _is_floating(call: relay.Call) -> bool:
    """Whether it gives floating-point numbers, or takes them."""
    tensors = (call, *call.args)
    return any(isinstance(x.checked_type, tvm.ir.TensorType) and dtype(x).startswith("float") for x in tensors)


def _has_real_sums(expr: relay.Expr) -> bool:
    """Whether a tensor is sums of a layer that the reference computes in floating point, maybe with a bias."""
    while is_call(expr, *REARRANGEMENTS, "add", "nn.bias_add"):
        expr = expr.args[0]
    return is_real_sums(expr)


def _products(call: relay.Call) -> tuple[Op | None, int]:
    """The kind of layer, and its multiply-accumulates."""
    if is_call(call, *_MATRICES):
        return Op.DENSE, math.prod(shape(call)) * _summed(call)
    if not is_call(call, *_CONVOLUTIONS):
        return None, 0
    attrs, groups = call.attrs, int(call.attrs.groups)
    transposed = operator_name(call).endswith("_transpose")
    # An output of a convolution sums as many products as a filter has weights; transposed, an input is multiplied with
    # all those of its channel.
    tensor = call.args[0] if transposed else call
    layout = str(attrs.data_layout if transposed else attrs.out_layout or attrs.data_layout)
    channels = shape(tensor)[layout.index("C")]
    op = Op.CONV2D if groups == 1 else Op.DEPTHWISE_CONV2D
    return op, math.prod(shape(tensor)) * math.prod(shape(call.args[1])) // channels


def _summed(call: relay.Call) -> int:
    """How many products an element of a product of two matrices sums."""
    if is_call(call, "nn.dense", "qnn.dense"):
        return shape(call.args[1])[1]
    *_, rows, columns = shape(call.args[0])
    return rows if call.attrs.transpose_a else columns


def _combined(call: relay.Call, loop: Loop) -> int:
    """How many values a reduction or a pooling combines to all of its outputs; 0 of other operators."""
    if "pool" in operator_name(call):
        window = getattr(call.attrs, "pool_size", None)
        if window is not None:
            return math.prod(shape(call)) * math.prod(map(int, window))
        return math.prod(shape(call.args[0]))
    return math.prod(shape(call.args[0])) if loop is Loop.REDUCTION else 0
