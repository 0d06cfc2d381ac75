"""UNIDIRECTIONAL_SEQUENCE_LSTM with activations of 8 bits, weights of 8 and a cell of 16, unrolled over time.

State is zero at the start of every inference, as TFLite Micro's is after a reset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.interface import QuantizedType
from match.frontend.tflite import integers
from match.frontend.tflite.file import Array, FileOperator
from match.frontend.tflite.integers import int64
from match.frontend.tflite.reader import TfliteReader
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import relay
from match.relay.fixed_point import alone

_GATES = (0, 1, 3, 2)
"""Input, forget, output and cell gate, by their places in the file: three of them have one function."""
_INPUT_WEIGHTS, _RECURRENT_WEIGHTS, _BIASES = 1, 5, 12
_HIDDEN, _CELL = 18, 19
_VARIANTS = (9, 10, 11, 16, 17, 20, 21, 22, 23)
_GATE_SCALE = np.float32(2**-12)
"""Scale of what a gate's function is applied to."""
_FUNCTION_SCALE = 2.0**-15
"""Scale of what the logistic function and the hyperbolic tangent give."""
_ONE_MORE = (
    *(4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39),
    *(40, 41, 43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255),
)
"""Where TFLite Micro's table of the logistic function is one above the nearest integer."""


def lstm(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """The hidden states of all steps."""
    options = operator.options(tflite.UnidirectionalSequenceLSTMOptions)
    if any(read.has(operator, at) for at in _VARIANTS):
        raise read.error(operator, "has peepholes, a projection or a normalization; only the plain cell is supported")
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.TANH or options.DiagonalRecurrentTensors():
        raise read.error(operator, "has another activation than the hyperbolic tangent, or diagonal weights")
    x, inputs, output = read.tensor(operator), read.input_quantization(operator), read.output(operator)
    hidden, cell = read.tensor(operator, _HIDDEN), read.tensor(operator, _CELL)
    hidden_values, cell_scale = read.quantization(operator, hidden), read.quantization(operator, cell).scale
    if cell.dtype != "int16":
        raise read.error(operator, f"has a cell of type {cell.dtype}; only int16 is supported")
    steps, batch, _ = x.shape if options.TimeMajor() else (x.shape[1], x.shape[0], x.shape[2])
    units = output.shape[2]

    sequence = read.expr(operator)
    if not options.TimeMajor() and batch > 1:
        sequence = relay.transpose(sequence, (1, 0, 2))
    rows = relay.reshape(sequence, (steps * batch, x.shape[2]))
    fed = _gates(read, operator, _INPUT_WEIGHTS, inputs, bias=True).sums(rows)
    gates = _gates(read, operator, _RECURRENT_WEIGHTS, hidden_values, bias=False)
    power = round(float(np.log2(cell_scale)))
    clip = float(options.CellClip())
    limit = int(min(clip / float(cell_scale), 32767.0)) if clip > 0 else 32767
    state: relay.Expr = relay.const(np.full((batch, units), hidden_values.zero_point, hidden.dtype))
    memory: relay.Expr = int64(np.zeros((batch, units)))
    states: list[relay.Expr] = []
    for step in range(steps):
        here = relay.strided_slice(fed, [step * batch], [(step + 1) * batch], axes=[0])
        sums = alone(_narrow(relay.add(here, gates.sums(state))))
        gated = alone(_logistic(_columns(sums, 0, 3 * units)))
        let_in, forget, let_out = (_columns(gated, gate * units, units) for gate in range(3))
        kept = alone(_narrow(integers.scaled(relay.multiply(forget, memory), _FUNCTION_SCALE)))
        new = relay.multiply(let_in, alone(_tanh(_columns(sums, 3 * units, units), -12)))
        factor = np.float64(_FUNCTION_SCALE) * np.float64(_FUNCTION_SCALE)
        added = alone(_narrow(integers.scaled(new, factor / np.float64(cell_scale))))
        memory = _narrow(relay.add(kept, added))
        if limit < 32767:
            memory = relay.clip(memory, -limit, limit)
        memory = alone(memory)
        shown = relay.multiply(alone(_tanh(memory, power)), let_out)
        state = integers.narrowed(integers.scaled(shown, factor / np.float64(hidden_values.scale)), hidden_values)
        states.append(state)
    stacked = relay.stack(states, 0 if options.TimeMajor() else 1)
    return relay.reshape(stacked, output.shape)


def svdf(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SVDF, of which one inference says nothing: it looks back on those before.

    Raises:
        ModelError: always.
    """
    raise read.error(operator, "keeps state from one inference to the next; replace it by layers over a window of time")


@dataclass(frozen=True)
class _Gates:
    """The weights (4 * units, depth) of all gates, with offsets and factors alike."""

    weights: relay.Expr
    offset: relay.Expr
    factor: npt.NDArray[np.float64]

    def sums(self, x: relay.Expr) -> relay.Expr:
        """Rows of x times the weights of all gates, side by side, int64 in 16 bits."""
        products = relay.nn.dense(x, self.weights, units=len(self.factor), out_dtype="int32")
        return alone(_narrow(integers.scaled(integers.wide(relay.add(products, self.offset)), self.factor)))


def _gates(read: TfliteReader, operator: FileOperator, first: int, inputs: QuantizedType, *, bias: bool) -> _Gates:
    weights: list[Array] = []
    offsets: list[Int64Array] = []
    factors: list[npt.NDArray[np.float64]] = []
    for gate in _GATES:
        tensor, values = read.tensor(operator, first + gate), read.constant(operator, first + gate)
        if values is None or str(values.dtype) != "int8" or len(tensor.scales) != 1:
            raise read.error(operator, f"has weights {tensor.name!r} that are no int8 constants with one scale")
        weights.append(values)
        offset = -inputs.zero_point * values.sum(axis=1, dtype=np.int64)
        biases = read.constant(operator, _BIASES + gate) if bias else None
        offsets.append(offset if biases is None else offset + biases.astype(np.int64))
        factor = np.float64(inputs.scale) * np.float64(tensor.scales[0]) / np.float64(_GATE_SCALE)
        factors.append(np.full(len(values), factor))
    offset = relay.const(np.concatenate(offsets).astype(np.int32))
    return _Gates(relay.const(np.concatenate(weights)), offset, np.concatenate(factors))


def _columns(x: relay.Expr, first: int, count: int) -> relay.Expr:
    return relay.strided_slice(x, [first], [first + count], axes=[1])


def _narrow(x: relay.Expr) -> relay.Expr:
    return relay.clip(x, *value_range("int16"))


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
    left = 15 + power - 3
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
    table, size = _table(), alone(relay.abs(x))
    index = relay.right_shift(size, int64(bits))
    bounded = relay.minimum(index, int64(254))
    low, high = (relay.take(int64(values), relay.cast(bounded, "int32")) for values in (table[:-1], table[1:]))
    rest = relay.bitwise_and(size, int64((1 << bits) - 1))
    between = relay.add(relay.left_shift(low, int64(bits)), relay.multiply(rest, relay.subtract(high, low)))
    most = 0x7FFF << 10 if bits == 9 else 0xFFFF << 8
    return relay.where(relay.less(index, int64(255)), between, int64(most))


def _table() -> Int64Array:
    """TFLite Micro's table: 65536 times the logistic function of i / 24 for i from 0 to 255."""
    positions = np.arange(256)
    values = np.floor(65536 / (1 + np.exp(-positions / 24)) + 0.5).astype(np.int64)
    values[list(_ONE_MORE)] += 1
    return np.minimum(values, 65535)
