"""The Relay of `match.graph.fixed_point`: TFLite Micro's integer arithmetic on int64 tensors.

Scaled numbers fit int32, as they do in TFLite Micro; results are saturated in that type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match.arithmetic.fixed_point import RECIPROCAL_START, RECIPROCAL_STEPS
from match.arithmetic.tflite import ADD_LEFT_SHIFT
from match.graph.fixed_point import (
    LOG_BITS,
    BiasedMatrices,
    LogarithmOfSoftmax,
    Narrowed,
    Prelu,
    Rescale,
    RunningSum,
    SquaredDistance,
    Sum,
    UnitLength,
)
from match.graph.operator import Operator
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay
from match.relay.fixed_point import alone, bits_of, rounded_shift, scaled
from match.relay.integer_form import int64


def fixed_point(operator: Operator, inputs: Sequence[relay.Expr], tensors: Sequence[Tensor]) -> relay.Expr | None:
    """An operator of `match.graph.fixed_point`; None for others."""
    match operator:
        case Rescale():
            return _narrowed(scaled(_wide(inputs[0], operator.zero_point), *operator.scale), operator)
        case Prelu():
            x, slopes = (_wide(one, zero) for one, zero in zip(inputs, operator.zero_points, strict=True))
            above, below = scaled(x, *operator.above), scaled(relay.multiply(x, slopes), *operator.below)
            return _narrowed(relay.where(relay.greater_equal(x, int64(0)), above, below), operator)
        case SquaredDistance():
            a, b = (scaled(_wide(x), *scale) for x, scale in zip(inputs, operator.scales[:2], strict=True))
            distance = alone(relay.subtract(a, b))
            return _narrowed(scaled(relay.multiply(distance, distance), *operator.scales[2]), operator)
        case Sum():
            total: relay.Expr = int64(operator.start)
            for x in inputs:
                total = relay.add(total, _addend(x, operator.zero_point, operator.scales[0]))
            return _narrowed(scaled(total, *operator.scales[1]), operator)
        case RunningSum():
            return _running_sum(operator, inputs[0])
        case BiasedMatrices():
            left, right = (
                relay.expand_dims(relay.subtract(relay.cast(x, "int32"), relay.const(zero, "int32")), 0)
                for x, zero in zip(inputs[:2], operator.zero_points, strict=True)
            )
            sums = relay.squeeze(relay.nn.batch_matmul(left, right, out_dtype="int32"), [0])
            return _narrowed(scaled(_wide(relay.add(sums, inputs[2])), *operator.scale), operator)
        case UnitLength():
            return _unit_length(operator, inputs[0])
        case LogarithmOfSoftmax():
            return _logarithm_of_softmax(operator, inputs[0], tensors[0].shape[-1])
        case _:
            return None


def _wide(x: relay.Expr, zero_point: int = 0) -> relay.Expr:
    """An integer tensor as int64, less its zero point."""
    x = relay.cast(x, "int64")
    return relay.subtract(x, int64(zero_point)) if zero_point else x


def _product(a: relay.Expr, b: relay.Expr) -> relay.Expr:
    """`match.arithmetic.fixed_point.product` of int64 tensors."""
    return relay.right_shift(relay.add(relay.multiply(a, b), int64(1 << 30)), int64(31))


def _doubled(x: relay.Expr, times: int) -> relay.Expr:
    """``x * 2**times`` of int64 tensors, which may be negative: C has no left shift of such numbers."""
    return relay.multiply(x, int64(1 << times))


def _saturated(x: relay.Expr) -> relay.Expr:
    """int64 numbers clipped to the range of int32."""
    return relay.minimum(relay.maximum(x, int64(-(1 << 31))), int64((1 << 31) - 1))


def _narrowed(x: relay.Expr, operator: Narrowed) -> relay.Expr:
    """int64 numbers plus the output's zero point, clipped, in its type; computed once."""
    if operator.zero:
        x = relay.add(x, int64(operator.zero))
    return alone(integer_form.saturate(relay.cast(x, "int32"), operator.clip, operator.dtype))


def _addend(x: relay.Expr, zero_point: int, scale: Int64Array) -> relay.Expr:
    """A tensor less its zero point, shifted left and scaled."""
    return scaled(_doubled(_wide(x, zero_point), ADD_LEFT_SHIFT), *scale)


def _running_sum(operator: RunningSum, x: relay.Expr) -> relay.Expr:
    # TFLite Micro turns all axes around, which is the same as one.
    x = _addend(x, operator.zero_point, operator.scales[0])
    x = relay.reverse(x, operator.axis) if operator.backwards else x
    sums = relay.cumsum(x, operator.axis, exclusive=operator.exclusive)
    sums = relay.reverse(sums, operator.axis) if operator.backwards else sums
    sums = relay.cast(relay.add(sums, int64(operator.start)), "int32")  # TFLite Micro sums in 32 bits
    return _narrowed(scaled(_wide(sums), *operator.scales[1]), operator)


def _unit_length(operator: UnitLength, x: relay.Expr) -> relay.Expr:
    x = _wide(x, operator.zero_point)
    squares = relay.sum(relay.multiply(x, x), axis=-1, keepdims=True)
    multiplier, shift = _inverse_square_root(squares)
    # The kernel's shift may go either way: 7 bits for the output's scale, less the root's own.
    left = relay.maximum(relay.subtract(int64(7), shift), int64(0))
    right = relay.maximum(relay.subtract(shift, int64(7)), int64(0))
    high = _product(relay.multiply(x, relay.left_shift(int64(1), left)), multiplier)
    half = relay.right_shift(relay.left_shift(int64(1), right), int64(1))
    negative = relay.multiply(relay.right_shift(high, int64(63)), relay.minimum(right, int64(1)))
    return _narrowed(relay.right_shift(relay.add(relay.add(high, half), negative), right), operator)


def _inverse_square_root(x: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
    """`match.arithmetic.fixed_point.inverse_square_root` of int64 tensors below 2**31."""
    quarters = relay.cast(relay.greater_equal(x, int64(1 << 29)), "int64")  # x stays below 2**31
    wide = relay.right_shift(x, relay.multiply(quarters, int64(2)))
    pairs = relay.subtract(int64(15), relay.right_shift(bits_of(wide, 1, 29), int64(1)))
    pairs = alone(relay.subtract(pairs, int64(1)))
    fraction = relay.right_shift(relay.left_shift(wide, relay.multiply(pairs, int64(2))), int64(1))
    half = alone(rounded_shift(fraction, 1))
    shift = relay.subtract(relay.add(quarters, int64(11)), pairs)
    result: relay.Expr = relay.full_like(half, int64(1 << 28))
    for _ in range(5):
        cube = _saturated(relay.left_shift(_product(_product(result, result), result), int64(6)))
        step = relay.subtract(_product(int64(3 << 27), result), _product(half, cube))
        result = alone(_saturated(_doubled(step, 3)))
    multiplier = _product(result, int64(round(2**30.5)))
    multiplier = relay.left_shift(multiplier, relay.maximum(relay.negative(shift), int64(0)))
    small = relay.less_equal(x, int64(1))
    multiplier = relay.where(small, int64((1 << 31) - 1), multiplier)
    shift = relay.where(small, int64(0), relay.maximum(shift, int64(0)))
    return alone(multiplier), alone(shift)


def _logarithm_of_softmax(operator: LogarithmOfSoftmax, x: relay.Expr, width: int) -> relay.Expr:
    lowest, highest = value_range(operator.dtype)
    largest = relay.max(x, axis=-1, keepdims=True)
    distance = relay.subtract(relay.cast(largest, "int32"), relay.cast(x, "int32"))
    exponentials = relay.take(relay.const(operator.exponentials.astype(np.int32)), distance)
    logarithm = alone(_logarithm(_wide(relay.sum(exponentials, axis=-1, keepdims=True)), width))
    divided = scaled(relay.subtract(logarithm, int64(1 << 31)), *operator.divisor)
    bound = alone(relay.maximum(divided, int64(operator.least)))
    value = relay.subtract(_wide(relay.take(relay.const(operator.distances.astype(np.int32)), distance)), logarithm)
    level = relay.add(rounded_shift(value, LOG_BITS), int64(highest))
    level = relay.where(relay.greater(relay.negative(_wide(distance)), bound), level, int64(lowest))
    return alone(integer_form.saturate(relay.cast(level, "int32"), (lowest, highest), operator.dtype))


_SUM_BITS, _FRACTION = 12, 31 - 5 - 1
"""Integer bits of a row's sum, and bits after the point of its logarithm's quarters."""


def _logarithm(x: relay.Expr, width: int) -> relay.Expr:
    """`match.arithmetic.fixed_point.logarithm` of sums of so many numbers."""
    most = 31 - _SUM_BITS + width.bit_length()
    root, fourth_root, quarter = int64(round(2**30.5)), int64(round(2**30.75)), int64(1 << (_FRACTION - 2))
    leading = relay.subtract(int64(32), bits_of(x, 32 - _SUM_BITS, most))
    first = _product(_saturated(relay.left_shift(x, relay.subtract(leading, int64(1)))), root)
    first = _saturated(relay.left_shift(first, int64(1)))
    first_power = relay.add(_doubled(relay.subtract(int64(_SUM_BITS), leading), _FRACTION), quarter)
    smaller = _product(x, root)
    room = relay.subtract(int64(31), bits_of(smaller, 31 - _SUM_BITS, most))
    second = _saturated(relay.left_shift(x, room))
    second_power = relay.subtract(_doubled(relay.subtract(int64(_SUM_BITS), room), _FRACTION), quarter)
    r = alone(relay.minimum(first, second))
    power = alone(relay.maximum(_saturated(first_power), _saturated(second_power)))
    p = relay.right_shift(relay.add(relay.add(r, fourth_root), int64(1)), int64(1))
    q = alone(relay.multiply(relay.subtract(r, fourth_root), int64(2)))
    square = alone(_product(q, q))
    up = 2**0.25
    a, b, c, d = (int64(round(number * 2**31)) for number in (11 / 240 * up, up / 20, 2 / up - up, up / 4))
    numerator = relay.add(_product(q, r), _product(_product(q, square), a))
    inner = relay.add(relay.add(c, q), _product(b, square))
    rest = relay.add(_product(p, inner), _product(d, q))
    part = _product(rounded_shift(numerator, 5 + 1), _reciprocal_of_one_plus(rest))
    whole = relay.add(_product(power, int64(round(np.log(2) * 2**31))), part)
    return _saturated(_doubled(whole, 1))


def _reciprocal_of_one_plus(x: relay.Expr) -> relay.Expr:
    """`match.arithmetic.fixed_point.reciprocal_of_one_plus` of int64 tensors."""
    half = alone(relay.right_shift(relay.add(x, int64(1 << 31)), int64(1)))
    constant, slope = RECIPROCAL_START
    result = alone(relay.add(int64(constant), _product(half, int64(slope))))
    for _ in range(RECIPROCAL_STEPS):
        error = relay.subtract(int64(1 << 29), _product(half, result))
        result = alone(relay.add(result, _doubled(_product(result, error), 2)))
    return _saturated(relay.left_shift(result, int64(1)))
