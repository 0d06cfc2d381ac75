"""Small layers of every operator, as patterns are tried on them: in integer form, and at its borders with float32.

Their requantization is a sum and a shift, which every form of requantizer can express exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.frontend.model import Rounding
from match.ir.layer import Op, Padding
from match.ir.requantization import Requantization
from match.passes.quantize_border import LowerBorder
from match.relay import integer_form, relay, tvm
from match.target.own import OwnOperator

Build = Callable[..., relay.Expr]
"""From a layer's inputs to its output."""

_SAME = Padding(1, 1, 1, 1)
_SAMPLES = 3
_SCALE = 0.25
_CONVOLUTIONS = (  # C, K, rows and columns, side of the filter, stride; last two: in groups of 32
    (16, 32, 8, 3, 1),
    (16, 16, 9, 3, 2),
    (16, 20, 8, 1, 1),
    (3, 16, 8, 3, 1),
    (3, 12, 7, 3, 1),  # sizes in bytes that are no multiples of 8, so that what lies behind them has to be aligned
    (64, 64, 8, 1, 1),
    (32, 64, 6, 3, 1),
)


@dataclass(frozen=True, eq=False)
class Probe:
    """One layer: what it is, and its Relay from inputs of one type, 8 bits or float32, and one shape."""

    op: Op
    what: str
    dtype: str
    shape: tuple[int, ...]
    inputs: int
    build: Build
    own: str = ""

    @property
    def name(self) -> str:
        """Of the operator."""
        return self.own or self.op.value


def network(layers: Sequence[Probe]) -> tvm.IRModule:
    """All of them side by side; layer n reads the inputs ``x<n>_0``, ``x<n>_1`` and makes output n."""
    parameters = [
        [relay.var(f"x{n}_{i}", shape=probe.shape, dtype=probe.dtype) for i in range(probe.inputs)]
        for n, probe in enumerate(layers)
    ]
    outputs = [probe.build(*own) for probe, own in zip(layers, parameters, strict=True)]
    function = relay.Function([x for own in parameters for x in own], relay.Tuple(outputs))
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    return relay.transform.InferType()(LowerBorder(Rounding.TFLITE)(typed))


def inputs(layers: Sequence[Probe]) -> dict[str, npt.NDArray[Any]]:
    """Samples for `network`; those of a layer are the same wherever it is computed."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for n, probe in enumerate(layers):
        rng, shape = np.random.default_rng(len(probe.what)), (_SAMPLES, *probe.shape)
        for i in range(probe.inputs):
            arrays[f"x{n}_{i}"] = _numbers(rng, shape) if probe.dtype == "float32" else _levels(rng, shape, probe.dtype)
    return arrays


def _levels(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> npt.NDArray[Any]:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def _numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Quarters of the quantization's scale: on its levels, halfway between them, and beyond its ends on both sides."""
    return (rng.integers(-1200, 1200, shape) * (_SCALE / 4)).astype(np.float32)


def own_probes(operators: Iterable[OwnOperator], dtype: str) -> Iterator[Probe]:
    """The examples of modules' own operators."""
    for own in operators:
        yield Probe(Op.OWN, f"the example of {own.name}", dtype, (1, 8, 8, 16), own.inputs, own.example, own.name)


def probes(dtype: str) -> Iterator[Probe]:
    """The layers, on activations of `dtype` ("uint8" or "int8")."""
    rng = np.random.default_rng(0)
    low, high = (0, 255) if dtype == "uint8" else (-128, 127)

    def requantization(channels: int, terms: int) -> Requantization:
        shift = int(terms * 8).bit_length()
        bias = rng.integers(-4, 4, channels) * (1 << shift) + (1 << shift >> 1)
        ones = np.ones(channels, np.int64)
        return Requantization(ones, bias.astype(np.int64), ones * shift, (low, high))

    def weights(*shape: int) -> integer_form.Int8Array:
        return rng.integers(-8, 8, shape).astype(np.int8)

    def convolution(
        c: int, k: int, window: int, stride: int, padding: Padding, *, depthwise: bool = False, groups: int = 1
    ) -> Build:
        kernel = weights(window, window, c // groups, 1 if depthwise else k)
        parameters = requantization(k, window * window * (1 if depthwise else c // groups))

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.conv2d(
                x,
                kernel,
                parameters,
                dtype,
                x_dtype=dtype,
                strides=(stride, stride),
                padding=padding,
                groups=c if depthwise else groups,
                kernel_layout="HWOI" if depthwise else "HWIO",
            )

        return build

    def dense(c: int, k: int) -> Build:
        kernel, parameters = weights(k, c), requantization(k, c)

        def build(x: relay.Expr) -> relay.Expr:
            return integer_form.dense(x, kernel, parameters, dtype)

        return build

    def addition(a: relay.Expr, b: relay.Expr) -> relay.Expr:
        return integer_form.add(a, b, (1, 1), 0, 1, (low, high), dtype)

    def products(a: relay.Expr, b: relay.Expr) -> relay.Expr:
        return integer_form.matrices(a, b, (low + 100, low + 90), sums.take(np.zeros(9, np.intp)), dtype)

    def average(x: relay.Expr) -> relay.Expr:
        return integer_form.avg_pool2d(x, mean, dtype, window=(8, 8), whole_map=True)

    def maximum(x: relay.Expr) -> relay.Expr:
        return integer_form.max_pool2d(x, window=(2, 2), strides=(2, 2))

    def lookup(x: relay.Expr) -> relay.Expr:
        return integer_form.lookup(x, table, dtype, dtype)

    def multiplication(a: relay.Expr, b: relay.Expr) -> relay.Expr:
        return integer_form.multiply(a, b, (low + 3, low + 100), scaled, dtype)

    def concatenation(a: relay.Expr, b: relay.Expr) -> relay.Expr:
        return relay.concatenate([a, integer_form.lookup(b, table, dtype, dtype)], 3)

    def part(x: relay.Expr) -> relay.Expr:
        return relay.strided_slice(x, [3], [11], axes=[3])

    def transposition(x: relay.Expr) -> relay.Expr:
        return relay.transpose(x, (0, 3, 1, 2))

    def quantization(x: relay.Expr) -> relay.Expr:
        return relay.qnn.quantize(x, relay.const(_SCALE), relay.const(low + 130), out_dtype=dtype)

    def dequantization(x: relay.Expr) -> relay.Expr:
        return relay.qnn.dequantize(x, relay.const(_SCALE), relay.const(low + 130))

    for c, k, size, window, stride in _CONVOLUTIONS:
        what = f"a {window}x{window} convolution with stride {stride} of {c} to {k} channels"
        build = convolution(c, k, window, stride, _SAME if window == 3 else Padding())
        yield Probe(Op.CONV2D, what, dtype, (1, size, size, c), 1, build)
    for c, size, stride in ((16, 8, 1), (32, 9, 2)):
        what = f"a 3x3 depthwise convolution with stride {stride} of {c} channels"
        build = convolution(c, c, 3, stride, _SAME, depthwise=True)
        yield Probe(Op.DEPTHWISE_CONV2D, what, dtype, (1, size, size, c), 1, build)
    for c, k, groups in ((32, 32, 4), (12, 8, 4)):
        what = f"a 3x3 convolution of {c} to {k} channels in {groups} groups"
        build = convolution(c, k, 3, 1, _SAME, groups=groups)
        yield Probe(Op.GROUPED_CONV2D, what, dtype, (1, 8, 8, c), 1, build)
    for c, k in ((64, 32), (100, 10)):
        yield Probe(Op.DENSE, f"a dense layer of {c} to {k}", dtype, (1, c), 1, dense(c, k))
    sums, scaled = requantization(1, 64), requantization(1, 32)
    mean, table, shape = requantization(16, 2), rng.integers(low, high + 1, 256), (1, 8, 8, 16)
    yield Probe(Op.ADD, "an addition of two 8x8x16 maps", dtype, shape, 2, addition)
    yield Probe(Op.MATRICES, "two products of 9x16 and 9x16", dtype, (2, 9, 16), 2, products)
    yield Probe(Op.AVG_POOL2D, "an average over an 8x8x16 map", dtype, shape, 1, average)
    yield Probe(Op.MAX_POOL2D, "a 2x2 maximum over an 8x8x16 map", dtype, shape, 1, maximum)
    yield Probe(Op.LOOKUP, "a table on an 8x8x16 map", dtype, shape, 1, lookup)
    yield Probe(Op.MULTIPLY, "a product of two 8x8x16 maps", dtype, shape, 2, multiplication)
    yield Probe(Op.CONCATENATE, "a concatenation of two 8x8x16 maps", dtype, shape, 2, concatenation)
    yield Probe(Op.SLICE, "channels 3 to 10 of an 8x8x16 map", dtype, shape, 1, part)
    yield Probe(Op.TRANSPOSE, "an 8x8x16 map, channels first", dtype, shape, 1, transposition)
    yield Probe(Op.QUANTIZE, "8x8x16 numbers, quantized", "float32", shape, 1, quantization)
    yield Probe(Op.DEQUANTIZE, "an 8x8x16 map as numbers", dtype, shape, 1, dequantization)
