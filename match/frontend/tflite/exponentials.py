"""SOFTMAX, as `match.relay.softmax` builds it, and LOG_SOFTMAX in the same fixed point; of real numbers in float32."""

from __future__ import annotations

import numpy as np
import tflite

from match.arithmetic import tflite_functions
from match.arithmetic.fixed_point import RECIPROCAL_START, RECIPROCAL_STEPS, shifted_right
from match.arithmetic.interface import QuantizedType
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.integers import doubled, int64, product, saturated
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.ir.dtypes import value_range
from match.relay import relay
from match.relay.fixed_point import alone, bits_of, rounded_shift
from match.relay.softmax import LONGEST_ROW
from match.relay.softmax import softmax as integer_softmax


def softmax(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SOFTMAX along the last axis, in steps of 1/256 or in float32."""
    beta = np.float32(operator.options(tflite.SoftmaxOptions).Beta())
    if not 0 < beta < np.inf:
        raise read.error(operator, f"has a Beta of {beta}; it must be positive")
    if read.tensor(operator).dtype == "float32":
        scores = read.expr(operator)
        return relay.nn.softmax(scores if beta == 1 else relay.multiply(scores, relay.const(beta)), axis=-1)
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    if (output.scale, output.zero_point) != (np.float32(1 / 256), value_range(output.dtype)[0]):
        raise read.error(
            operator,
            "has an output with another quantization than the kernel's (scale 1/256, lowest zero point)",
        )
    width = read.tensor(operator).shape[-1]
    if width > LONGEST_ROW:  # in floating point, since integers of 32 bits do not hold the sums of all rows
        scales = [(relay.const(one.scale), relay.const(one.zero_point, "int32")) for one in (inputs, output)]
        scores = relay.multiply(relay.qnn.op.dequantize(read.expr(operator), *scales[0]), relay.const(beta))
        return relay.qnn.op.quantize(relay.nn.softmax(scores, axis=-1), *scales[1], out_dtype=output.dtype)
    exponentials = tflite_functions.exponentials(inputs.scale, beta)
    return integer_softmax(read.expr(operator), width, exponentials, output.dtype, output.zero_point)


_SUM_BITS, _LOG_BITS, _OUTPUT_BITS = 12, 5, 4
"""Integer bits of a row's sum, of its logarithm and of the output."""


def log_softmax(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """LOG_SOFTMAX along the last axis, in steps of 1/16 or in float32."""
    if read.tensor(operator).dtype == "float32":
        return relay.nn.log_softmax(read.expr(operator), axis=-1)
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    highest = value_range(output.dtype)[1]
    if (output.scale, output.zero_point) != (np.float32(1 / 16), highest):
        raise read.error(
            operator, "has an output with another quantization than the kernel's (scale 1/16, highest zero point)"
        )
    width = read.tensor(operator).shape[-1]
    if width > LONGEST_ROW:
        raise read.error(operator, f"has rows of {width} elements; integer kernels hold sums of {LONGEST_ROW}")
    x = read.expr(operator)
    largest = relay.max(x, axis=-1, keepdims=True)
    distance = relay.subtract(relay.cast(largest, "int32"), relay.cast(x, "int32"))
    exponentials = shifted_right(tflite_functions.exponentials(inputs.scale, np.float32(1)), _SUM_BITS)
    total = relay.sum(relay.take(relay.const(exponentials.astype(np.int32)), distance), axis=-1, keepdims=True)
    logarithm = alone(_logarithm(integers.wide(total), width))
    scaled, inside = tflite_functions.scaled_distances(inputs.scale, np.float32(1))
    least = -int(inside.sum())  # one more than the largest distance that fits
    divided = integers.scaled(
        relay.subtract(logarithm, int64(1 << 31)), tflite_functions.distance_divisor(inputs.scale)
    )
    bound = alone(relay.maximum(divided, int64(least)))
    value = relay.subtract(integers.wide(relay.take(relay.const(scaled.astype(np.int32)), distance)), logarithm)
    level = relay.add(rounded_shift(value, 31 - _LOG_BITS - _OUTPUT_BITS), int64(highest))
    lowest = int64(value_range(output.dtype)[0])
    level = relay.where(relay.greater(relay.negative(integers.wide(distance)), bound), level, lowest)
    return integers.narrowed(level, QuantizedType(output.scale, 0, output.dtype))


def _logarithm(x: relay.Expr, width: int) -> relay.Expr:
    """The natural logarithm, with 5 integer bits, of numbers from 1 on with 12.

    TFLite Micro brings x to a power of two times r near 2**(-1/4), in two ways that overlap, and takes a quotient of
    polynomials of r.
    """
    most = 31 - _SUM_BITS + width.bit_length()
    root, fourth_root = int64(round(2**30.5)), int64(round(2**30.75))
    quarter = int64(1 << (31 - _LOG_BITS - 1 - 2))
    fraction = 31 - _LOG_BITS - 1
    leading = relay.subtract(int64(32), bits_of(x, 32 - _SUM_BITS, most))
    first = product(saturated(relay.left_shift(x, relay.subtract(leading, int64(1)))), root)
    first = saturated(relay.left_shift(first, int64(1)))
    first_power = relay.add(doubled(relay.subtract(int64(_SUM_BITS), leading), fraction), quarter)
    smaller = product(x, root)
    room = relay.subtract(int64(31), bits_of(smaller, 31 - _SUM_BITS, most))
    second = saturated(relay.left_shift(x, room))
    second_power = relay.subtract(doubled(relay.subtract(int64(_SUM_BITS), room), fraction), quarter)
    r = alone(relay.minimum(first, second))
    power = alone(relay.maximum(saturated(first_power), saturated(second_power)))
    p = relay.right_shift(relay.add(relay.add(r, fourth_root), int64(1)), int64(1))
    q = alone(relay.multiply(relay.subtract(r, fourth_root), int64(2)))
    square = alone(product(q, q))
    up = 2**0.25
    a, b, c, d = (int64(round(number * 2**31)) for number in (11 / 240 * up, up / 20, 2 / up - up, up / 4))
    numerator = relay.add(product(q, r), product(product(q, square), a))
    inner = relay.add(relay.add(c, q), product(b, square))
    rest = relay.add(product(p, inner), product(d, q))
    reciprocal = _reciprocal_of_one_plus(rest)
    part = product(rounded_shift(numerator, _LOG_BITS + 1), reciprocal)
    whole = relay.add(product(power, int64(round(np.log(2) * 2**31))), part)
    return saturated(doubled(whole, 1))


def _reciprocal_of_one_plus(x: relay.Expr) -> relay.Expr:
    """`match.arithmetic.fixed_point.reciprocal_of_one_plus` of int64 tensors."""
    half = alone(relay.right_shift(relay.add(x, int64(1 << 31)), int64(1)))
    constant, slope = RECIPROCAL_START
    result = alone(relay.add(int64(constant), product(half, int64(slope))))
    for _ in range(RECIPROCAL_STEPS):
        error = relay.subtract(int64(1 << 29), product(half, result))
        result = alone(relay.add(result, doubled(product(result, error), 2)))
    return saturated(relay.left_shift(result, int64(1)))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "SOFTMAX": softmax,
        "LOG_SOFTMAX": log_softmax,
    }
