"""Small layers of every operator, as patterns are tried on them: in integer form, and at its borders with float32."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from match.compilation.stopwatch import unread
from match.devtools.check.builds import SAME, SCALE, Build, Builds
from match.frontend.model import Model, ModelTensor, Rounding
from match.frontend.relay import from_relay
from match.graph.rewrite import on_inputs
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.ir.layer import Op, Padding
from match.partitioning.own import with_own_operators
from match.partitioning.pattern import Match, Rejection, find_layers
from match.passes.relay_pipeline import graph_of_relay
from match.relay import relay, tvm
from match.target.own import OwnOperator

_SAMPLES = 4
_CONVOLUTIONS = (  # C, K, rows and columns, side of the filter, stride; last two: in groups of 32
    (16, 32, 8, 3, 1),
    (16, 16, 9, 3, 2),
    (16, 20, 8, 1, 1),
    (3, 16, 8, 3, 1),
    (3, 12, 7, 3, 1),  # sizes in bytes that are no multiples of 8, so that what lies after them has to be aligned
    (64, 64, 8, 1, 1),
    (32, 64, 6, 3, 1),
)


@dataclass(frozen=True, eq=False)
class Probe:
    """One layer: what it is, and its tensor from inputs of one type (8 or 16 bits, int32 or float32) and one shape.

    `pattern` is the name of the pattern that takes it where that is not the operator's.
    """

    op: Op
    what: str
    dtype: str
    shape: tuple[int, ...]
    inputs: int
    build: Build
    pattern: str = ""

    @property
    def name(self) -> str:
        """The name of the pattern that takes it."""
        return self.pattern or self.op.value


def graph_of(layers: Sequence[Probe]) -> Graph:
    """All of them side by side; layer n reads the inputs ``x<n>_0``, ``x<n>_1`` and makes output n."""
    given = [
        [Value(Tensor(probe.shape, probe.dtype), source=f"x{n}_{i}") for i in range(probe.inputs)]
        for n, probe in enumerate(layers)
    ]
    outputs = tuple(probe.build(*own) for probe, own in zip(layers, given, strict=True))
    return Graph(tuple(x for own in given for x in own), outputs)


def network(layers: Sequence[Probe]) -> Model:
    """The network of `graph_of`."""
    graph = graph_of(layers)
    inputs = tuple(ModelTensor(x.source, x.shape, x.dtype) for x in graph.inputs)
    outputs = tuple(ModelTensor(f"output_{n}", x.shape, x.dtype) for n, x in enumerate(graph.outputs))
    return Model("probes", "", graph, inputs, outputs, Rounding.TFLITE)


def layers_of(probes: Sequence[Probe], own: Iterable[OwnOperator] = ()) -> tuple[Match | Rejection, ...]:
    """Them as modules are asked about them.

    Raises:
        TargetError: an operator of a module's own cannot be read.
    """
    return find_layers(with_own_operators(graph_of(probes), own)) if probes else ()


def inputs(layers: Sequence[Probe]) -> dict[str, npt.NDArray[Any]]:
    """Samples for `network`; those of a layer are the same wherever it is computed.

    The last one is all zeros, so that accumulators are 0, too.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    for n, probe in enumerate(layers):
        rng, shape = np.random.default_rng(len(probe.what)), (_SAMPLES, *probe.shape)
        for i in range(probe.inputs):
            array = _numbers(rng, shape) if probe.dtype == "float32" else _levels(rng, shape, probe.dtype)
            array[-1] = 0
            arrays[f"x{n}_{i}"] = array
    return arrays


def _levels(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> npt.NDArray[Any]:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def _numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Quarters of the quantization's scale: on its levels, halfway between them, and beyond its ends on both sides."""
    return (rng.integers(-1200, 1200, shape) * (SCALE / 4)).astype(np.float32)


def own_probes(operators: Iterable[OwnOperator], dtype: str) -> Iterator[Probe]:
    """The examples of modules' own operators."""
    for own in operators:
        build = partial(_own, own.example)
        yield Probe(Op.OWN, f"the example of {own.name}", dtype, (1, 8, 8, 16), own.inputs, build, own.name)


def _own(example: Callable[..., relay.Expr], *inputs: Value) -> Value:
    """What Relay computes of tensors."""
    parameters = [relay.var(x.source, shape=x.shape, dtype=x.dtype) for x in inputs]
    function = relay.Function(parameters, example(*parameters))
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    (made,) = on_inputs(graph_of_relay(from_relay(typed).module, unread, None, exact=True), inputs)
    return made


def probes(dtype: str, *, negative_step: bool = False, exceptions: bool = False) -> Iterator[Probe]:
    """The layers, on activations of `dtype` ("uint8" or "int8"), with what `Builds` adds to their requantization."""
    builds = Builds(dtype, negative_step, exceptions)
    for c, k, size, window, stride in _CONVOLUTIONS:
        what = f"a {window}x{window} convolution with stride {stride} of {c} to {k} channels"
        build = builds.convolution(c, k, window, stride, SAME if window == 3 else Padding())
        yield Probe(Op.CONV2D, what, dtype, (1, size, size, c), 1, build)
    for c, size, stride in ((16, 8, 1), (32, 9, 2)):
        what = f"a 3x3 depthwise convolution with stride {stride} of {c} channels"
        build = builds.convolution(c, c, 3, stride, SAME, depthwise=True)
        yield Probe(Op.DEPTHWISE_CONV2D, what, dtype, (1, size, size, c), 1, build)
    for c, k, groups in ((32, 32, 4), (12, 8, 4)):
        what = f"a 3x3 convolution of {c} to {k} channels in {groups} groups"
        build = builds.convolution(c, k, 3, 1, SAME, groups=groups)
        yield Probe(Op.GROUPED_CONV2D, what, dtype, (1, 8, 8, c), 1, build)
    for c, k in ((64, 32), (100, 10)):
        yield Probe(Op.DENSE, f"a dense layer of {c} to {k}", dtype, (1, c), 1, builds.dense(c, k))
    shape = (1, 8, 8, 16)
    yield Probe(Op.ADD, "an addition of two 8x8x16 maps", dtype, shape, 2, builds.addition())
    yield Probe(Op.ADD, "an addition of an 8x8x16 map and one pixel", dtype, shape, 1, builds.shifted_channels())
    yield Probe(Op.ADD, "an addition of an 8x8x16 map and one channel", dtype, shape, 1, builds.shifted_pixels())
    yield Probe(Op.MATRICES, "two products of 9x16 and 9x16", dtype, (2, 9, 16), 2, builds.matrices())
    yield Probe(Op.AVG_POOL2D, "an average over an 8x8x16 map", dtype, shape, 1, builds.average())
    means = "a 2x2 average over an 8x8x16 map, in float32"
    yield Probe(Op.FLOAT_AVG_POOL2D, means, dtype, shape, 1, builds.float_average())
    yield Probe(Op.MAX_POOL2D, "a 2x2 maximum over an 8x8x16 map", dtype, shape, 1, builds.maximum())
    yield Probe(Op.LOOKUP, "a table on an 8x8x16 map", dtype, shape, 1, builds.lookup())
    yield Probe(
        Op.CHANNEL_LOOKUP, "a table for each channel of an 8x8x16 map", dtype, shape, 1, builds.channel_lookup()
    )
    yield Probe(Op.MULTIPLY, "a product of two 8x8x16 maps", dtype, shape, 2, builds.multiplication())
    outer = "a product of one channel of 8x8 and one pixel of 16"
    yield Probe(Op.MULTIPLY, outer, dtype, (1, 8, 8, 1), 1, builds.outer_product())
    for operator in builds.of_two_maps():
        yield Probe(operator.op, f"{operator.op} of two 8x8x16 maps", dtype, shape, 2, partial(computed, operator))
    yield Probe(Op.CONCATENATE, "a concatenation of two 8x8x16 maps", dtype, shape, 2, builds.concatenation())
    yield Probe(Op.SLICE, "channels 3 to 10 of an 8x8x16 map", dtype, shape, 1, builds.part())
    yield Probe(Op.TRANSPOSE, "an 8x8x16 map, channels first", dtype, shape, 1, builds.transposition(0, 3, 1, 2))
    yield Probe(Op.TRANSPOSE, "an 8x8x16 map, columns first", dtype, shape, 1, builds.transposition(0, 2, 1, 3))
    yield Probe(Op.GATHER, "an 8x8x16 map, some of its columns", dtype, shape, 1, builds.columns())
    yield Probe(Op.SOFTMAX, "a softmax over each pixel of an 8x8x16 map", dtype, shape, 1, builds.softmax())
    what = "the logarithm of a softmax over each pixel of an 8x8x16 map"
    yield Probe(Op.LOG_SOFTMAX, what, dtype, shape, 1, builds.log_softmax())
    yield Probe(Op.NORMALIZE, "a normalization of each pixel of an 8x8x16 map", dtype, shape, 1, builds.normalization())
    yield Probe(Op.LSTM, "an LSTM of 10 units, 5 steps of 7 features", dtype, (5, 1, 7), 1, builds.lstm(7, 10))
    yield Probe(Op.GRU, "a GRU of 10 units, 3 steps of 7 features", dtype, (3, 1, 7), 1, builds.gru(7, 10))
    first = "a GRU of 10 units, reset gate first, 3 steps of 7 features"
    yield Probe(Op.GRU_RESET_FIRST, first, dtype, (3, 1, 7), 1, builds.gru(7, 10, reset_first=True))
    yield Probe(Op.RESIZE, "an 8x8x16 map, enlarged to 12x12", dtype, shape, 1, builds.resize(8, 12))
    yield Probe(Op.QUANTIZE, "8x8x16 numbers, quantized", "float32", shape, 1, builds.quantization())
    yield Probe(Op.DEQUANTIZE, "an 8x8x16 map as numbers", dtype, shape, 1, builds.dequantization())
    yield Probe(Op.DEQUANTIZE_SUMS, "8x8x16 sums as numbers", "int32", shape, 1, builds.dequantized_sums())


def int16_probes() -> Iterator[Probe]:
    """Layers on activations of 16 bits."""
    builds = Builds("uint8")
    for c, k, size, window in ((16, 20, 8, 3), (16, 16, 8, 1), (3, 7, 9, 3)):
        what = f"a {window}x{window} convolution of {c} to {k} channels of 16 bits"
        yield Probe(Op.CONV2D, what, "int16", (1, size, size, c), 1, builds.int16_convolution(c, k, window))
    depthwise, shape = "a 3x3 depthwise convolution of 16 channels of 16 bits", (1, 8, 8, 16)
    build = builds.int16_convolution(16, 16, 3, depthwise=True)
    yield Probe(Op.DEPTHWISE_CONV2D, depthwise, "int16", shape, 1, build)
    yield Probe(Op.DENSE, "a dense layer of 100 to 10 of 16 bits", "int16", (1, 100), 1, builds.int16_dense(100, 10))
    yield Probe(Op.MAX_POOL2D, "a 2x2 maximum over an 8x8x16 map of 16 bits", "int16", shape, 1, builds.maximum())
    yield Probe(Op.AVG_POOL2D, "an average over an 8x8x16 map of 16 bits", "int16", shape, 1, builds.int16_average())
    yield Probe(Op.ADD, "a difference of two 8x8x16 maps of 16 bits", "int16", shape, 2, builds.int16_addition())
    product = "a product of two 8x8x16 maps of 16 bits"
    yield Probe(Op.MULTIPLY, product, "int16", shape, 2, builds.int16_multiplication())
    pixel = "a product of an 8x8x16 map and one pixel of 16 bits"
    yield Probe(Op.MULTIPLY, pixel, "int16", shape, 1, builds.int16_multiplication(pixel=True))
    yield Probe(Op.REQUANTIZE, "an 8x8x16 map of 16 bits in another scale", "int16", shape, 1, builds.requantize())
    leaky = "a leaky ReLU of an 8x8x16 map of 16 bits"
    yield Probe(Op.LEAKY_RELU, leaky, "int16", shape, 1, builds.int16_leaky_relu())
    for gate in (Op.LOGISTIC, Op.TANH):
        yield Probe(gate, f"{gate} of an 8x8x16 map of 16 bits", "int16", shape, 1, builds.int16_gate(gate))
    yield Probe(Op.SOFTMAX, "a softmax of 8x8 rows of 16 of 16 bits", "int16", shape, 1, builds.int16_softmax())
    lstm = "an LSTM of 10 units of 16 bits, 5 steps of 7 features"
    yield Probe(Op.LSTM, lstm, "int16", (5, 1, 7), 1, builds.int16_lstm(7, 10))
