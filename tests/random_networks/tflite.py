"""Random TFLite networks of operators that TFLite Micro has kernels for.

`OPERATORS` lists what may come next, as far as there are kernels for 16 bits, and `OF_8_BITS` what there is besides.
To add an operator, write a function that adds it behind a tensor, and a line there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.passes.tflite_models import schema
from tests.random_networks.drawing import (
    Operator,
    Shape,
    UnfitError,
    alike,
    anything,
    broadcasts,
    drawn,
    few_axes,
    maps,
    rows,
)
from tests.random_networks.tflite_growing import Growing, Tensor
from tests.tflite.case import SAME, VALID, File
from tests.tflite.cases.products import windows

Write = Callable[[Growing, str, Tensor], object]


def random_tflite(seed: int) -> File:
    """A file of 4 to 14 operators with activations of int8, in a fifth of all cases of int16."""
    rng = np.random.default_rng([seed, 1])
    growing = Growing(rng, dtype="int16" if rng.random() < 0.2 else "int8")
    for _ in range(growing.draw((1, 1, 2, 3))):
        growing.input(_input_shape(growing))
    inputs, count = list(growing.tensors), int(rng.integers(4, 15))
    network = growing.network
    while len(network.model.operators) < count:
        unread = len(network.model.operators)
        x = inputs[unread] if unread < len(inputs) else growing.pick(anything)
        operator = drawn(growing, OPERATORS if growing.dtype == "int16" else OPERATORS + OF_8_BITS, x)
        with suppress(UnfitError):
            operator.write(growing, operator.name, x)
    for tensor in growing.tensors[len(inputs) :]:
        if growing.chance(0.1):
            network.outputs.setdefault(tensor.number, "read inside, too")
    numbers, given = zip(*network.inputs, strict=True)
    return File(network.model.build(numbers, list(network.outputs)), given, tuple(network.outputs.values()))


def operators(data: bytes) -> tuple[str, ...]:
    """The operators of a file, in their order."""
    model: Any = schema.ModelT.InitFromPackedBuf(data, 0)
    names = {value: name for name, value in vars(schema.BuiltinOperator).items() if not name.startswith("_")}
    codes = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in model.operatorCodes]
    return tuple(names[codes[operator.opcodeIndex]] for operator in model.subgraphs[0].operators)


def _input_shape(growing: Growing) -> Shape:
    batch = growing.draw((1, 1, 1, 1, 1, 2))
    channels = growing.draw((1, 2, 3, 4, 5, 8, 12, 16, 24, 32))
    height, width = (int(extent) for extent in growing.rng.integers(1, 15, 2))
    return growing.draw((*[(batch, height, width, channels)] * 4, (batch, width, channels), (batch, channels)))


@dataclass(frozen=True)
class _Window:
    """How a window slides over a map, and the height and width of what it makes."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: int
    size: tuple[int, int]

    @property
    def slides(self) -> dict[str, int]:
        """Options for padding and strides."""
        return {"padding": self.padding, "strideH": self.stride[0], "strideW": self.stride[1]}

    @property
    def dilated(self) -> dict[str, int]:
        """The same, and those for dilations."""
        return {**self.slides, "dilationHFactor": self.dilation[0], "dilationWFactor": self.dilation[1]}


def _window(growing: Growing, x: Tensor) -> _Window:
    padding = growing.draw((SAME, VALID))
    most = [min(extent, 5) if padding == VALID else 5 for extent in x.shape[1:3]]
    height, width = (growing.draw([k for k in (1, 1, 2, 3, 3, 3, 4, 5) if k <= limit]) for limit in most)
    stride = growing.draw(((1, 1), (1, 1), (1, 1), (2, 2), (2, 1), (1, 3)))
    fits = padding == SAME or ((height - 1) * 2 < x.shape[1] and (width - 1) * 2 < x.shape[2])
    dilation = growing.draw(((1, 1), (1, 1), (1, 1), (2, 2), (1, 2))) if fits else (1, 1)
    size = windows(x.shape[1:3], (height, width), stride, dilation, padding)
    return _Window((height, width), stride, dilation, padding, size)


def _conv2d(growing: Growing, name: str, x: Tensor) -> None:
    groups = growing.draw([count for count in (1, 1, 1, 1, 2, 4) if x.shape[3] % count == 0])
    filters, window = groups * growing.draw((1, 2, 3, 4, 8, 16, 17)), _window(growing, x)
    operands, y = growing.weighted(x, (filters, *window.kernel, x.shape[3] // groups), 0, [-1])
    shape, how = (x.shape[0], *window.size, filters), growing.activation() | window.dilated
    growing.write(name, [x, *operands], [shape], y, "Conv2DOptions", **how)


def _depthwise(growing: Growing, name: str, x: Tensor) -> None:
    multiplier, window = growing.draw((1, 1, 1, 2)), _window(growing, x)
    filters = x.shape[3] * multiplier
    operands, y = growing.weighted(x, (1, *window.kernel, filters), 3, [])
    shape, how = (x.shape[0], *window.size, filters), growing.activation() | window.dilated
    growing.write(name, [x, *operands], [shape], y, "DepthwiseConv2DOptions", depthMultiplier=multiplier, **how)


def _transposed(growing: Growing, name: str, x: Tensor) -> None:
    filters, padding = growing.draw((1, 3, 4, 8)), growing.draw((SAME, VALID))
    kernel, stride = (growing.draw(((1, 1), (2, 2), (2, 2), (3, 3), (1, 2), (2, 3))) for _ in range(2))
    extra = [0 if padding == SAME else max(k - s, 0) for k, s in zip(kernel, stride, strict=True)]
    shape = x.shape[0], *(n * s + e for n, s, e in zip(x.shape[1:3], stride, extra, strict=True)), filters
    weights, y = growing.weighted(x, (filters, *kernel, x.shape[3]), 0, [])
    how = growing.activation() | {"padding": padding, "strideH": stride[0], "strideW": stride[1]}
    operands = [growing.numbers(shape), weights[0], x, *weights[1:]]
    growing.write(name, operands, [shape], y, "TransposeConvOptions", **how)


def _dense(growing: Growing, name: str, x: Tensor) -> None:
    keep, units, rank = growing.chance(0.4), growing.draw((1, 3, 8, 10, 16, 33)), len(x.shape)
    if not keep and rank > 2:
        flat = x.shape[0], math.prod(x.shape[1:])
        x = growing.move("RESHAPE", x, [flat], flat, "ReshapeOptions", newShape=flat)
    *outer, depth = x.shape
    operands, y = growing.weighted(x, (units, depth), 0, [-1])
    how = growing.activation() | {"keepNumDims": keep}
    growing.write(name, [x, *operands], [(*outer, units)], y, "FullyConnectedOptions", **how)


def _matmul(growing: Growing, name: str, x: Tensor) -> None:
    """A product with a constant, or with a tensor of the same batch whose rows are as long: maybe `x` itself."""
    *batch, _, depth = x.shape
    other, adjoint = growing.pick(lambda one: rows(one) and alike(x, one, -2)), True
    if growing.dtype == "int8" and growing.chance(0.3):
        adjoint = growing.chance(0.5)
        shape = (*batch, 5, depth) if adjoint else (*batch, depth, 5)
        other = growing.constant(shape, growing.quantization(growing.factor() / growing.spread))
    y = growing.quantization(x.scale * other.scale * growing.spread * depth**0.5 * growing.factor())
    shape = (*x.shape[:-1], other.shape[-2] if adjoint else other.shape[-1])
    growing.write(name, [x, other], [shape], y, "BatchMatMulOptions", adjX=False, adjY=adjoint)


def _operand(growing: Growing, x: Tensor) -> Tensor:
    """What stands beside `x`: a tensor, maybe `x`, or a constant for each element, pixel or channel, or for all."""
    if growing.chance(0.6):
        return growing.pick(lambda one: broadcasts(one, x))
    shape = growing.draw((x.shape, x.shape[-1:], (*x.shape[:-1], 1), (), (1,)))
    return growing.constant(shape, growing.quantization(x.scale * growing.factor(2)))


def _binary(options: str, scale: Callable[[float, float, int], float], *, fused: bool = True) -> Write:
    """An operator of two tensors; `scale` is that of its output, from those of its inputs and their spread."""

    def write(growing: Growing, name: str, x: Tensor) -> None:
        first, second = (x, _operand(growing, x)) if growing.chance(0.7) else (_operand(growing, x), x)
        y = growing.quantization(scale(first.scale, second.scale, growing.spread) * growing.factor())
        shape = np.broadcast_shapes(first.shape, second.shape)
        growing.write(name, [first, second], [shape], y, options, **(growing.activation() if fused else {}))

    return write


def _extremum(growing: Growing, name: str, x: Tensor) -> None:
    other = _operand(growing, x)
    if other in growing.tensors:
        other = growing.brought_to(other, x.quantization)
    else:
        other = growing.constant(other.shape, x.quantization)
    shape = np.broadcast_shapes(x.shape, other.shape)
    growing.write(name, [x, other], [shape], x.quantization, "MaximumMinimumOptions")


def _concatenation(growing: Growing, name: str, x: Tensor) -> None:
    axis, parts = growing.axis(x.shape), [x]
    for _ in range(growing.draw((1, 1, 2))):
        other = growing.constant(x.shape, x.quantization) if growing.chance(0.1) else None
        other = other or growing.pick(lambda one: alike(x, one, axis))
        parts.insert(growing.draw((0, len(parts))), growing.brought_to(other, x.quantization))
    shape = (*x.shape[:axis], sum(part.shape[axis] for part in parts), *x.shape[axis + 1 :])
    growing.write(name, parts, [shape], x.quantization, "ConcatenationOptions", axis=axis)


def _pack(growing: Growing, name: str, x: Tensor) -> None:
    axis = growing.axis((*x.shape, 1))
    parts = [x, growing.brought_to(growing.pick(lambda one: one.shape == x.shape), x.quantization)]
    shape = (*x.shape[:axis], 2, *x.shape[axis:])
    growing.write(name, parts, [shape], x.quantization, "PackOptions", valuesCount=2, axis=axis)


def _pool(growing: Growing, name: str, x: Tensor) -> None:
    window = _window(growing, x)
    if growing.chance(0.2):
        window = _Window((x.shape[1], x.shape[2]), (1, 1), (1, 1), VALID, (1, 1))
    elif window.dilation != (1, 1):
        raise UnfitError
    how = growing.activation() | window.slides | {"filterHeight": window.kernel[0], "filterWidth": window.kernel[1]}
    growing.move(name, x, [], (x.shape[0], *window.size, x.shape[3]), "Pool2DOptions", **how)


def _reduction(growing: Growing, name: str, x: Tensor) -> None:
    rank, keep = len(x.shape), growing.chance(0.6)
    pair = sorted(int(axis) for axis in growing.rng.choice(rank, min(2, rank - 1), replace=False))
    axes = growing.draw(([rank - 1], [1], pair, [1, 2] if rank == 4 else [0]))
    count = math.prod(x.shape[axis] for axis in axes)
    scales = {"MEAN": x.scale * growing.draw((1, 0.7, count**-0.5)), "SUM": x.scale * count**0.5 * growing.factor()}
    y = growing.quantization(scales[name]) if name in scales else x.quantization
    shape = [1 if axis in axes else n for axis, n in enumerate(x.shape) if keep or axis not in axes]
    growing.write(name, [x, growing.numbers(axes)], [shape], y, "ReducerOptions", keepDims=keep)


def _split(growing: Growing, name: str, x: Tensor) -> None:
    ways = [(axis, parts) for axis, n in enumerate(x.shape) for parts in (2, 3, 4) if n % parts == 0]
    if not ways:
        raise UnfitError
    axis, parts = growing.draw(ways)
    shape = (*x.shape[:axis], x.shape[axis] // parts, *x.shape[axis + 1 :])
    growing.write(name, [growing.numbers(axis), x], [shape] * parts, x.quantization, "SplitOptions", numSplits=parts)


def _unpack(growing: Growing, name: str, x: Tensor) -> None:
    axis = growing.axis(x.shape)
    if x.shape[axis] > 4:
        raise UnfitError
    shapes = [x.shape[:axis] + x.shape[axis + 1 :]] * x.shape[axis]
    growing.write(name, [x], shapes, x.quantization, "UnpackOptions", num=len(shapes), axis=axis)


def _slice(growing: Growing, name: str, x: Tensor) -> None:
    cut = [sorted(int(end) for end in growing.rng.choice(n + 1, 2, replace=False)) for n in x.shape]
    ends = [end if growing.chance(0.4) else [0, n] for end, n in zip(cut, x.shape, strict=True)]
    begin, size = [first for first, _ in ends], [last - first for first, last in ends]
    growing.move(name, x, [begin, size], size, "SliceOptions")


def _strided(growing: Growing, name: str, x: Tensor) -> None:
    steps = [growing.draw((1, 1, 1, 2, 3, -1)) for _ in x.shape]
    first = [int(growing.rng.integers(0, min(n, 3))) for n in x.shape]
    begin = [n - 1 if step < 0 else low for n, step, low in zip(x.shape, steps, first, strict=True)]
    backwards = sum(1 << axis for axis, step in enumerate(steps) if step < 0)
    shape = np.zeros(x.shape)[tuple(slice(b, None, step) for b, step in zip(begin, steps, strict=True))].shape
    growing.move(name, x, [begin, x.shape, steps], shape, "StridedSliceOptions", endMask=backwards)


def _pad(growing: Growing, name: str, x: Tensor) -> None:
    most = [min(n - 1, 2) if name == "MIRROR_PAD" else 2 for n in x.shape]
    widths = [[int(width) * growing.chance(0.5) for width in growing.rng.integers(0, n + 1, 2)] for n in most]
    shape = [n + before + after for n, (before, after) in zip(x.shape, widths, strict=True)]
    value = [growing.constant((1,), x.quantization)] if name == "PADV2" else []
    options = {"PAD": "PadOptions", "PADV2": "PadV2Options", "MIRROR_PAD": "MirrorPadOptions"}[name]
    how = {"mode": growing.draw((0, 1))} if name == "MIRROR_PAD" else {}
    growing.write(name, [x, growing.numbers(widths), *value], [shape], x.quantization, options, **how)


def _transpose(growing: Growing, name: str, x: Tensor) -> None:
    order = [int(axis) for axis in growing.rng.permutation(len(x.shape))]
    growing.move(name, x, [order], [x.shape[axis] for axis in order], "TransposeOptions")


def _reshape(growing: Growing, name: str, x: Tensor) -> None:
    shape = growing.reshaped(x.shape)
    growing.move(name, x, [shape], shape, "ReshapeOptions", newShape=shape)


def _expand(growing: Growing, name: str, x: Tensor) -> None:
    axis = growing.axis((*x.shape, 1))
    growing.move(name, x, [axis], (*x.shape[:axis], 1, *x.shape[axis:]), "ExpandDimsOptions")


def _to_space(growing: Growing, name: str, x: Tensor) -> None:
    batch, height, width, depth = x.shape
    growing.move(name, x, [], (batch, height * 2, width * 2, depth // 4), "DepthToSpaceOptions", blockSize=2)


def _to_depth(growing: Growing, name: str, x: Tensor) -> None:
    batch, height, width, depth = x.shape
    growing.move(name, x, [], (batch, height // 2, width // 2, depth * 4), "SpaceToDepthOptions", blockSize=2)


def _resize(options: str) -> Write:
    def write(growing: Growing, name: str, x: Tensor) -> None:
        batch, height, width, depth = x.shape
        size = growing.draw(((2 * height, 2 * width), tuple(int(n) for n in growing.rng.integers(1, 17, 2))))
        aligned, half = growing.draw(((False, False), (True, False), (False, True)))
        how = {"alignCorners": aligned, "halfPixelCenters": half}
        growing.move(name, x, [size], (batch, *size, depth), options, **how)

    return write


def _function(options: str | None = None, **values: Sequence[float]) -> Write:
    """A function of each element whose output has a scale of its own; its options are drawn from `values`."""

    def write(growing: Growing, name: str, x: Tensor) -> None:
        y = x.quantization if growing.chance(0.3) else growing.quantization(x.scale * growing.factor())
        growing.write(name, [x], [x.shape], y, options, **{key: growing.draw(of) for key, of in values.items()})

    return write


def _bounded(of_8_bits: tuple[float, int], options: str | None = None, **values: Sequence[float]) -> Write:
    """A function whose output has one quantization for 8 bits and one for 16."""

    def write(growing: Growing, name: str, x: Tensor) -> None:
        y = of_8_bits if growing.dtype == "int8" else (2.0**-15, 0)
        growing.write(name, [x], [x.shape], y, options, **{key: growing.draw(of) for key, of in values.items()})

    return write


def _prelu(growing: Growing, name: str, x: Tensor) -> None:
    shape = growing.draw(((1, 1, x.shape[3]), (1, 1, 1), x.shape[1:]))
    slopes = growing.network.constant(growing.rng.integers(-128, 128, shape), (0.01 * growing.factor(), 5), "int8")
    growing.write(name, [x, slopes], [x.shape], growing.quantization(x.scale * growing.factor()))


def _short_rows(x: Tensor) -> bool:
    return rows(x) and x.shape[-1] <= 200  # TFLite Micro's SOFTMAX ends the process for large sums


def _halves(x: Tensor) -> bool:
    return maps(x) and x.shape[1] % 2 == x.shape[2] % 2 == 0


def _quarters(x: Tensor) -> bool:
    return maps(x) and x.shape[3] % 4 == 0


def _sum(a: float, b: float, _: int) -> float:
    return math.hypot(a, b)


def _product(a: float, b: float, spread: int) -> float:
    return a * b * spread


def _square(a: float, b: float, spread: int) -> float:
    return math.hypot(a, b) ** 2 * spread


OPERATORS = (
    Operator("CONV_2D", _conv2d, maps, 12),
    Operator("DEPTHWISE_CONV_2D", _depthwise, maps, 6),
    Operator("TRANSPOSE_CONV", _transposed, maps, 2),
    Operator("FULLY_CONNECTED", _dense, rows, 4),
    Operator("BATCH_MATMUL", _matmul, rows),
    Operator("ADD", _binary("AddOptions", _sum), anything, 3),
    Operator("SUB", _binary("SubOptions", _sum), anything),
    Operator("MUL", _binary("MulOptions", _product), anything, 2),
    Operator("SQUARED_DIFFERENCE", _binary("SquaredDifferenceOptions", _square, fused=False), anything),
    Operator("MAXIMUM", _extremum, anything),
    Operator("MINIMUM", _extremum, anything),
    Operator("CONCATENATION", _concatenation, anything, 2),
    Operator("MAX_POOL_2D", _pool, maps, 3),
    Operator("AVERAGE_POOL_2D", _pool, maps, 3),
    Operator("MEAN", _reduction, rows, 2),
    Operator("SUM", _reduction, rows),
    Operator("PAD", _pad, anything),
    Operator("RESHAPE", _reshape, anything, 2),
    Operator("RESIZE_NEAREST_NEIGHBOR", _resize("ResizeNearestNeighborOptions"), maps),
    Operator("RELU", _function(), anything),
    Operator("RELU6", _function(), anything),
    Operator("LEAKY_RELU", _function("LeakyReluOptions", alpha=(0.1, 0.3, 0.01, -0.4, 1.5)), anything),
    Operator("PRELU", _prelu, maps),
    Operator("ABS", _function(), anything),
    Operator("QUANTIZE", _function(), anything),
    Operator("LOGISTIC", _bounded((1 / 256, -128)), anything),
    Operator("TANH", _bounded((1 / 128, 0)), anything),
    Operator("SOFTMAX", _bounded((1 / 256, -128), "SoftmaxOptions", beta=(1.0, 0.5, 2.0)), _short_rows),
)
"""What a network may grow by."""

OF_8_BITS = (
    Operator("PACK", _pack, few_axes),
    Operator("REDUCE_MAX", _reduction, rows),
    Operator("REDUCE_MIN", _reduction, rows),
    Operator("SPLIT", _split, rows, 2),
    Operator("UNPACK", _unpack, rows),
    Operator("SLICE", _slice, anything),
    Operator("STRIDED_SLICE", _strided, anything, 2),
    Operator("PADV2", _pad, anything),
    Operator("MIRROR_PAD", _pad, anything),
    Operator("TRANSPOSE", _transpose, rows, 2),
    Operator("EXPAND_DIMS", _expand, few_axes),
    Operator("DEPTH_TO_SPACE", _to_space, _quarters),
    Operator("SPACE_TO_DEPTH", _to_depth, _halves),
    Operator("RESIZE_BILINEAR", _resize("ResizeBilinearOptions"), maps),
    Operator("HARD_SWISH", _function(), anything),
    Operator("ELU", _function(), anything),
    Operator("LOG_SOFTMAX", _bounded((16 / 256, 127), "LogSoftmaxOptions"), _short_rows),
    Operator("L2_NORMALIZATION", _bounded((1 / 128, 0), "L2NormOptions"), rows),
)
"""What it may grow by besides if its activations have 8 bits."""
