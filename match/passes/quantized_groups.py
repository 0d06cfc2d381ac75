"""dequantize → operator → quantize groups, as ONNX writes quantized layers, to QNN operators.

Groups are those that onnxruntime fuses. Operators that only move values lose the dequantize and quantize around them;
functions of one value become tables; what is left keeps both and computes in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.ir.dtypes import value_range
from match.passes.element_functions import function_of
from match.passes.gathers import nearest, taken
from match.passes.planes import plane_of
from match.relay import integer_form, relay, tvm
from match.relay.float_arithmetic import divided, half_to_even
from match.relay.qnn import Dequantized, dequantized, quantization, quantized
from match.relay.rewrite import New, constant, dtype, is_call, reached, rewrite, scalar, shape
from match.relay.windows_inside import AlikeWindows, alike_windows, pooled_inside

_MOVES = frozenset(
    {"reshape", "transpose", "squeeze", "expand_dims", "nn.batch_flatten", "strided_slice"}
    | {"nn.max_pool2d", "nn.depth_to_space", "nn.space_to_depth", "tile"}
)
_MATRIX_MOVES = ("reshape", "transpose", "squeeze", "expand_dims", "broadcast_to")
_RESIZE = "image.resize2d"
_TRANSPOSED = "nn.conv2d_transpose"
_LINEAR = ("nn.conv2d", _TRANSPOSED, "nn.dense")


Fusion = Callable[[relay.Expr, QuantizedType, New], relay.Expr | None]
"""What an expression between dequantize and quantize becomes, for outputs of a type; None for other expressions."""


@dataclass(frozen=True)
class FuseQuantizedGroups:
    """Rewrites each group that ends in `qnn.quantize`, and changes of scale between them.

    What is not `exact` may be within one step: average pooling of parts of a map, which onnxruntime sums in float32.
    """

    exact: bool = True

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, partial(_rule, _FUSED if self.exact else (_close_average, *_FUSED)))


def _rule(fusions: Sequence[Fusion], call: relay.Call, new: New) -> relay.Expr | None:
    if is_call(call, "qnn.concatenate"):
        return _scaled_concatenation(call, new)
    output = quantized(call)
    if output is None:
        return None
    inner, clip = _clamped(call.args[0], output)
    for fuse in fusions:
        fused = fuse(inner, output, new)
        if fused is not None:
            return fused if clip == value_range(output.dtype) else relay.clip(fused, *clip)
    return _table(call.args[0], output, new) or _sloped(call.args[0], output, new) or _moved(call.args[0], output, new)


def _clamped(expr: relay.Expr, output: QuantizedType) -> tuple[relay.Expr, tuple[int, int]]:
    """An expression without the activations around it, and the output values that they leave."""
    low, high = value_range(output.dtype)
    while True:
        if is_call(expr, "nn.relu"):
            bounds = 0.0, np.inf
        elif is_call(expr, "clip"):
            bounds = float(expr.attrs.a_min), float(expr.attrs.a_max)
        else:
            return expr, (low, high)
        first, last = (
            int(np.clip(np.rint(np.float32(bound) / output.scale) + output.zero_point, low, high)) for bound in bounds
        )
        low, high = max(low, first), min(high, last)
        expr = expr.args[0]


def _linear(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A convolution or dense layer with constant weights."""
    operator, bias = expr, None
    if is_call(expr, "nn.bias_add", "add") and is_call(expr.args[0], *_LINEAR):
        operator, bias = expr.args[0], expr.args[1]
    if not is_call(operator, *_LINEAR) or (is_call(operator, _TRANSPOSED) and not _is_plain(operator)):
        return None
    real, kernel = dequantized(operator.args[0]), _kernel(operator)
    if real is None or kernel is None:
        return None
    values, scale, zero_point = kernel
    x = real.quantization
    scales = relay.const(x.scale), relay.const(scale)
    zero_points = relay.const(x.zero_point, "int32"), relay.const(zero_point)
    attrs = operator.attrs
    if is_call(operator, "nn.dense"):
        units, axis = len(values), 1
        result = relay.qnn.op.dense(new(real.x), relay.const(values), *zero_points, *scales, units)
    elif is_call(operator, _TRANSPOSED):
        axis, units = 1, shape(operator)[1]
        result = relay.qnn.op.conv2d_transpose(
            new(real.x),
            relay.const(values),
            *zero_points,
            *scales,
            strides=attrs.strides,
            padding=attrs.padding,
            channels=units,
            kernel_size=attrs.kernel_size,
            output_padding=attrs.output_padding,
            data_layout="NCHW",
            kernel_layout=attrs.kernel_layout,
        )
        result = integer_form.real_sums(result)  # onnxruntime has no kernel in integers
    else:
        axis = str(attrs.data_layout).index("C")
        units = shape(operator)[axis]
        result = relay.qnn.op.conv2d(
            new(real.x),
            relay.const(values),
            *zero_points,
            *scales,
            kernel_size=attrs.kernel_size,
            channels=units,
            strides=attrs.strides,
            padding=attrs.padding,
            dilation=attrs.dilation,
            groups=attrs.groups,
            data_layout=attrs.data_layout,
            kernel_layout=attrs.kernel_layout,
        )
    if bias is not None:
        integers = _bias(bias, x.scale * scale, units)
        if integers is None:
            return None
        result = relay.nn.bias_add(result, relay.const(integers), axis=axis)
    accumulator_scale = relay.const(x.scale * scale)
    zero = relay.const(0, "int32")
    return relay.qnn.op.requantize(
        result, accumulator_scale, zero, *_parameters(output), axis=axis, out_dtype=output.dtype
    )


def _is_plain(transposed: relay.Call) -> bool:
    """Whether a transposed convolution has one image, one group, channels first and filters without holes."""
    attrs = transposed.attrs
    one = shape(transposed)[0] == int(attrs.groups) == 1 and all(int(step) == 1 for step in attrs.dilation)
    return one and str(attrs.data_layout) == "NCHW"


def _kernel(operator: relay.Call) -> tuple[npt.NDArray[Any], Float32Array, npt.NDArray[np.int32]] | None:
    """Integer weights in the operator's layout, their scales and zero points: one, or one per output channel."""
    kernel, transposed = operator.args[1], False
    if is_call(kernel, "transpose") and is_call(operator, "nn.dense"):
        kernel, transposed = kernel.args[0], True
    if not is_call(kernel, "qnn.dequantize"):
        return None
    values, scale, zero_point = (constant(argument) for argument in kernel.args)
    if values is None or scale is None or zero_point is None or str(values.dtype) not in ("int8", "uint8"):
        return None
    if scale.size > 1:
        layout = (
            str(operator.attrs.kernel_layout)
            if is_call(operator, "nn.conv2d", _TRANSPOSED)
            else "IO"
            if transposed
            else "OI"
        )
        if int(kernel.attrs.axis) % values.ndim != layout.index("O"):
            return None
    if scale.size == 1:
        scale, zero_point = scale.reshape(()), zero_point.reshape(-1)[:1].reshape(())
    zero_point = np.broadcast_to(zero_point, scale.shape).astype(np.int32)
    return (values.T.copy() if transposed else values), scale.astype(np.float32), zero_point


def _bias(bias: relay.Expr, scale: Float32Array, units: int) -> npt.NDArray[np.int32] | None:
    """The integers of a bias in the accumulator's scale, shape (units,)."""
    if is_call(bias, "qnn.dequantize"):
        integers = constant(bias.args[0])
        if integers is None or integers.dtype != np.int32:
            return None
    else:
        values = constant(bias)
        if values is None:
            return None
        integers = np.rint(values.reshape(-1) / scale.reshape(-1)).astype(np.int32)
    return integers.reshape(-1) if integers.size == units else None


def _binary(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """An addition or multiplication of two tensors."""
    if not is_call(expr, "add", "multiply"):
        return None
    left, right = dequantized(expr.args[0]), dequantized(expr.args[1])
    if left is None or right is None:
        return None
    build = relay.qnn.op.add if is_call(expr, "add") else relay.qnn.op.mul
    scales = *_parameters(left.quantization), *_parameters(right.quantization), *_parameters(output)
    return build(new(left.x), new(right.x), *scales)


def _extremum(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The larger or the smaller of two tensors: quantizing keeps their order, so each is rescaled first."""
    if not is_call(expr, "maximum", "minimum"):
        return None
    reals = [real for real in map(dequantized, expr.args) if real is not None and constant(real.x) is None]
    if len(reals) < 2 or any(shape(real.x) != shape(expr) for real in reals):
        return None
    a, b = (_rescaled(new(real.x), real.quantization, output) for real in reals)
    return relay.maximum(a, b) if is_call(expr, "maximum") else relay.minimum(a, b)


def _rows(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A dense layer on the last axis of a tensor of more than two: it stands between reshapes."""
    product = _unmoved(expr, "reshape")
    if not is_call(product, "nn.dense"):
        return None
    source, kernel = _unmoved(product.args[0], *_MATRIX_MOVES), _kernel(product)
    real = dequantized(source)
    if real is None or kernel is None:
        return None
    values, scale, zero_point = kernel
    x = _replayed(product.args[0], source, new(real.x))
    zero_points = relay.const(real.quantization.zero_point, "int32"), relay.const(zero_point)
    scales = relay.const(real.quantization.scale), relay.const(scale)
    sums = relay.qnn.op.dense(x, relay.const(values), *zero_points, *scales, len(values))
    accumulator_scale, zero = relay.const(real.quantization.scale * scale), relay.const(0, "int32")
    result = relay.qnn.op.requantize(
        sums, accumulator_scale, zero, *_parameters(output), axis=1, out_dtype=output.dtype
    )
    return _replayed(expr, product, result)


def _matrices(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A product of two activations, with what moves their values, and its own, on the way."""
    product = _unmoved(expr, "reshape")
    if not is_call(product, "nn.batch_matmul"):
        return None
    sides = [(_unmoved(operand, *_MATRIX_MOVES), operand) for operand in product.args]
    reals = [dequantized(side) for side, _ in sides]
    if None in reals or product.attrs.transpose_a or not product.attrs.transpose_b:
        return None
    left, right = (real for real in reals if real is not None)
    if constant(left.x) is not None or constant(right.x) is not None:
        return None
    a, b = (_replayed(operand, side, new(real.x)) for (side, operand), real in zip(sides, (left, right), strict=True))
    (sa, za), (sb, zb) = _parameters(left.quantization), _parameters(right.quantization)
    sums = relay.qnn.op.batch_matmul(a, b, za, zb, sa, sb)
    scale = relay.const(left.quantization.scale * right.quantization.scale)
    result = relay.qnn.op.requantize(
        sums, scale, relay.const(0, "int32"), *_parameters(output), axis=2, out_dtype=output.dtype
    )
    return _replayed(expr, product, result)


def _unmoved(expr: relay.Expr, *names: str) -> relay.Expr:
    """What is in front of operators that move values."""
    while is_call(expr, *names):
        expr = expr.args[0]
    return expr


def _replayed(expr: relay.Expr, source: relay.Expr, replacement: relay.Expr) -> relay.Expr:
    """The operators from `source` to `expr`, each of one operand, on a replacement of `source`."""
    moves: list[relay.Call] = []
    while expr != source and isinstance(expr, relay.Call):
        moves.append(expr)
        expr = expr.args[0]
    for call in reversed(moves):
        replacement = relay.Call(call.op, [replacement], call.attrs)
    return replacement


def _average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The mean of the whole map: pooling or reduction."""
    if is_call(expr, "mean"):
        return _mean(expr, output, new)
    if not is_call(expr, "nn.avg_pool2d", "nn.global_avg_pool2d"):
        return None
    layout = str(expr.attrs.layout)
    extents = shape(expr.args[0])
    rows, columns = extents[layout.index("H")], extents[layout.index("W")]
    if is_call(expr, "nn.avg_pool2d"):
        window, padding = expr.attrs.pool_size, expr.attrs.padding
        if (int(window[0]), int(window[1])) != (rows, columns) or any(int(side) for side in padding):
            return None
    real = dequantized(expr.args[0])
    if real is None:
        return None
    return _pooled(Dequantized(new(real.x), real.quantization), (rows, columns), layout, output)


def _close_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Average pooling of smaller windows in integers: of exact halves, onnxruntime's float32 may take the other side.

    Padding that counts is the zero point around the map. What does not count changes the number of values: parts of the
    map whose windows have as many are pooled by themselves.
    """
    if not is_call(expr, "nn.avg_pool2d"):
        return None
    real = dequantized(expr.args[0])
    if real is None:
        return None
    attrs, layout = expr.attrs, str(expr.attrs.layout)
    window, strides = (tuple(int(value) for value in values) for values in (attrs.pool_size, attrs.strides))
    top, left, bottom, right = (int(side) for side in attrs.padding)
    sides = {"H": (top, bottom), "W": (left, right)}
    padded = any((top, left, bottom, right))
    if any(int(step) != 1 for step in attrs.dilation):
        return None
    if not attrs.count_include_pad:
        return _inside_average(expr, real, output, new)
    for axis, size, stride in zip("HW", window, strides, strict=True):
        extent = shape(real.x)[layout.index(axis)] + sum(sides[axis])
        if attrs.ceil_mode and (extent - size) % stride:
            return None
    x = new(real.x)
    if padded:
        zero = relay.const(real.quantization.zero_point, real.quantization.dtype)
        x = relay.nn.pad(x, [sides.get(axis, (0, 0)) for axis in layout], zero)
    pooled = _pooled(
        Dequantized(x, real.quantization), (window[0], window[1]), layout, output, (strides[0], strides[1])
    )
    return pooled if pooled is None else integer_form.real_sums(pooled)


def _inside_average(expr: relay.Call, real: Dequantized, output: QuantizedType, new: New) -> relay.Expr | None:
    """Average pooling of what windows have of the map."""
    attrs, layout = expr.attrs, str(expr.attrs.layout)
    if real.quantization.dtype != output.dtype:
        return None
    axes: dict[int, tuple[int, Sequence[AlikeWindows]]] = {}
    for place, letter in enumerate("HW"):
        axis = layout.index(letter)
        extent, outputs = shape(real.x)[axis], shape(expr)[axis]
        window, stride, before = (int(values[place]) for values in (attrs.pool_size, attrs.strides, attrs.padding))
        parts = alike_windows(extent, window, stride, before, outputs)
        if parts is None:
            return None
        axes[axis] = extent, parts

    def pool(x: relay.Expr, size: tuple[int, int], strides: tuple[int, int]) -> relay.Expr:
        scales = *_parameters(real.quantization), *_parameters(output)
        means = relay.qnn.op.avg_pool2d(x, *scales, size, strides, (0, 0, 0, 0), (1, 1), layout=layout)
        return integer_form.real_sums(means)

    return pooled_inside(new(real.x), axes, pool)


def _mean(expr: relay.Call, output: QuantizedType, new: New) -> relay.Expr | None:
    """A mean over all axes behind the channels, or all between the batch and these; onnxruntime's is in float32."""
    real, extents = dequantized(expr.args[0]), shape(expr.args[0])
    rank = len(extents)
    axes = sorted(int(axis) % rank for axis in expr.attrs.axis or ())
    last = axes == list(range(1, rank - 1))
    if real is None or rank < 3 or expr.attrs.exclude or not (last or axes == list(range(2, rank))):
        return None
    batch, count = extents[0], math.prod(extents[axis] for axis in axes)
    if rank == 4:
        x, window = new(real.x), (extents[axes[0]], extents[axes[1]])
    else:
        window = count, 1
        x = relay.reshape(new(real.x), (batch, *window, extents[-1]) if last else (batch, extents[1], *window))
    pooled = _pooled(Dequantized(x, real.quantization), window, "NHWC" if last else "NCHW", output)
    return pooled if pooled is None else relay.reshape(integer_form.real_sums(pooled), shape(expr))


def _pooled(
    x: Dequantized, window: tuple[int, int], layout: str, output: QuantizedType, strides: tuple[int, int] = (1, 1)
) -> relay.Expr | None:
    """The mean of windows of a tensor, which is of the result's own function."""
    if x.quantization.dtype != output.dtype:
        return None
    scales = *_parameters(x.quantization), *_parameters(output)
    return relay.qnn.op.avg_pool2d(x.x, *scales, window, strides, (0, 0, 0, 0), (1, 1), layout=layout)


def _windowed_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Average pooling of smaller windows, in float32: which way a half goes depends on each value, not on the sum.

    As onnxruntime does it, with the zero point added before rounding.
    """
    if not is_call(expr, "nn.avg_pool2d") or dequantized(expr.args[0]) is None:
        return None
    mean = divided(new(expr), output.scale)
    low, high = value_range(output.dtype)
    shifted = relay.add(mean, relay.const(np.float32(output.zero_point)))
    return relay.cast(half_to_even(relay.clip(shifted, low, high)), output.dtype)


def _concatenate(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A concatenation, each part brought to the output's scale."""
    if not is_call(expr, "concatenate") or not isinstance(expr.args[0], relay.Tuple):
        return None
    parts = [dequantized(field) for field in expr.args[0].fields]
    if any(part is None for part in parts):
        return None
    scaled = [_rescaled(new(part.x), part.quantization, output) for part in parts if part is not None]
    return relay.concatenate(scaled, int(expr.attrs.axis))


def _scaled_concatenation(call: relay.Call, new: New) -> relay.Expr | None:
    """`qnn.concatenate`, each part brought to the output's scale."""
    tensors, scales, zero_points = (list(argument.fields) for argument in call.args[:3])
    output = quantization(call.args[3], call.args[4], dtype(call))
    parts: list[relay.Expr] = []
    for tensor, scale, zero_point in zip(tensors, scales, zero_points, strict=True):
        inputs = quantization(scale, zero_point, dtype(tensor))
        if inputs is None or output is None:
            return None
        parts.append(_rescaled(new(tensor), inputs, output))
    return relay.concatenate(parts, int(call.attrs.axis))


def _table(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Any function of one value, computed for all 256 of them, or of two, for all pairs.

    Of two it is the plane that gives the same outputs if there is one, else a table of 65536 values.
    """
    found = function_of(expr)
    if found is None or len(found[0]) > 2:
        return None
    sources, function = found
    reals = [real for real in map(dequantized, sources) if real is not None]
    if len(reals) < len(sources) or any(shape(real.x) != shape(expr) for real in reals):
        return None
    types = [real.quantization for real in reals]
    values = [(own.levels - own.zero_point).astype(np.float32) * own.scale for own in types]
    clip = value_range(output.dtype)
    if len(reals) == 1:
        outputs = quantize(function(*values), output, clip)
        return integer_form.lookup(new(reals[0].x), outputs, types[0].dtype, output.dtype)
    smooth = function(values[0][:, None], values[1][None, :])
    outputs, middle = quantize(smooth, output, clip), np.divide(smooth[127:129, 127:129], output.scale)
    slopes = float(middle[1, 0] - middle[0, 0]), float(middle[0, 1] - middle[0, 0])
    a, b = (new(real.x) for real in reals)
    return plane_of(a, b, outputs, (types[0], types[1]), slopes, clip, output.dtype)


def _sloped(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A PReLU: a table for each channel."""
    if is_call(expr, "nn.prelu"):
        x, slopes, axis = expr.args[0], _real_constant(expr.args[1]), int(expr.attrs.axis) % len(shape(expr))
    elif (spread := _spread_slopes(expr)) is not None:
        x, slopes, axis = spread
    else:
        return None
    real = dequantized(x)
    if real is None or slopes is None:
        return None
    own, slope = real.quantization, slopes.reshape(-1, 1)
    values = (own.levels - own.zero_point).astype(np.float32) * own.scale
    outputs = quantize(np.where(values > 0, values, values * slope), output, value_range(output.dtype))
    behind = len(shape(expr)) - 1 - axis
    return integer_form.channel_lookup(new(real.x), outputs, own.dtype, output.dtype, behind)


def _spread_slopes(expr: relay.Expr) -> tuple[relay.Expr, Float32Array, int] | None:
    """The input, slopes and channels' axis of a PReLU whose slopes the importer repeats for every element."""
    slopes = reached(expr, "reshape", ("nn.prelu", 1), "reshape", "broadcast_to_like")
    x = reached(expr, "reshape", "nn.prelu", "reshape")
    if slopes is None or x is None or shape(x) != shape(expr):
        return None
    values, rank = _real_constant(slopes), len(shape(x))
    if values is None or rank < 2:
        return None
    extents = (1,) * (rank - values.ndim) + values.shape
    (axis, *others) = [at for at, extent in enumerate(extents) if extent > 1] or [1]
    return None if others else (x, np.broadcast_to(values.reshape(-1), shape(x)[axis]), axis)


def _real_constant(expr: relay.Expr) -> Float32Array | None:
    """The numbers of a constant, which may be quantized; None for other expressions."""
    real = dequantized(expr)
    values = constant(expr if real is None else real.x)
    if values is None or real is None:
        return values
    own = real.quantization
    return (values.astype(np.int64) - own.zero_point).astype(np.float32) * own.scale


def _real_number(expr: relay.Expr) -> float | None:
    """A constant number, which may be an element of a quantized constant; None for other expressions."""
    if is_call(expr, "take") and scalar(expr.args[1]) == 0:
        expr = expr.args[0]
    values = _real_constant(expr)
    return float(values.reshape(-1)[0]) if values is not None and values.size == 1 else None


def _moved(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Operators that move values, or nothing at all, between a dequantize and a quantize."""
    moves: list[relay.Call] = []
    expr = _part(expr) or expr
    while is_call(expr, "nn.pad", *_MOVES) or (is_call(expr, _RESIZE) and nearest(expr)):
        moves.append(expr)
        expr = _part(expr.args[0]) or expr.args[0]
    real = dequantized(expr)
    if real is None:
        return None
    result, own = new(real.x), real.quantization
    for call in reversed(moves):
        enlarges = not is_call(call, "strided_slice") and math.prod(shape(call)) > math.prod(shape(call.args[0]))
        if enlarges:  # the smaller tensor takes the new scale
            result, own = _rescaled(result, own, output), output
        if is_call(call, _RESIZE):
            result = taken(result, nearest(call) or {}, shape(call.args[0]))
            continue
        arguments = [result]
        if is_call(call, "nn.pad"):
            value = _real_number(call.args[1])
            if value is None:
                return None
            integer = quantize(np.array([value], np.float32), own, value_range(own.dtype))
            arguments.append(relay.const(int(integer[0]), own.dtype))
        result = relay.Call(call.op, arguments, call.attrs)
    return _rescaled(result, own, output)


def _part(expr: relay.Expr) -> relay.Call | None:
    """One of the tensors that a split makes, as a slice of its input; None for other expressions."""
    if not isinstance(expr, relay.TupleGetItem) or not is_call(expr.tuple_value, "split"):
        return None
    split = expr.tuple_value
    x = split.args[0]
    axis = int(split.attrs.axis) % len(shape(x))
    extents = [int(field.shape[axis]) for field in split.checked_type.fields]
    begin = sum(extents[: expr.index])
    return relay.strided_slice(x, [begin], [begin + extents[expr.index]], axes=[axis])


def _rescaled(x: relay.Expr, inputs: QuantizedType, output: QuantizedType) -> relay.Expr:
    if inputs == output:
        return x
    return relay.qnn.op.requantize(x, *_parameters(inputs), *_parameters(output), out_dtype=output.dtype)


def _parameters(values: QuantizedType) -> tuple[relay.Expr, relay.Expr]:
    return relay.const(values.scale), relay.const(values.zero_point, "int32")


_FUSED: tuple[Fusion, ...] = (
    _linear,
    _rows,
    _matrices,
    _binary,
    _extremum,
    _average,
    _windowed_average,
    _concatenate,
)
