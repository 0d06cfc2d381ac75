"""QNN operators to the integer form: every scale and zero point becomes M, B and S."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from match.arithmetic import real_numbers
from match.arithmetic.interface import Accumulator, Arithmetic, QuantizedType, product_range
from match.arithmetic.line_fit import NoLineError
from match.arithmetic.named_rounding import NamedRounding
from match.arithmetic.truncated_means import truncated_mean
from match.ir.requantization import Int64Array, Requantization
from match.ir.step_function import reachable_sums
from match.passes.functions_of_two import function_of_two
from match.passes.integer_sums import integer_sums
from match.relay import float_arithmetic, integer_form, relay, tvm
from match.relay.fixed_point import alone
from match.relay.integer_form import Weights, is_real_sums, unmarked
from match.relay.qnn import (
    Linear,
    LinearSums,
    clamped,
    is_fixed_point,
    named_rounding,
    quantization,
    read_linear,
    read_linear_sums,
)
from match.relay.readers import output_range
from match.relay.rewrite import New, dtype, is_8bit, is_call, rewrite, scalar, shape

_BINARY = "qnn.add", "qnn.subtract", "qnn.mul"
_ROOTS = ("clip", "cast", "qnn.requantize", "qnn.avg_pool2d", *_BINARY)


@dataclass(frozen=True)
class Integerize:
    """Rewrites quantized layers in NHWC whose parameters are constants, as the reference `arithmetic` computes them.

    Convolutions, dense layers, additions, average pooling and changes of scale are rewritten; other QNN operators stay.
    A change of scale becomes a table of 256 values, an addition that no plane describes one of 65536, or if not `exact`
    a plane within one step. A layer that no line describes is scaled in floating point. A requantization that names its
    rounding, as only hand-written Relay has it, has this one. `truncates`: the network is integer arithmetic as it
    stands, so that an average of integers is rounded towards zero.
    """

    arithmetic: Arithmetic
    exact: bool = True
    truncates: bool = False

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, self._rule)

    def _rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        if is_call(call, "cast") and dtype(call) == "float32":
            return self._real_numbers(call.args[0], new)
        if not is_8bit(call) or not (is_call(call, *_ROOTS) or is_real_sums(call)):
            return None
        linear = read_linear(call)
        if linear is not None:
            return self._linear(linear, new)
        marked, clip = clamped(call, dtype(call))
        root, real = unmarked(marked), is_real_sums(marked)
        if is_call(root, "qnn.avg_pool2d"):
            return self._mean(root, clip, new, real=real)
        if is_call(root, *_BINARY):
            return self._binary(root, clip, new, real=real)
        if real:
            return None
        if is_call(root, "qnn.requantize") and is_fixed_point(root):
            rounding = named_rounding(root)
            found = self._table(root, rounding, clip, new) or self._matrices(root, rounding, clip, new)
            return self._mean(root, clip, new) if found is None and rounding is None else found
        if is_call(root, "cast") and is_call(root.args[0], "nn.avg_pool2d"):
            return self._average(root, clip, new)
        return None

    def _linear(self, linear: Linear, new: New) -> relay.Expr | None:
        integers = integer_sums(linear.sums, new)
        if integers is None:
            return None
        layer, output = integers.layer, linear.output
        sums = integer_form.real_sums(integers.sums) if layer.real else integers.sums
        accumulator = _accumulator(layer, integers.weights, output_range(integers.x, layer.input.dtype))
        arithmetic = real_numbers if layer.real else linear.rounding or self.arithmetic
        try:
            requantization = arithmetic.linear(accumulator, output, linear.clip)
        except NoLineError:
            if linear.rounding is not None:
                return None
            factor = accumulator.input_scale * accumulator.weight_scale / output.scale
            offset = accumulator.offset
            result = float_arithmetic.requantize(sums, offset, factor, output.zero_point, linear.clip, output.dtype)
        else:
            result = integer_form.requantize(sums, requantization, output.dtype)
        return integers.in_place(result)

    def _real_numbers(self, sums: relay.Expr, new: New) -> relay.Expr | None:
        """The sums of a layer whose outputs stay real numbers, in float32."""
        layer = read_linear_sums(sums)
        integers = integer_sums(layer, new) if layer is not None and layer.real else None
        if integers is None:
            return None
        sums = integer_form.real_sums(integers.sums)
        offset = _offset(integers.layer, integers.weights).astype(np.int32)  # as TVM's sums, which wrap around
        return integers.in_place(relay.cast(relay.add(sums, relay.const(offset)) if offset.any() else sums, "float32"))

    def _table(
        self, call: relay.Call, rounding: NamedRounding | None, clip: tuple[int, int], new: New
    ) -> relay.Expr | None:
        """A change of scale from 8 bits to 8 bits."""
        x = call.args[0]
        if not is_8bit(x):
            return None
        inputs = quantization(call.args[1], call.args[2], dtype(x))
        output = quantization(call.args[3], call.args[4], dtype(call))
        if inputs is None or output is None:
            return None
        outputs = (rounding or self.arithmetic).requantize(inputs, output, clip)
        return integer_form.lookup(new(x), outputs, inputs.dtype, output.dtype)

    def _binary(self, call: relay.Call, clip: tuple[int, int], new: New, *, real: bool) -> relay.Expr | None:
        left, right = call.args[:2]
        a = quantization(call.args[2], call.args[3], dtype(left))
        b = quantization(call.args[4], call.args[5], dtype(right))
        output = quantization(call.args[6], call.args[7], dtype(call))
        if a is None or b is None or output is None:
            return None
        numbers = scalar(left), scalar(right)
        if (numbers[0] is None) != (numbers[1] is None):
            return self._with_number(call, (a, b), numbers, output, clip, new, real=real)
        if is_call(call, "qnn.mul"):
            requantization = self.arithmetic.multiply(a, b, output, clip)
            zero_points = a.zero_point, b.zero_point
            y = integer_form.multiply(new(left), new(right), zero_points, requantization, output.dtype, real=real)
            # A step reads the sum a second time, so that TVM's products of products would double with each.
            return y if requantization.negative_step is None else alone(y)
        sign = -1 if is_call(call, "qnn.subtract") else 1
        outputs = self.arithmetic.add(a, b, output, clip, sign)
        slopes = float(a.scale / output.scale), sign * float(b.scale / output.scale)

        x, y, types, exact = new(left), new(right), (a.dtype, b.dtype), self.exact
        return function_of_two(x, y, outputs, types, slopes, clip, output.dtype, exact=exact, real=real)

    def _with_number(
        self,
        call: relay.Call,
        types: tuple[QuantizedType, QuantizedType],
        numbers: tuple[Any, Any],
        output: QuantizedType,
        clip: tuple[int, int],
        new: New,
        *,
        real: bool,
    ) -> relay.Expr | None:
        """An addition or multiplication of a tensor and one number for all its elements: a table."""
        at = 0 if numbers[0] is None else 1  # the tensor
        x, own, number = call.args[at], types[at], int(numbers[1 - at])
        if shape(x) != shape(call):
            return None
        a, b = (kind.levels if index == at else np.array([number]) for index, kind in enumerate(types))
        if is_call(call, "qnn.mul"):
            product = np.multiply.outer(a - types[0].zero_point, b - types[1].zero_point)
            outputs = self.arithmetic.multiply(*types, output, clip)(product.reshape(-1, 1))
        else:
            sign = -1 if is_call(call, "qnn.subtract") else 1
            lowest = types[0].levels[0], types[1].levels[0]
            outputs = self.arithmetic.add(*types, output, clip, sign)[np.ix_(a - lowest[0], b - lowest[1])]
        return integer_form.lookup(new(x), outputs.reshape(-1), own.dtype, output.dtype, real=real)

    def _mean(self, call: relay.Call, clip: tuple[int, int], new: New, *, real: bool = False) -> relay.Expr | None:
        """`qnn.avg_pool2d`, or a mean over two axes of a map between a cast to int32 and a change of scale."""
        order = 0, 1, 2, 3
        if is_call(call, "qnn.avg_pool2d"):
            window, x = _window(call), call.args[0]
        else:
            mean = call.args[0]
            if not is_call(mean, "mean") or not is_call(mean.args[0], "cast"):
                return None
            x = mean.args[0].args[0]
            axes = sorted(int(axis) for axis in mean.attrs.axis or ())
            if not is_8bit(x) or len(shape(x)) != 4 or mean.attrs.exclude or len(axes) != 2 or axes[0] < 1:
                return None
            order = 0, *axes, 6 - sum(axes)
            window = _Window((shape(x)[axes[0]], shape(x)[axes[1]]), (1, 1))
        inputs = quantization(call.args[1], call.args[2], dtype(x))
        output = quantization(call.args[3], call.args[4], dtype(call))
        if inputs is None or output is None or window is None:
            return None
        one = self.arithmetic.mean(inputs, window.count, output, clip)
        turned = new(x) if order == (0, 1, 2, 3) else relay.transpose(new(x), order)
        pooled = _pooled(turned, tuple(shape(x)[axis] for axis in order), window, one, output.dtype, real=real)
        alike = order == (0, 1, 2, 3) and len(shape(call)) == 4
        return pooled if alike else relay.reshape(pooled, shape(call))

    def _matrices(
        self, call: relay.Call, rounding: NamedRounding | None, clip: tuple[int, int], new: New
    ) -> relay.Expr | None:
        """A product of two activations; None where the reference's requantization is no line."""
        real = is_real_sums(call.args[0])
        product = unmarked(call.args[0])
        if not is_call(product, "qnn.batch_matmul"):
            return None
        x, y, x_zero, y_zero, x_scale, y_scale = product.args
        a, b = quantization(x_scale, x_zero, dtype(x)), quantization(y_scale, y_zero, dtype(y))
        output = quantization(call.args[3], call.args[4], dtype(call))
        if a is None or b is None or output is None:
            return None
        low, high = (shape(x)[2] * end for end in product_range(a, b))
        accumulator = Accumulator(np.zeros(1, np.int64), low, high, a.scale, b.scale.reshape(1))
        if rounding is not None and rounding.scale.size > 1:
            return None
        try:
            requantization = (rounding or self.arithmetic).linear(accumulator, output, clip)
        except NoLineError:
            return None
        zero_points, columns = (a.zero_point, b.zero_point), np.zeros(shape(y)[1], np.intp)
        return integer_form.matrices(new(x), new(y), zero_points, requantization.take(columns), output.dtype, real=real)

    def _average(self, cast: relay.Call, clip: tuple[int, int], new: New) -> relay.Expr | None:
        """Average pooling within one quantization: cast to int32, pool, cast back."""
        pool = cast.args[0]
        widened = pool.args[0]
        window = _window(pool)
        if window is None or not is_call(widened, "cast") or dtype(widened.args[0]) != dtype(cast):
            return None
        x = widened.args[0]
        if self.truncates:
            one = truncated_mean(output_range(new(x), dtype(x)), window.count, clip)
        else:
            one = self.arithmetic.average(dtype(x), window.count, clip)
        return None if one is None else _pooled(new(x), shape(x), window, one, dtype(x))


@dataclass(frozen=True)
class _Window:
    """Windows without padding that all lie within the map."""

    size: tuple[int, int]
    strides: tuple[int, int]

    @property
    def count(self) -> int:
        return self.size[0] * self.size[1]


def _window(pool: relay.Call) -> _Window | None:
    """The windows of a pooling in NHWC; None for padding, dilation and windows that hang over the border."""
    attrs = pool.attrs
    _, rows, columns, _ = shape(pool.args[0])
    size, strides = (int(attrs.pool_size[0]), int(attrs.pool_size[1])), (int(attrs.strides[0]), int(attrs.strides[1]))
    spaced = any(int(side) for side in attrs.padding) or any(int(step) != 1 for step in attrs.dilation)
    hanging = attrs.ceil_mode and ((rows - size[0]) % strides[0] != 0 or (columns - size[1]) % strides[1] != 0)
    return None if str(attrs.layout) != "NHWC" or spaced or hanging else _Window(size, strides)


def _pooled(
    x: relay.Expr, extents: tuple[int, ...], window: _Window, one: Requantization, dtype: str, *, real: bool = False
) -> relay.Expr:
    """The pooling of x (N, H, W, C) with the requantization of one channel for all."""
    channels = np.zeros(extents[3], np.intp)
    return integer_form.avg_pool2d(
        x,
        one.take(channels),
        dtype,
        window=window.size,
        strides=window.strides,
        whole_map=window.size == tuple(extents[1:3]),
        real=real,
    )


def _accumulator(layer: LinearSums, weights: Weights, inputs: tuple[int, int]) -> Accumulator:
    """What a layer accumulates, for weights (channels, ...) and inputs in a range, the zero point with them."""
    zero_point = layer.input.zero_point
    low, high = reachable_sums(weights, (min(inputs[0], zero_point), max(inputs[1], zero_point)))
    return Accumulator(_offset(layer, weights), low, high, layer.input.scale, layer.weight_scale, layer.bits)


def _offset(layer: LinearSums, weights: Weights) -> Int64Array:
    """What is added to each channel's sums: the bias, less what the input's zero point sums up to."""
    sums = weights.reshape(len(weights), -1).sum(axis=1, dtype=np.int64)
    return layer.bias - (layer.input.zero_point * sums << layer.bits)
