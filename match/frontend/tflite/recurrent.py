"""UNIDIRECTIONAL_SEQUENCE_LSTM with activations of 8 or 16 bits, weights of 8 and a cell of 16.

State is zero at the start of every inference, as TFLite Micro's is after a reset.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.interface import QuantizedType
from match.frontend.tflite.file import Array, FileOperator
from match.frontend.tflite.int16.quantization import LEAST_UNSCALED, of_input
from match.frontend.tflite.integers import scale
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.graph.make import reshaped, transposed
from match.graph.recurrent import MOST, POWERS, Lstm
from match.graph.sums import Int8Array
from match.graph.value import Value, computed
from match.ir.requantization import Int64Array

_GATES = (0, 1, 3, 2)
"""Input, forget, output and cell gate, by their places in the file: three of them have one function."""
_INPUT_WEIGHTS, _RECURRENT_WEIGHTS, _BIASES = 1, 5, 12
_HIDDEN, _CELL = 18, 19
_VARIANTS = (9, 10, 11, 16, 17, 20, 21, 22, 23)
_GATE_SCALE = np.float32(2**-12)
"""Scale of what a gate's function is applied to."""
_FUNCTION_SCALE = 2.0**-15
"""Scale of what the logistic function and the hyperbolic tangent give."""


def lstm(read: TfliteReader, operator: FileOperator) -> Value:
    """The hidden states of all steps."""
    options = operator.options(tflite.UnidirectionalSequenceLSTMOptions)
    if any(read.has(operator, at) for at in _VARIANTS):
        raise read.error(operator, "has peepholes, a projection or a normalization; only the plain cell is supported")
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.TANH or options.DiagonalRecurrentTensors():
        raise read.error(operator, "has another activation than the hyperbolic tangent, or diagonal weights")
    x, output = read.tensor(operator), read.output(operator)
    hidden, cell = read.tensor(operator, _HIDDEN), read.tensor(operator, _CELL)
    if hidden.dtype != x.dtype:
        raise read.error(operator, f"has states of {hidden.dtype} and an input of {x.dtype}; quantize them alike")
    if x.dtype == "int16":
        inputs, states = of_input(read, operator), of_input(read, operator, _HIDDEN)
    else:
        inputs, states = read.input_quantization(operator), read.input_quantization(operator, _HIDDEN)
    cell_scale = read.quantization(operator, cell).scale
    power = round(float(np.log2(cell_scale)))
    if cell.dtype != "int16" or not POWERS[0] <= power <= POWERS[1]:
        raise read.error(
            operator, f"has cells of {cell.dtype} in steps of 2**{power}; only int16, 2**-15 to 1, is supported"
        )
    clip = float(options.CellClip())
    over_x, input_weights, input_offsets = _gates(read, operator, _INPUT_WEIGHTS, inputs, bias=True)
    over_states, state_weights, state_offsets = _gates(read, operator, _RECURRENT_WEIGHTS, states, bias=False)
    product = np.float64(_FUNCTION_SCALE) * np.float64(_FUNCTION_SCALE)
    factors = [*over_x, *over_states, product / np.float64(cell_scale), product / np.float64(states.scale)]
    largest = max(*over_x, *over_states)
    if x.dtype == "int16" and largest >= LEAST_UNSCALED:
        problem = f"scales sums by {largest:.3g}, and 16-bit kernels scale by less than {LEAST_UNSCALED}"
        raise read.error(operator, f"{problem}; quantize its input and states again")
    sequence = read.value(operator)
    turned = not options.TimeMajor() and 1 not in x.shape[:2]
    if turned:
        sequence = transposed(sequence, (1, 0, 2))
    steps, batch = x.shape[:2] if options.TimeMajor() else (x.shape[1], x.shape[0])
    sequence = reshaped(sequence, (steps, batch, x.shape[2]))
    layer = Lstm(
        input_weights=input_weights,
        state_weights=state_weights,
        offsets=np.stack([input_offsets, state_offsets]),
        scales=scale(factors).T,
        power=power,
        limit=int(min(clip / float(cell_scale), float(MOST))) if clip > 0 else MOST,
        zero=states.zero_point,
        dtype=hidden.dtype,
    )
    outputs = computed(layer, sequence)
    return reshaped(transposed(outputs, (1, 0, 2)) if turned else outputs, output.shape)


def _gates(
    read: TfliteReader, operator: FileOperator, first: int, inputs: QuantizedType, *, bias: bool
) -> tuple[list[np.float64], Int8Array, Int64Array]:
    """The factors of all gates' sums, their weights, shape (4, units, depth), and what is added to the sums."""
    weights: list[Array] = []
    offsets: list[Int64Array] = []
    factors: list[np.float64] = []
    for gate in _GATES:
        tensor, values = read.tensor(operator, first + gate), read.constant(operator, first + gate)
        if values is None or str(values.dtype) != "int8" or len(tensor.scales) != 1:
            raise read.error(operator, f"has weights {tensor.what} that are no int8 constants with one scale")
        of_weights = read.quantization(operator, tensor).scale
        read.check_symmetric(operator, tensor)
        weights.append(values)
        offset = -inputs.zero_point * values.sum(axis=1, dtype=np.int64)
        biases = _biases(read, operator, gate, inputs) if bias else None
        offsets.append(offset if biases is None else offset + biases.astype(np.int64))
        factors.append(np.float64(inputs.scale) * np.float64(of_weights) / np.float64(_GATE_SCALE))
    return factors, np.stack(weights), np.stack(offsets)


def _biases(
    read: TfliteReader, operator: FileOperator, gate: int, inputs: QuantizedType
) -> npt.NDArray[np.integer] | None:
    """Those of a gate, none if it has none: beside inputs of 16 bits TFLite Micro takes all for int64."""
    position = _BIASES + gate
    if not read.has(operator, position):
        return None
    if inputs.dtype != "int16":
        read.check_bias(operator, position)
    elif (kind := read.tensor(operator, position).dtype) != "int64":
        raise read.error(operator, f"has a bias of type {kind} beside inputs of int16; quantize it to int64")
    return read.constant(operator, position)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
    }
