"""SVDF: filters over features, then filters over time, for which the network keeps what the first ones gave.

TFLite has the results of each filter side by side. Here they are a column of the state, (batch, memory, filters): an
inference takes the oldest row off and puts its own behind the others, and the filters over time are a convolution of
that map in as many groups as there are units.
"""

from __future__ import annotations

import numpy as np
import tflite

from match.arithmetic.interface import Accumulator, QuantizedType
from match.arithmetic.tflite import TfliteArithmetic
from match.frontend.model import ModelState, ModelTensor, Quantization
from match.frontend.tflite.file import Array, FileOperator
from match.frontend.tflite.kept import Kept
from match.frontend.tflite.layers import constant_weights
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.graph.make import concatenated, cut, reshaped
from match.graph.sums import Convolution
from match.graph.value import Value, computed
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.quantized.layers import dense_sums

_TIMES, _BIAS, _STATE = 2, 3, 4
"""Positions of inputs."""


def svdf(read: TfliteReader, operator: FileOperator) -> Value:
    """SVDF."""
    held, times = read.tensor(operator, _STATE), read.constant(operator, _TIMES)
    if times is None or str(times.dtype) != held.dtype or not held.variable:
        raise read.error(
            operator, "has filters over time that are no constants of the type of what it keeps; quantize it again"
        )
    (filters, memory), batch = times.shape, read.tensor(operator).shape[0]
    state = read.quantization(operator, held)
    shape = batch, memory, filters
    before = Value(Tensor(shape, state.dtype), source=held.name)
    latest = reshaped(_of_features(read, operator, state), (batch, 1, filters))
    after = latest if memory == 1 else concatenated([cut(before, 1, 1, memory), latest], 1)
    known = ModelTensor(held.name, shape, held.dtype, Quantization(float(state.scale), state.zero_point))
    read.kept.append(Kept(ModelState(known, np.full(shape, state.zero_point, state.dtype)), before, after))
    return _over_time(read, operator, after, times, state)


def _of_features(read: TfliteReader, operator: FileOperator, state: QuantizedType) -> Value:
    """What the filters over features give, (batch, filters), as the state has it."""
    inputs, weights = read.input_quantization(operator), constant_weights(read, operator, axis=0)
    scale = np.atleast_1d(read.quantization(operator, read.tensor(operator, 1)).scale)
    sums = dense_sums(read.value(operator), weights.without_zero_points)
    accumulator = sums.accumulator(inputs, scale, np.zeros(len(weights.values), np.int64))
    return sums.requantized(TfliteArithmetic().linear(accumulator, state, state.limits), state.dtype)


def _over_time(read: TfliteReader, operator: FileOperator, kept: Value, times: Array, state: QuantizedType) -> Value:
    """What the filters over time make of the state, (batch, units), a unit's added up."""
    (batch, memory, filters), rank = kept.shape, operator.options(tflite.SVDFOptions).Rank()
    output, bias = read.output_quantization(operator), read.constant(operator, _BIAS)
    if bias is None:
        raise read.error(operator, "has no constant bias, which TFLite Micro's kernel needs; export it again")
    read.check_bias(operator, _BIAS)
    units = filters // rank
    by_unit = times.astype(np.int64).reshape(units, rank, memory)
    products = by_unit.reshape(units, -1, 1) * np.array(state.limits)
    offset = bias.astype(np.int64) - state.zero_point * by_unit.sum(axis=(1, 2))
    scale = np.atleast_1d(read.quantization(operator, read.tensor(operator, _TIMES)).scale)
    accumulator = Accumulator(offset, products.min(2).sum(1), products.max(2).sum(1), state.scale, scale)
    kernel = by_unit.transpose(2, 1, 0)[:, None].astype(times.dtype)  # (memory, 1, rank, units)
    convolution = Convolution(
        weights=np.ascontiguousarray(kernel.transpose(0, 1, 3, 2) if rank == 1 else kernel),
        requantization=TfliteArithmetic().linear(accumulator, output, output.limits),
        dtype=output.dtype,
        strides=(1, 1),
        padding=Padding(),
        dilation=(1, 1),
        groups=units,
        pad_value=0,
        kernel_layout="HWOI" if rank == 1 else "HWIO",
    )
    outputs = computed(convolution, reshaped(kept, (batch, memory, 1, filters)))
    return reshaped(outputs, (batch, units))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {"SVDF": svdf}
