"""Layers for tests of code generation: random constants, and what comes out by definition, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from match.devtools.check.builds import Builds
from match.graph.operator import Described, Known
from match.graph.pairs import ElementWise
from match.ir import graph
from match.ir.attributes import (
    Attributes,
    Broadcast,
    BroadcastKind,
    ChannelGroups,
    Concatenation,
    Gathering,
    Interpolation,
    Slice,
    Transposition,
)
from match.ir.constants import (
    Addends,
    ChannelLines,
    ChannelTables,
    Data,
    Filters,
    GatheredColumns,
    InputTables,
    LayerConstants,
    Normalization,
    Positions,
    Structure,
    Table,
    ZeroPoints,
)
from match.ir.float_average import FloatAverage
from match.ir.float_border import FloatQuantization
from match.ir.layer import Layer, Op, Padding
from match.ir.requantization import Int64Array, Requantization
from tests.kernels.reference import (
    gate_of,
    log_softmax_of,
    normalized,
    random_columns,
    random_positions,
    resized,
    softmax_of,
    twice_rounded,
)
from tests.layer_data import data_of

Uint8 = npt.NDArray[np.uint8]

INT16 = Op.REQUANTIZE, Op.LEAKY_RELU, Op.LOGISTIC, Op.TANH
"""Operators of 16 bits alone."""

Tensor = npt.NDArray[Any]
"""A tensor of uint8, of int16, of float32 where a layer begins or ends in it, or of elements of some bytes."""


@dataclass(frozen=True, eq=False)
class Case:
    """A layer with its constants and inputs, the latter of shape (height, width, channels).

    accumulator: smallest and largest sum, where the operator's class says them.
    """

    layer: Layer
    constants: LayerConstants
    inputs: tuple[Tensor, ...]
    accumulator: tuple[Int64Array, Int64Array] | None = None

    def expected(self) -> Tensor:
        """Output, shape (height, width, channels)."""
        layer, requant = self.layer, self.constants.requantization
        if layer.op is Op.TRANSPOSE:
            return self.inputs[0].transpose(0, 2, 1)
        if layer.op is Op.QUANTIZE:
            return data_of(self.constants, FloatQuantization)(self.inputs[0]).astype(np.uint8)
        if layer.op is Op.CONCATENATE:
            both = [
                table[x] for table, x in zip(data_of(self.constants, InputTables).entries, self.inputs, strict=True)
            ]
            return np.concatenate(both, axis=2)
        if layer.op is Op.SLICE:
            return data_of(self.constants, Table).entries[self.inputs[0][..., layer.get(Slice).start :][..., : layer.k]]
        if layer.op in INT16:
            words, x = data_of(self.constants, Structure).entries, self.inputs[0].astype(np.int64)
            if layer.op is Op.REQUANTIZE:
                return twice_rounded(x, int(words[0]), int(words[1]) - 1, int(words[2])).astype(np.int16)
            if layer.op is Op.LEAKY_RELU:
                above, below = (twice_rounded(x, int(by[0]), int(by[1]) - 1, int(by[2])) for by in words.reshape(2, 4))
                return np.where(x < 0, below, above).astype(np.int16)
            logistic = words[2:].view(np.uint16).astype(np.int64)
            return gate_of(layer.op, x * int(words[0]), logistic).astype(np.int16)
        if layer.op is Op.SOFTMAX:
            (factor, shift, zero), exponentials = np.split(
                data_of(self.constants, Structure).entries.astype(np.int64), [3]
            )
            pixels = self.inputs[0].reshape(-1, layer.k).astype(np.int64)
            levels = [softmax_of(pixel, exponentials, int(zero), int(factor), 22 - int(shift)) for pixel in pixels]
            return np.minimum(levels, 255).reshape(self.inputs[0].shape).astype(np.uint8)
        if layer.op is Op.LOG_SOFTMAX:
            words = data_of(self.constants, Structure).entries.astype(np.int64)
            (fraction,), exponentials, distances = np.split(words, [1, 257])
            pixels = self.inputs[0].reshape(-1, layer.k).astype(np.int64)
            steps = [log_softmax_of(pixel, exponentials, distances, int(fraction)) for pixel in pixels]
            real = np.array(steps).astype(np.float32) * np.float32(0.5 ** int(fraction))
            return real.reshape(self.inputs[0].shape)
        if layer.op is Op.RESIZE:
            rows, columns = (positions.astype(np.int64) for positions in data_of(self.constants, Positions))
            return resized(self.inputs[0], rows, columns, layer.get(Interpolation).zero_point)
        if layer.op is Op.GATHER:
            columns = data_of(self.constants, GatheredColumns).entries
            padding = np.uint8(layer.pad_value)
            return np.where(columns[:, None] < 0, padding, self.inputs[0][:, columns])
        if layer.op is Op.DEQUANTIZE:
            return data_of(self.constants, Table).entries[self.inputs[0]]
        if layer.op is Op.DEQUANTIZE_SUMS:
            offset, scale, bias = data_of(self.constants, ChannelLines).entries.T
            sums = (self.inputs[0] + offset).astype(np.float32)
            return sums * scale.copy().view(np.float32) + bias.copy().view(np.float32)
        if layer.op is Op.CHANNEL_LOOKUP:
            return data_of(self.constants, ChannelTables).entries[np.arange(layer.k), self.inputs[0]]
        if layer.op is Op.LOOKUP:
            return data_of(self.constants, Table).entries[self.inputs[0]].astype(np.uint8)
        if layer.op is Op.MAX_POOL2D:
            return np.clip(_windows(self, 0).max(axis=(2, 3)), *layer.clip).astype(np.uint8)
        if layer.op is Op.FLOAT_AVG_POOL2D:
            return data_of(self.constants, FloatAverage).function(_float_means(self)).astype(np.uint8)
        if layer.op in _OF_CLASSES:
            return _OF_CLASSES[layer.op].in_form(self.constants, (0, 1)).compute(*self.inputs)
        assert requant is not None
        if layer.op is Op.ADD:
            addends = data_of(self.constants, Addends)
            a, b = (x.astype(np.int64) * m for x, m in zip(self.inputs, addends, strict=True))
            total = a + b
            return requant(total.reshape(-1, 1)).reshape(total.shape).astype(np.uint8)
        if layer.op is Op.NORMALIZE:
            own = data_of(self.constants, Normalization)
            pixels = self.inputs[0].reshape(-1, layer.k).astype(np.int64)
            acc = np.array([normalized(pixel, own.spread, own.gains.astype(np.int64), own.centre) for pixel in pixels])
            return requant(acc).reshape(self.inputs[0].shape).astype(np.uint8)
        if layer.op in (Op.MATRICES, Op.MULTIPLY):
            zeros = data_of(self.constants, ZeroPoints)
            a, b = (x.astype(np.int64) - zero for x, zero in zip(self.inputs, zeros, strict=True))
            acc = np.einsum("yxc,ykc->yxk", a, b) if layer.op is Op.MATRICES else a * b
            return requant(acc.reshape(-1, 1)).reshape(acc.shape).astype(np.uint8)
        if layer.op is Op.AVG_POOL2D:
            acc = _windows(self, layer.pad_value).sum(axis=(2, 3))
        else:
            assert layer.weight_dtype, f"tests/codegen/layers.py computes no {layer.op}"
            weights = data_of(self.constants, Filters).values.astype(np.int64)
            if layer.op is Op.DEPTHWISE_CONV2D:
                acc = np.einsum("yxijc,cij->yxc", _windows(self, layer.pad_value), weights[..., 0])
            else:
                seen = _windows(self, layer.pad_value)
                outputs = layer.get(ChannelGroups).outputs if layer.op is Op.GROUPED_CONV2D else layer.k
                parts = [
                    np.einsum(
                        "yxijc,kijc->yxk", seen[..., g * layer.c :][..., : layer.c], weights[g * outputs :][:outputs]
                    )
                    for g in range(len(weights) // outputs)
                ]
                acc = np.concatenate(parts, axis=2)
        return requant(acc).astype(np.uint8)


def _float_means(case: Case) -> npt.NDArray[np.float32]:
    """The mean of what every output sees, summed row by row in float32, divided by the pixels inside the map."""
    inside = _windows(replace(case, inputs=(np.ones_like(case.inputs[0]),)), 0)
    seen = np.where(inside == 1, data_of(case.constants, FloatAverage).numbers[_windows(case, 0)], np.float32(0))
    total = np.zeros(seen.shape[:2] + seen.shape[4:], np.float32)
    for i in range(case.layer.fy):
        for j in range(case.layer.fx):
            total = total + seen[:, :, i, j]
    count = inside.sum(axis=(2, 3)).astype(np.float32)
    return total / np.maximum(count, np.float32(1))


def _windows(case: Case, pad_value: int) -> npt.NDArray[np.int64]:
    """What every output pixel sees, shape (oy, ox, fy, fx, channels)."""
    layer = case.layer
    top, left, bottom, right = layer.padding
    padded = np.pad(case.inputs[0].astype(np.int64), ((top, bottom), (left, right), (0, 0)), constant_values=pad_value)
    rows = [[oy * layer.stride[0] + f * layer.dilation[0] for f in range(layer.fy)] for oy in range(layer.oy)]
    columns = [[ox * layer.stride[1] + f * layer.dilation[1] for f in range(layer.fx)] for ox in range(layer.ox)]
    return padded[np.array(rows)[:, None, :, None], np.array(columns)[None, :, None, :]]


def make(
    op: Op,
    channels_in: int,
    channels_out: int,
    height: int,
    width: int,
    *,
    window: tuple[int, int] = (1, 1),
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: Padding = Padding(),
    negative_step: bool = False,
    broadcast: BroadcastKind = "",
    seed: int = 0,
    name: str = "layer",
) -> Case:
    """A layer over an input of height x width x channels_in, with random constants that use the whole output range.

    `broadcast`: how the inputs of an addition meet.
    """
    if op in _OF_CLASSES:
        return _of_class(_OF_CLASSES[op], channels_in, height, width, seed=seed, name=name)
    assert op in _MADE or op in _UNWEIGHTED, f"tests/codegen/layers.py makes no {op}: list it, with its constants"
    if op in _UNWEIGHTED:
        return _unweighted(op, channels_in, channels_out, height, width, seed=seed, name=name)
    rng = np.random.default_rng(seed)
    reach = [(f - 1) * d + 1 for f, d in zip(window, dilation, strict=True)]
    oy = (height + padding.top + padding.bottom - reach[0]) // stride[0] + 1
    ox = (width + padding.left + padding.right - reach[1]) // stride[1] + 1
    weighted = op in (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D, Op.DENSE)
    grouped = op is Op.GROUPED_CONV2D  # as many groups as channels are asked for
    dense_k = op in (Op.CONV2D, Op.DENSE, Op.MATRICES)
    layer = Layer(
        name=name,
        op=op,
        k=channels_out if dense_k else channels_in,
        c=channels_in if dense_k else channels_out % 3 + 1 if grouped else 1,
        oy=oy,
        ox=ox,
        iy=1 if broadcast == "outer" else height,
        ix=1 if broadcast == "outer" else width,
        fy=window[0],
        fx=window[1],
        stride=stride,
        dilation=dilation,
        padding=padding,
        attributes=ChannelGroups(channels_out // 3 + 1) if grouped else Broadcast(broadcast),
        pad_value=int(rng.integers(0, 256)) if any(padding) else 0,
        weight_dtype="int8" if weighted else "",
        clip=(3, 250),
    )
    data: Data | None = None
    if weighted:
        data = Filters(rng.integers(-128, 128, (layer.output_channels, layer.fy, layer.fx, layer.c)).astype(np.int8))
    count = 1 if op.inputs == 2 else layer.output_channels
    terms = layer.c * layer.fy * layer.fx
    # Accumulators are spread over about 100 * 128 * sqrt(terms); pooling sums are all positive.
    scale = 2**20 / (
        terms if op is Op.AVG_POOL2D else 100 * max(1.0, terms**0.5) if weighted or op is Op.MATRICES else 2
    )
    requantization = Requantization(
        multiplier=np.ones(1, np.int64) if op is Op.ADD else (scale * rng.uniform(0.5, 1, count)).astype(np.int64) + 1,
        bias=rng.integers(0, 2**27 if weighted or op is Op.MATRICES else 2**10, count),
        shift=np.full(count, 20, np.int64),
        clip=layer.clip,
        negative_below=rng.integers(-1000, 0, count) if negative_step else None,
        negative_step=np.full(count, 2**19) if negative_step else None,
    )
    shapes = [(height, width, layer.input_channels)]
    if op is Op.ADD:
        shapes = _operand_shapes(layer)
    inputs = tuple(rng.integers(0, 256, shape).astype(np.uint8) for shape in shapes)
    if op is Op.MATRICES:
        inputs = (inputs[0], rng.integers(0, 256, (height, channels_out, channels_in)).astype(np.uint8))
    if op is Op.ADD:
        data = Addends(int(rng.integers(2**18, 2**19)), int(rng.integers(2**18, 2**19)))
    requant = None if op in (Op.FLOAT_AVG_POOL2D, Op.MAX_POOL2D, Op.LOOKUP) else requantization
    if op is Op.LOOKUP:
        data = Table(rng.permutation(256).astype(np.uint8))
    if op is Op.FLOAT_AVG_POOL2D:
        scale, zero = np.float32(rng.uniform(0.001, 0.1)), int(rng.integers(256))
        function = FloatQuantization(scale, zero, "uint8", half_to_even=True, zero_first=True)
        data = FloatAverage(scale, zero, function, terms)
        layer = replace(layer, clip=(0, 255), pad_value=0)
    if op is Op.MATRICES:
        data = ZeroPoints(int(rng.integers(256)), int(rng.integers(256)))
    return Case(layer, LayerConstants(data, requant), inputs)


_MADE = (
    Op.CONV2D,
    Op.DEPTHWISE_CONV2D,
    Op.GROUPED_CONV2D,
    Op.DENSE,
    Op.MATRICES,
    Op.ADD,
    Op.AVG_POOL2D,
    Op.FLOAT_AVG_POOL2D,
    Op.MAX_POOL2D,
    Op.LOOKUP,
)

_UNWEIGHTED = (
    Op.MULTIPLY,
    Op.CONCATENATE,
    Op.SLICE,
    Op.TRANSPOSE,
    Op.GATHER,
    Op.CHANNEL_LOOKUP,
    Op.SOFTMAX,
    Op.LOG_SOFTMAX,
    Op.NORMALIZE,
    Op.RESIZE,
    Op.QUANTIZE,
    Op.DEQUANTIZE,
    Op.DEQUANTIZE_SUMS,
    *INT16,
)


_HALVES = dict.fromkeys(INT16, "int16")
_REAL = Op.DEQUANTIZE, Op.DEQUANTIZE_SUMS, Op.LOG_SOFTMAX
_OF_CLASSES = MappingProxyType({operator.op: operator for operator in Builds("uint8").of_two_maps()})
"""Operators whose constants are those of their probes, and whose outputs are what their classes compute."""

_BROADCASTS: tuple[BroadcastKind, ...] = ("", "pixel", "channel", "outer")


def _operand_shapes(layer: Layer) -> list[tuple[int, int, int]]:
    """The shapes of both inputs of an addition or a multiplication."""
    whole = layer.oy, layer.ox, layer.k
    pixel, channel = (1, 1, layer.k), (layer.oy, layer.ox, 1)
    met = {"": (whole, whole), "pixel": (whole, pixel), "channel": (whole, channel), "outer": (pixel, channel)}
    return [*met[layer.get(Broadcast).kind]]


def _of_class(operator: ElementWise, channels: int, height: int, width: int, *, seed: int, name: str) -> Case:
    """An operator of two inputs, one of which may have a single pixel or channel."""
    rng = np.random.default_rng(seed)
    whole, pixel, channel = (height, width, channels), (1, 1, channels), (height, width, 1)
    met = (whole, whole), (whole, pixel), (whole, channel), (pixel, channel)
    shapes = met[int(rng.integers(len(met)))]
    known = [Known(graph.Tensor(shape, "uint8")) for shape in shapes]
    described = operator.layer(operator.result(*(x.tensor for x in known)), known)
    assert isinstance(described, Described), described
    assert described.order == (0, 1)
    inputs = tuple(rng.integers(0, 256, shape).astype(np.uint8) for shape in shapes)
    return Case(replace(described.layer, name=name), described.constants, inputs, described.accumulator)


def _attributes(op: Op, first: int, both: int, broadcast: BroadcastKind, rng: np.random.Generator) -> Attributes:
    """What an operator of `_unweighted` has beside geometry and types."""
    match op:
        case Op.CONCATENATE:
            return Concatenation(first)
        case Op.SLICE:
            return Slice(first, both)
        case Op.RESIZE:
            return Interpolation(int(rng.integers(256)))
        case Op.TRANSPOSE:
            return Transposition(int(rng.integers(1, 7)))
        case _:
            return Broadcast(broadcast)


def _unweighted(op: Op, channels_in: int, channels_out: int, height: int, width: int, *, seed: int, name: str) -> Case:
    """A product of elements, or what moves or converts them.

    A concatenation joins both numbers of channels, a slice leaves out as many as `channels_out`. The second input of
    some products has one pixel or channel. A resize makes a map of any size up to twice the input's, a gather rows.
    """
    rng = np.random.default_rng(seed)
    both = channels_in + channels_out
    first = channels_in if op is Op.CONCATENATE else int(rng.integers(0, channels_out + 1))
    broadcast = _BROADCASTS[int(rng.integers(len(_BROADCASTS)))] if op is Op.MULTIPLY else ""
    layer = Layer(
        name=name,
        op=op,
        k=both if op is Op.CONCATENATE else channels_in,
        c=1,
        oy=int(rng.integers(1, 2 * height + 1)) if op is Op.RESIZE else height,
        ox=int(rng.integers(1, 2 * width + 1)) if op in (Op.RESIZE, Op.GATHER) else width,
        iy=1 if broadcast == "outer" else height,
        ix=1 if broadcast == "outer" else width,
        input_dtype={Op.QUANTIZE: "float32", Op.DEQUANTIZE_SUMS: "int32", **_HALVES}.get(op, "uint8"),
        weight_dtype="",
        output_dtype={**dict.fromkeys(_REAL, "float32"), **_HALVES}.get(op, "uint8"),
        clip=(-(1 << 15), (1 << 15) - 1) if op in INT16 else (3, 250) if op is Op.MULTIPLY else (0, 255),
        attributes=_attributes(op, first, both, broadcast, rng),
    )
    requantization: Requantization | None = None
    data: Data | None = None
    if op is Op.GATHER:
        layer = replace(layer, pad_value=int(rng.integers(256)))
        chosen = random_columns(rng, width, layer.ox)
        runs = 1 + int(np.count_nonzero(np.diff(chosen) != (chosen[:-1] >= 0)))
        layer, data = replace(layer, attributes=Gathering(runs)), GatheredColumns(chosen)
    shapes = [(height, width, layer.input_channels)]
    unit = layer.get(Transposition).element_bytes
    if op is Op.TRANSPOSE:
        shapes = [(height, layer.k, width * unit)]
    if op is Op.CONCATENATE:
        shapes.append((height, width, channels_out))
    if op is Op.MULTIPLY:
        shapes = _operand_shapes(layer)
    inputs: tuple[Tensor, ...] = tuple(rng.integers(0, 256, shape).astype(np.uint8) for shape in shapes)
    if unit > 1:
        inputs = (inputs[0].view(f"V{unit}"),)
    if op is Op.QUANTIZE:
        inputs = (rng.normal(0, 40, shapes[0]).astype(np.float32),)
        scale, zero = np.float32(rng.uniform(0.1, 1)), int(rng.integers(256))
        data = FloatQuantization(scale, zero, "uint8", half_to_even=bool(rng.integers(2)))
    if op in (Op.CONCATENATE, Op.SLICE):
        tables = rng.permuted(np.tile(np.arange(256, dtype=np.uint8), (2, 1)), axis=1)
        data = InputTables(tables) if op is Op.CONCATENATE else Table(tables[0])
    if op is Op.SOFTMAX:
        falling = np.exp(-rng.uniform(0.01, 0.1) * np.arange(256)) * 2**31
        words = np.concatenate([[1 << 30, 22, 0], np.minimum(falling, 2**31 - 1)]).astype(np.int32)
        data = Structure(words, "match_softmax_t")
    if op is Op.LOG_SOFTMAX:
        falling = np.exp(-0.05 * np.arange(256)) * 2**31
        distances = np.rint(-0.05 * np.arange(256) * 2**24)
        words = np.concatenate([[24], np.minimum(falling, 2**31 - 1), distances]).astype(np.int32)
        data = Structure(words, "match_log_softmax_t")
    if op is Op.RESIZE:
        rows, columns = random_positions(rng, height, layer.oy), random_positions(rng, width, layer.ox)
        data = Positions(rows.astype(np.int32), columns.astype(np.int32))
    if op is Op.DEQUANTIZE_SUMS:
        inputs = (rng.integers(-(2**30), 2**30, shapes[0]).astype(np.int32),)
        numbers = (rng.uniform(low, 1, layer.k).astype(np.float32).view(np.int32) for low in (0, -1))
        lines = np.stack([rng.integers(-999, 999, layer.k).astype(np.int32), *numbers], axis=1)
        data = ChannelLines(lines)
    if op in INT16:
        inputs = (rng.integers(-(2**15), 2**15, shapes[0]).astype(np.int16),)
        logistic = np.rint(65535 / (1 + np.exp(-np.arange(256) / 24))).astype("<u2").view("<i4")
        scaled = [5 << 28, 1, 2, 2]
        numbers = {Op.REQUANTIZE: scaled, Op.LEAKY_RELU: [1 << 30, 2, 0, 0, *scaled]}.get(op, [3, 0, *logistic])
        data = Structure(np.array(numbers, np.int32), "")
    if op is Op.DEQUANTIZE:
        data = Table(rng.normal(0, 1, 256).astype(np.float32))
    if op is Op.MULTIPLY:
        data = ZeroPoints(int(rng.integers(256)), int(rng.integers(256)))
        requantization = Requantization(
            multiplier=rng.integers(2**10, 2**12, 1),
            bias=rng.integers(0, 2**27, 1),
            shift=np.full(1, 20, np.int64),
            clip=layer.clip,
        )
    if op is Op.NORMALIZE:
        gains = rng.integers(-8192, 8193, layer.k).astype(np.int16)
        centre = int(rng.integers(0, 256)) if rng.random() < 0.5 else None
        data = Normalization(int(rng.integers(1, 2**20)), gains, centre)
        requantization = Requantization(
            multiplier=rng.integers(2**10, 2**12, layer.k),
            bias=rng.integers(2**36, 2**37, layer.k),
            shift=np.full(layer.k, 30, np.int64),
            clip=layer.clip,
        )
    if op is Op.CHANNEL_LOOKUP:
        data = ChannelTables(rng.integers(0, 256, (layer.k, 256), np.uint8))
    return Case(layer, LayerConstants(data, requantization), inputs)
