"""LSTM layers in integers: a Relay operator for all steps, and the operators of each step that compute the same.

The arithmetic is that of TFLite Micro's kernel of UNIDIRECTIONAL_SEQUENCE_LSTM for 8 bits with a cell of 16. A gate's
sums over x and over the states of the step before become 16 bits each, in steps of 2**-12, and are added. The logistic
function and the hyperbolic tangent give 16 bits in steps of 2**-15. A cell has steps of a power of two. Before the
first step cells are 0 and states are the output's zero point.

TVM has no code for the operator: what no module takes is `unrolled`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.arithmetic.tflite_functions import logistic_of_16_bits
from match.ir.dtypes import value_range
from match.ir.layer import GATES
from match.ir.requantization import Int64Array
from match.relay import LSTM, integer_form, relay, tvm
from match.relay.fixed_point import alone, scaled
from match.relay.graph import post_order
from match.relay.integer_form import Int8Array, int64
from match.relay.rewrite import New, constant, dtype, is_call, rewrite, shape

POWERS = -15, 0
"""Of two, from the least to the most, that a cell may have steps of."""

MOST = 32767
"""The largest 16-bit number: the limit of cells that are not clipped further."""

_GATE_POWER = -12
_FUNCTION_POWER = -15


@dataclass(frozen=True, eq=False)
class Lstm:
    """A layer of LSTM cells; gates are in the order input, forget, output, cell.

    x: 8 bits, shape (steps, batch, features), of type `x_dtype`.
    input_weights, state_weights: int8, shapes (4, units, features) and (4, units, units).
    offsets: shape (2, 4, units), added to the sums over x and over states, which they free of zero points.
    scales: shape (10, 2), mantissa and exponent of TFLite's multipliers: of the gates' sums over x, over states, of
        what a step adds to a cell, of what it shows of a cell.
    power: a cell has steps of ``2**power``. limit: its largest magnitude.
    zero: the output's, of type `dtype`.
    """

    x: relay.Expr
    x_dtype: str
    input_weights: Int8Array
    state_weights: Int8Array
    offsets: Int64Array
    scales: Int64Array
    power: int
    limit: int
    zero: int
    dtype: str

    @property
    def units(self) -> int:
        """Cells, and channels of the output."""
        return self.input_weights.shape[1]

    def build(self, x: relay.Expr) -> relay.Expr:
        """The operator, on another input: the states of all steps, shape (steps, batch, units)."""
        constants = (
            *map(relay.const, (self.input_weights, self.state_weights)),
            *(relay.const(values.astype(np.int32)) for values in (self.offsets, self.scales)),
            relay.const(np.array([self.power, self.limit], np.int32)),
            relay.const(self.zero, self.dtype),
        )
        return relay.Call(tvm.ir.Op.get(LSTM), [x, *constants])


def read_lstm(expr: relay.Expr) -> Lstm | None:
    """The layer that a typed expression is."""
    values = [constant(argument) for argument in expr.args[1:]] if is_call(expr, LSTM) else []
    arrays = [value for value in values if value is not None]
    if not arrays or len(arrays) < len(values):
        return None
    input_weights, state_weights, offsets, scales, (power, limit), zero = arrays
    return Lstm(
        expr.args[0],
        dtype(expr.args[0]),
        input_weights,
        state_weights,
        offsets.astype(np.int64),
        scales.astype(np.int64),
        int(power),
        int(limit),
        int(zero),
        dtype(expr),
    )


def without_lstm(module: tvm.IRModule) -> tvm.IRModule:
    """A network that TVM can compile: each of these operators as those of all its steps; types inferred."""
    found = any(is_call(expr, LSTM) for expr in post_order(module["main"]))
    return rewrite(module, unrolled) if found else module


def unrolled(call: relay.Call, new: New) -> relay.Expr | None:
    """The states of all steps, each by operators of its own; None for calls of other operators."""
    found = read_lstm(call)
    if found is None:
        return None
    steps, batch, features = shape(found.x)
    rows = relay.reshape(new(found.x), (steps * batch, features))
    fed = _sums(found, rows, 0)
    state: relay.Expr | None = None
    memory: relay.Expr = int64(np.zeros((batch, found.units)))
    states: list[relay.Expr] = []
    for step in range(steps):
        sums = relay.strided_slice(fed, [step * batch], [(step + 1) * batch], axes=[0])
        if state is not None:  # before the first step all states are zero, and so are the sums
            sums = alone(_narrow(relay.add(sums, _sums(found, state, 1))))
        memory, state = _step(found, sums, memory)
        states.append(state)
    return relay.stack(states, 0)


def _sums(found: Lstm, x: relay.Expr, part: int) -> relay.Expr:
    """Rows of x (part 0) or of states (1) times the weights of all gates, side by side, int64 in 16 bits."""
    weights = (found.input_weights, found.state_weights)[part]
    offsets = relay.const(found.offsets[part].reshape(-1).astype(np.int32))
    products = relay.add(integer_form.product(x, weights.reshape(GATES * found.units, -1)), offsets)
    mantissas, exponents = np.repeat(found.scales[GATES * part :][:GATES], found.units, axis=0).T
    return alone(_narrow(scaled(relay.cast(products, "int64"), mantissas, exponents)))


def _step(found: Lstm, sums: relay.Expr, memory: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
    """Cells and states after a step, from the sums of its gates and the cells before."""
    units = found.units
    gated = alone(_logistic(_columns(sums, 0, 3 * units)))
    let_in, forget, let_out = (_columns(gated, gate * units, units) for gate in range(3))
    mantissa, exponent = np.array([1 << 30]), np.array([_FUNCTION_POWER + 1])
    kept = alone(_narrow(scaled(relay.multiply(forget, memory), mantissa, exponent)))
    fresh = relay.multiply(let_in, alone(_tanh(_columns(sums, 3 * units, units), _GATE_POWER)))
    added = alone(_narrow(scaled(fresh, *found.scales[-2])))
    memory = _narrow(relay.add(kept, added))
    if found.limit < MOST:
        memory = relay.clip(memory, -found.limit, found.limit)
    memory = alone(memory)
    shown = scaled(relay.multiply(alone(_tanh(memory, found.power)), let_out), *found.scales[-1])
    levels = relay.cast(relay.add(shown, int64(found.zero)), "int32")
    return memory, alone(integer_form.saturate(levels, value_range(found.dtype), found.dtype))


def _columns(x: relay.Expr, first: int, count: int) -> relay.Expr:
    return relay.strided_slice(x, [first], [first + count], axes=[1])


def _narrow(x: relay.Expr) -> relay.Expr:
    return relay.clip(x, *value_range("int16"))


def tanh_shift(power: int) -> int:
    """By how many bits numbers in steps of ``2**power``, times 3, are shifted left for the table of `_tanh`."""
    return power - _GATE_POWER


def _logistic(x: relay.Expr) -> relay.Expr:
    """The logistic function of 16-bit numbers with 3 integer bits, without integer bits."""
    moved = alone(relay.multiply(x, int64(3)))
    positive = _interpolated(moved, 9)
    rounding = 1 << 9
    below = relay.subtract(int64((1 << 25) + rounding - 1), positive)
    above = relay.add(positive, int64(rounding))
    return relay.right_shift(relay.where(relay.less(moved, int64(0)), below, above), int64(10))


def _tanh(x: relay.Expr, power: int) -> relay.Expr:
    """The hyperbolic tangent of 16-bit numbers in steps of 2**power, without integer bits."""
    left = tanh_shift(power)
    moved = relay.multiply(x, int64(3 << max(left, 0)))
    if left < 0:
        moved = relay.right_shift(relay.add(moved, int64(1 << (-left - 1))), int64(-left))
    moved = alone(moved)
    positive = _interpolated(moved, 8)
    half, rounding = 1 << 23, 1 << 7
    below = relay.subtract(int64(half + rounding - 1), positive)
    above = relay.subtract(positive, int64(half - rounding))
    return relay.right_shift(relay.where(relay.less(moved, int64(0)), below, above), int64(8))


def _interpolated(x: relay.Expr, bits: int) -> relay.Expr:
    """Between two entries of the logistic function's table, `bits` below the index, for the magnitude of x."""
    table, size = logistic_of_16_bits(), alone(relay.abs(x))
    index = relay.right_shift(size, int64(bits))
    bounded = relay.minimum(index, int64(254))
    low, high = (relay.take(int64(values), relay.cast(bounded, "int32")) for values in (table[:-1], table[1:]))
    rest = relay.bitwise_and(size, int64((1 << bits) - 1))
    between = relay.add(relay.left_shift(low, int64(bits)), relay.multiply(rest, relay.subtract(high, low)))
    most = 0x7FFF << 10 if bits == 9 else 0xFFFF << 8
    return relay.where(relay.less(index, int64(255)), between, int64(most))
