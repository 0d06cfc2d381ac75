"""The operands most modules use: dense HWC activations, and one constant operand: filter, requantization, table.

A module whose memory looks different (padded channels, planes of bits) builds its own from these parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from match.ir.attributes import Broadcast, ChannelGroups, Own, Slice, Transposition
from match.ir.layer import GATES, Axis, Component, Dim, Layer, Op, Operand, Role, input_axes, whole_axis
from match.ir.requantization import Requantizer


class OperandError(Exception):
    """A module cannot read or write a tensor as a layer has it; the text is the reason in a refusal."""


Requantizers = Sequence[Requantizer | None]
"""The form of requantization of each operator of a layer (`Layer.operators`)."""

INPUT = "input"
ADDEND = "addend"
WEIGHTS = "weights"
OUTPUT = "output"
FILTER = "filter"
REQUANTIZATION = "requantization"
EXCEPTED = "excepted"
EXCEPTIONS = "exceptions"
TABLE = "table"
ZERO_POINTS = "zero_points"
STEPS = "steps"
ROW_POSITIONS = "row_positions"
COLUMN_POSITIONS = "column_positions"
COLUMNS = "columns"
NORMALIZATION = "normalization"

POSITION_BYTES = 8
"""Bytes of a match_between_t."""

LINE_BYTES = 4 * 3
"""Bytes of a match_dequantize_t."""

SCALING_BYTES = 4 * 4
"""Bytes of a match_scaling_t."""

ADD_INT16_BYTES = 3 * SCALING_BYTES + 4
"""Bytes of a match_add_int16_t."""

GATE_INT16_BYTES = 4 * 2 + 2 * 256
"""Bytes of a match_gate_int16_t."""

SOFTMAX_INT16_BYTES = SCALING_BYTES + 2 * 2 * 514
"""Bytes of a match_softmax_int16_t."""

QUANTIZE_BYTES = 4 * (4 + 256)
"""Bytes of a match_quantize_t."""

FLOAT_AVERAGE_BYTES = 4 * 5 + 4 * 256 + QUANTIZE_BYTES
"""Bytes of a match_float_average_t."""

SOFTMAX_BYTES = 4 * (3 + 256)
"""Bytes of a match_softmax_t."""

LOG_SOFTMAX_BYTES = 4 * (1 + 2 * 256)
"""Bytes of a match_log_softmax_t."""

LSTM_BYTES = 4 * (10 * 4 + 4) + 2 * 256
"""Bytes of a match_lstm_t."""

GRU_BYTES = 4 * (7 * 4 + 1) + 2 * 256
"""Bytes of a match_gru_t."""

_ZERO_POINTS = Component(ZERO_POINTS, (), 2 * 4)

_STRUCT_BYTES = {
    Op.QUANTIZE: QUANTIZE_BYTES,
    Op.FLOAT_AVG_POOL2D: FLOAT_AVERAGE_BYTES,
    Op.SOFTMAX: SOFTMAX_BYTES,
    Op.LOG_SOFTMAX: LOG_SOFTMAX_BYTES,
    Op.LSTM: LSTM_BYTES,
    Op.GRU: GRU_BYTES,
    Op.GRU_RESET_FIRST: GRU_BYTES,
}
"""Bytes of structures, by operator."""

_INT16_BYTES = {
    Op.ADD: ADD_INT16_BYTES,
    Op.MULTIPLY: SCALING_BYTES,
    Op.REQUANTIZE: SCALING_BYTES,
    Op.LEAKY_RELU: 2 * SCALING_BYTES,
    Op.LOGISTIC: GATE_INT16_BYTES,
    Op.TANH: GATE_INT16_BYTES,
    Op.SOFTMAX: SOFTMAX_INT16_BYTES,
    Op.LSTM: LSTM_BYTES,
}
"""The same of operators on int16."""

UNIT_BYTES = {Op.LSTM: 4 * 2 * 4, Op.GRU: 4 * (2 * 3 + 1), Op.GRU_RESET_FIRST: 4 * (2 * 3 + 1)}
"""Bytes of a match_lstm_unit_t or match_gru_unit_t without its weights, by operator."""


def input_operand(layer: Layer, name: str = INPUT) -> Operand:
    """An input activation, HWC, of one, two or four bytes an element, or of a unit. `name` tells two inputs apart.

    That of a transposition has its last two axes the other way round; the second one of matrices has its columns along
    the outputs. That of a resize is there with all its rows and columns, that of a gather with all its columns.
    """
    if name == ADDEND and layer.op is Op.MATRICES:
        axes = (Axis(Dim.OY, layer.oy), Axis(Dim.K, layer.k), Axis(Dim.C, layer.c))
        return Operand(name, Role.INPUT, (Component(name, axes),))
    dim = Dim.K if layer.channelwise else Dim.C
    rows, columns = input_axes(layer)
    channels = Axis(dim, layer.input_channels, before=-layer.get(Slice).start)
    if layer.op is Op.GROUPED_CONV2D:
        channels = Axis(Dim.K, layer.input_channels, layer.c, layer.c)
    if name == ADDEND and layer.get(Broadcast).kind == "pixel":
        rows, columns = whole_axis(Dim.OY, 1), whole_axis(Dim.OX, 1)
    if name == ADDEND and layer.get(Broadcast).single_channel:
        rows, columns, channels = Axis(Dim.OY, layer.oy), Axis(Dim.OX, layer.ox), whole_axis(Dim.K, 1)
    if name == ADDEND and layer.op is Op.CONCATENATE:
        channels = Axis(dim, layer.k - layer.input_channels)
    transposed = layer.op is Op.TRANSPOSE
    axes = (rows, channels, columns) if transposed else (rows, columns, channels)
    component = Component(name, axes, element_bytes(layer.input_dtype) * layer.get(Transposition).element_bytes)
    return Operand(name, Role.INPUT, (component,), transposed=transposed)


def output_operand(layer: Layer, partial_bytes: int = 0) -> Operand:
    """The output activation, HWC, of 1, 2 or 4 bytes an element, or of a unit. `partial_bytes` as in `Operand`."""
    outputs = layer.get(ChannelGroups).outputs
    axes = (Axis(Dim.OY, layer.oy), Axis(Dim.OX, layer.ox), Axis(Dim.K, layer.output_channels, outputs, outputs))
    component = Component(OUTPUT, axes, element_bytes(layer.output_dtype) * layer.get(Transposition).element_bytes)
    return Operand(OUTPUT, Role.OUTPUT, (component,), partial_bytes)


def filter_component(layer: Layer, k_multiple: int = 1, c_multiple: int = 1) -> Component:
    """The filter, one byte an element: (K, FY, FX, C) or, channelwise, (K, FY, FX); of recurrent layers their units.

    Weights of a unit have as many bytes as activations.
    Channels are rounded up to the multiples, for modules whose weights come in groups.
    """
    if layer.op in GATES:
        row = GATES[layer.op] * element_bytes(layer.input_dtype)
        words = sum((row * depth + 3) // 4 for depth in (layer.c, layer.k))
        return Component(FILTER, (Axis(Dim.K, layer.k),), UNIT_BYTES[layer.op] + 4 * words)
    axes = (Axis(Dim.K, layer.k, multiple=k_multiple), Axis(Dim.FY, layer.fy), Axis(Dim.FX, layer.fx))
    if not layer.channelwise:
        axes += (Axis(Dim.C, layer.c, multiple=c_multiple),)
    return Component(FILTER, axes, layer.get(ChannelGroups).outputs)


def requantization_component(layer: Layer, parameter_bytes: int, k_multiple: int = 1) -> Component:
    """The requantization parameters: one entry per output channel, or one in all for an operator of two inputs."""
    if layer.two_inputs:
        return Component(REQUANTIZATION, (), parameter_bytes)
    each = parameter_bytes * layer.get(ChannelGroups).outputs
    return Component(REQUANTIZATION, (Axis(Dim.K, layer.k, multiple=k_multiple),), each)


def exception_components(layer: Layer, requantizer: Requantizer | None) -> tuple[Component, ...]:
    """Where each output channel's exceptions begin, a uint16, and the words of all; of a form that has some."""
    if requantizer is None or not requantizer.exceptions:
        return ()
    return (
        replace(requantization_component(layer, 2), name=EXCEPTED),
        Component(EXCEPTIONS, (), 4 * requantizer.exceptions),
    )


def element_bytes(dtype: str) -> int:
    """Bytes of an activation's element."""
    return np.dtype(dtype).itemsize


def data_components(layer: Layer) -> tuple[Component, ...]:
    """What kernels read beside filters and requantization, see `match.ir.constants`.

    It is called a table by default. Where an operator has parts of its output channels, `layer.k` is in all tiles.
    """
    structs = _INT16_BYTES if layer.input_dtype == "int16" else _STRUCT_BYTES
    size = structs.get(layer.op, 0)
    match layer.op:
        case Op.CHANNEL_LOOKUP:
            return (Component(TABLE, (Axis(Dim.K, layer.k),), 256),)
        case Op.DEQUANTIZE_SUMS:
            return (Component(TABLE, (Axis(Dim.K, layer.k),), LINE_BYTES),)
        case Op.SQUARED_DIFFERENCE:
            return (Component(STEPS, (), 2 * 256 * 2),)
        case Op.MATRICES:
            return (_ZERO_POINTS,)
        case Op.MULTIPLY if not size:
            return (_ZERO_POINTS,)
        case Op.NORMALIZE:
            return (Component(NORMALIZATION, (), 12 + 2 * layer.k),)
        case Op.RESIZE:
            rows, columns = whole_axis(Dim.OY, layer.oy), whole_axis(Dim.OX, layer.ox)
            each = ((ROW_POSITIONS, rows), (COLUMN_POSITIONS, columns))
            return tuple(Component(name, (axis,), POSITION_BYTES) for name, axis in each)
        case Op.GATHER:
            return (Component(COLUMNS, (whole_axis(Dim.OX, layer.ox),), 4),)
        case Op.LOOKUP_SUM | Op.LOOKUP_LINE | Op.ABSOLUTE_DIFFERENCE:
            size = 2 * 256 * 4
        case Op.CONCATENATE:
            size = 2 * 256
        case Op.LOOKUP | Op.DEQUANTIZE | Op.SLICE:
            size = 256 * element_bytes(layer.output_dtype)
        case Op.OWN:
            size = layer.get(Own).constant_bytes
        case _:
            pass
    return (Component(TABLE, (), size),) if size else ()


def weights_operand(*components: Component) -> Operand:
    """The constants of a layer, moved as one block per tile of output channels."""
    return Operand(WEIGHTS, Role.CONSTANT, components)


def standard_operands(
    layer: Layer, parameter_bytes: int, partial_bytes: int = 0, requantizer: Requantizer | None = None
) -> tuple[Operand, ...]:
    """Operands of a module with dense HWC activations and (K, FY, FX, C) filters, in the order used everywhere.

    Input, addend (of two inputs the second), weights (filter and `parameter_bytes` of requantization per output
    channel, tables, zero points, positions, as far as the operator has them), output. `parameter_bytes` is 0 where the
    operator does not requantize, `partial_bytes` where kernels do not add up a part of the input channels at a time;
    `requantizer` is what has exceptions, if anything has.
    """
    components: list[Component] = []
    if layer.weight_dtype:
        components.append(filter_component(layer))
    if parameter_bytes:
        components.append(requantization_component(layer, parameter_bytes))
        components += exception_components(layer, requantizer)
    components += data_components(layer)
    operands = [input_operand(layer)]
    if layer.two_inputs:
        operands.append(input_operand(layer, ADDEND))
    if components:
        operands.append(weights_operand(*components))
    return (*operands, output_operand(layer, partial_bytes))
