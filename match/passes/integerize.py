"""QNN operators read as operators of the graph: every scale and zero point becomes M, B and S."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from match.arithmetic.interface import Accumulator, Arithmetic, QuantizedType
from match.arithmetic.line_fit import NoLineError
from match.arithmetic.named_rounding import NamedRounding
from match.arithmetic.truncated_means import truncated_mean
from match.graph.elements import Dequantize, Quantize
from match.graph.make import concatenated, lookup, reshaped, transposed
from match.graph.maps import TO_LAST, channels_first
from match.graph.pairs import Multiplication
from match.graph.value import Value, computed
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.ir.requantization import Int64Array
from match.passes.integer_sums import integer_sums
from match.passes.rest import rest_of
from match.quantized.averages import averaged
from match.quantized.functions_of_two import function_of_two
from match.quantized.layers import Sums
from match.quantized.matrices import matrices_of
from match.quantized.scaled import scaled
from match.quantized.scales import Scales
from match.relay import relay
from match.relay.graph_reader import Fragment
from match.relay.maps import FIRST, LAST, extents_of_map, with_channels_last
from match.relay.qnn import Linear, clamped, is_fixed_point, named_rounding, quantization, read_linear
from match.relay.readers import output_range
from match.relay.rewrite import constant, dtype, is_8bit, is_call, operator_name, scalar, shape

_STORED = "int8", "uint8", "int16"
_BINARY = "qnn.add", "qnn.subtract", "qnn.mul"
_ROOTS = ("clip", "cast", "qnn.requantize", "qnn.avg_pool2d", *_BINARY)


@dataclass(frozen=True)
class QuantizedReader:
    """Reads quantized operators whose parameters are constants, as the reference `arithmetic` computes them.

    They are convolutions, dense layers, additions, average pooling, changes of scale, and the quantize and dequantize
    of a border. A change of scale becomes a table of 256 values, an addition that no plane describes one of 65536, or
    if not `exact` a plane within one step. A layer that no line describes is scaled in floating point. A requantization
    that names its rounding, as only hand-written Relay has it, has this one. Any other operator of QNN is what TVM
    makes of it. `truncates`: the network is integer arithmetic as it stands, so that an average of integers is rounded
    towards zero.
    """

    arithmetic: Arithmetic
    exact: bool = True
    truncates: bool = False

    def __call__(self, call: relay.Call) -> Fragment | None:
        """A quantized operator that ends in a typed call; None for other calls."""
        if is_call(call, "qnn.concatenate"):
            return self._concatenation(call) or rest_of(call)
        found = self._integers(call) or self._border(call)
        if found is None and operator_name(call).startswith("qnn."):
            return rest_of(call)
        return found

    def _concatenation(self, call: relay.Call) -> Fragment | None:
        """Parts side by side, each in the output's scale; None where one has several scales."""
        tensors, scales, zeros = (list(argument.fields) for argument in call.args[:3])
        output = quantization(call.args[3], call.args[4], dtype(call))
        parameters: Iterable[tuple[relay.Expr, relay.Expr, relay.Expr]] = zip(scales, zeros, tensors, strict=True)
        own = [quantization(scale, zero, dtype(x)) for scale, zero, x in parameters]
        types = [kind for kind in own if kind is not None]
        if output is None or len(types) < len(tensors):
            return None
        axis = int(call.attrs.axis) % len(shape(call))

        def build(*parts: Value) -> Value:
            rescaled = [
                x if kind == output else lookup(x, self._outputs(kind, output).astype(output.dtype))
                for x, kind in zip(parts, types, strict=True)
            ]
            return concatenated(rescaled, axis)

        return Fragment(tuple(tensors), build)

    def _outputs(self, inputs: QuantizedType, output: QuantizedType) -> Int64Array:
        """What all levels become in another quantization, shape (256,)."""
        return self.arithmetic.requantize(inputs, output, output.limits).reshape(-1)

    def _border(self, call: relay.Call) -> Fragment | None:
        """A quantize or a dequantize."""
        if is_call(call, "qnn.quantize") and dtype(call) in _STORED and dtype(call.args[0]) == "float32":
            own = quantization(call.args[1], call.args[2], dtype(call))
            if own is None:
                scales, kind = _scales(call, len(shape(call))), dtype(call)
                return None if scales is None else Fragment((call.args[0],), partial(scales.quantized, dtype=kind))
            function = FloatQuantization(own.scale, own.zero_point, own.dtype, half_to_even=False)
            return Fragment((call.args[0],), partial(computed, Quantize(function=function)))
        if is_call(call, "qnn.dequantize") and constant(call.args[0]) is not None:
            return _levels(call)
        if is_call(call, "qnn.dequantize") and is_8bit(call.args[0]):
            own = quantization(call.args[1], call.args[2], dtype(call.args[0]))
            if own is None:
                scales = _scales(call, len(shape(call)))
                return None if scales is None else Fragment((call.args[0],), scales.dequantized)
            dequantize = Dequantize(scale=own.scale, zero_point=own.zero_point)
            return Fragment((call.args[0],), partial(computed, dequantize))
        return None

    def _integers(self, call: relay.Call) -> Fragment | None:
        if not is_8bit(call) or not is_call(call, *_ROOTS):
            return None
        linear = read_linear(call)
        if linear is not None:
            return self._linear(linear)
        kind = dtype(call)
        root, clip = clamped(call, kind)
        if is_call(root, "qnn.avg_pool2d"):
            return self._mean(root, kind, clip)
        if is_call(root, *_BINARY):
            return self._binary(root, clip)
        if is_call(root, "qnn.requantize") and is_fixed_point(root):
            rounding = named_rounding(root)
            found = self._table(root, kind, rounding, clip) or self._matrices(root, kind, rounding, clip)
            return self._mean(root, kind, clip) if found is None and rounding is None else found
        if is_call(root, "cast") and is_call(root.args[0], "nn.avg_pool2d"):
            return self._average(root, clip)
        return None

    def _linear(self, linear: Linear) -> Fragment | None:
        layer, output = linear.sums, linear.output
        integers = integer_sums(layer)
        if integers is None:
            return None
        arithmetic = linear.rounding or self.arithmetic

        def accumulator(sums: Sums) -> Accumulator:
            return sums.accumulator(layer.input, layer.weight_scale, layer.bias)

        def build(x: Value) -> Value:
            sums = integers.sums(x)
            outputs = scaled(sums, accumulator(sums), output, linear.clip, arithmetic)
            return channels_first(outputs) if integers.first else outputs

        if linear.rounding is not None:  # by which floating point does not round
            try:
                standing_for_x = Value(Tensor(shape(integers.x), dtype(integers.x)))
                arithmetic.linear(accumulator(integers.sums(standing_for_x)), output, linear.clip)
            except NoLineError:
                return None
        return Fragment((integers.x,), build)

    def _table(
        self, call: relay.Call, kind: str, rounding: NamedRounding | None, clip: tuple[int, int]
    ) -> Fragment | None:
        """A change of scale from 8 bits to 8 bits."""
        x = call.args[0]
        if not is_8bit(x):
            return None
        inputs = quantization(call.args[1], call.args[2], dtype(x))
        output = quantization(call.args[3], call.args[4], kind)
        if inputs is None or output is None:
            return None
        outputs = (rounding or self.arithmetic).requantize(inputs, output, clip)
        return _table(x, outputs, output.dtype)

    def _binary(self, call: relay.Call, clip: tuple[int, int]) -> Fragment | None:
        left, right = call.args[:2]
        a = quantization(call.args[2], call.args[3], dtype(left))
        b = quantization(call.args[4], call.args[5], dtype(right))
        output = quantization(call.args[6], call.args[7], dtype(call))
        if a is None or b is None or output is None:
            return None
        numbers = scalar(left), scalar(right)
        if (numbers[0] is None) != (numbers[1] is None):
            return self._with_number(call, (a, b), numbers, output, clip)
        if is_call(call, "qnn.mul"):
            product = Multiplication(
                zero_points=(a.zero_point, b.zero_point),
                requantization=self.arithmetic.multiply(a, b, output, clip),
                dtype=output.dtype,
            )
            return Fragment((left, right), partial(computed, product))
        sign = -1 if is_call(call, "qnn.subtract") else 1
        outputs = self.arithmetic.add(a, b, output, clip, sign)
        slopes = float(a.scale / output.scale), sign * float(b.scale / output.scale)

        def build(x: Value, y: Value) -> Value:
            return function_of_two(x, y, outputs, slopes, clip, output.dtype, close=not self.exact)

        return Fragment((left, right), build)

    def _with_number(
        self,
        call: relay.Call,
        types: tuple[QuantizedType, QuantizedType],
        numbers: tuple[Any, Any],
        output: QuantizedType,
        clip: tuple[int, int],
    ) -> Fragment | None:
        """An addition or multiplication of a tensor and one number for all its elements: a table."""
        at = 0 if numbers[0] is None else 1  # the tensor
        x, number = call.args[at], int(numbers[1 - at])
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
        return _table(x, outputs, output.dtype)

    def _mean(self, call: relay.Call, kind: str, clip: tuple[int, int]) -> Fragment | None:
        """`qnn.avg_pool2d`, or a mean over two axes of a map between a cast to int32 and a change of scale."""
        first = False
        if is_call(call, "qnn.avg_pool2d"):
            window, x, first = _window(call), call.args[0], str(call.attrs.layout) == FIRST
            order = TO_LAST if first else (0, 1, 2, 3)
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
        output = quantization(call.args[3], call.args[4], kind)
        if inputs is None or output is None or window is None:
            return None
        one, result = self.arithmetic.mean(inputs, window.count, output, clip), shape(call)

        def build(value: Value) -> Value:
            turned = transposed(value, order)
            pooled = averaged(turned, one, output.dtype, window.size, window.strides)
            return channels_first(pooled) if first else reshaped(pooled, result)

        return Fragment((x,), build)

    def _matrices(
        self, call: relay.Call, kind: str, rounding: NamedRounding | None, clip: tuple[int, int]
    ) -> Fragment | None:
        """A product of two activations; None where the reference's requantization is no line."""
        product = call.args[0]
        if not is_call(product, "qnn.batch_matmul"):
            return None
        x, y, x_zero, y_zero, x_scale, y_scale = product.args
        a, b = quantization(x_scale, x_zero, dtype(x)), quantization(y_scale, y_zero, dtype(y))
        output = quantization(call.args[3], call.args[4], kind)
        if a is None or b is None or output is None or (rounding is not None and rounding.scale.size > 1):
            return None
        try:
            matrices = matrices_of(shape(x)[2], (a, b), output, clip, rounding or self.arithmetic)
        except NoLineError:
            return None
        return Fragment((x, y), partial(computed, matrices))

    def _average(self, cast: relay.Call, clip: tuple[int, int]) -> Fragment | None:
        """Average pooling within one quantization: cast to int32, pool, cast back."""
        pool = cast.args[0]
        widened = pool.args[0]
        window = _window(pool)
        if window is None or not is_call(widened, "cast") or dtype(widened.args[0]) != dtype(cast):
            return None
        x, kind = widened.args[0], dtype(cast)
        if self.truncates:
            one = truncated_mean(output_range(x, kind), window.count, clip)
        else:
            one = self.arithmetic.average(kind, window.count, clip)
        if one is None:
            return None

        def build(value: Value) -> Value:
            return averaged(value, one, kind, window.size, window.strides)

        made = with_channels_last(str(pool.attrs.layout), build)
        return None if made is None else Fragment((x,), made)


def _levels(call: relay.Call) -> Fragment | None:
    """Constant integers that stand for real numbers; None where their scales are not constant."""
    levels = constant(call.args[0])
    own = None if levels is None else _scales(call, levels.ndim)
    return None if own is None else Fragment((call.args[0],), own.dequantized)


def _scales(call: relay.Call, rank: int) -> Scales | None:
    """The scales and zero points of a quantize or a dequantize; None where they are not constant."""
    scales, zeros = constant(call.args[1]), constant(call.args[2])
    if scales is None or zeros is None:
        return None
    count = max(scales.size, zeros.size)
    return Scales(
        np.broadcast_to(scales.reshape(-1), count).astype(np.float32),
        np.broadcast_to(zeros.reshape(-1), count).astype(np.int64),
        int(call.attrs.axis) % max(rank, 1) if count > 1 else 0,
    )


@dataclass(frozen=True)
class _Window:
    """Windows without padding that all lie within the map."""

    size: tuple[int, int]
    strides: tuple[int, int]

    @property
    def count(self) -> int:
        return self.size[0] * self.size[1]


def _window(pool: relay.Call) -> _Window | None:
    """The windows of a pooling of maps; None for padding, dilation and windows that hang over the border."""
    attrs, layout = pool.attrs, str(pool.attrs.layout)
    if layout not in (FIRST, LAST):
        return None
    _, rows, columns, _ = extents_of_map(pool.args[0], layout)
    size, strides = (int(attrs.pool_size[0]), int(attrs.pool_size[1])), (int(attrs.strides[0]), int(attrs.strides[1]))
    spaced = any(int(side) for side in attrs.padding) or any(int(step) != 1 for step in attrs.dilation)
    hanging = attrs.ceil_mode and ((rows - size[0]) % strides[0] != 0 or (columns - size[1]) % strides[1] != 0)
    return None if spaced or hanging else _Window(size, strides)


def _table(x: relay.Expr, outputs: Int64Array, dtype: str) -> Fragment:
    """A function of each element of one tensor."""

    def build(value: Value) -> Value:
        return lookup(value, outputs.reshape(-1).astype(dtype))

    return Fragment((x,), build)
