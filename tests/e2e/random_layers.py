"""Random quantized layers: a hypothesis strategy, each layer as QNN Relay and as its definition in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from match.relay import relay, tvm
from tests.e2e import tflite_arithmetic as arithmetic
from tests.e2e.tflite_arithmetic import Array

Int8 = npt.NDArray[np.int8]


@dataclass(frozen=True)
class LayerCase:
    """One layer. `op` is conv2d, depthwise, dense, add, avg_pool, max_pool or requantize (a change of scale).

    `c` are input and `k` output channels. A requantize of one row of pixels has a tensor of rank 2. With
    `power_of_two` all scales are powers of two, one per tensor, and an addition's are equal.
    """

    op: str
    c: int
    k: int
    iy: int = 1
    ix: int = 1
    filter: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    input_zero_point: int = -128
    output_zero_point: int = -128
    activation: str = "none"
    seed: int = 0
    power_of_two: bool = False

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of each input tensor."""
        if self.op == "requantize" and self.iy == 1:
            return self.ix, self.c
        return (1, self.c) if self.op == "dense" else (1, self.iy, self.ix, self.c)

    @property
    def inputs(self) -> int:
        """Number of input tensors."""
        return 2 if self.op == "add" else 1

    @property
    def rng(self) -> np.random.Generator:
        """Generator of the layer's constants."""
        return np.random.default_rng(self.seed)

    @property
    def clamp(self) -> tuple[int, int]:
        """Output range of the activation."""
        if self.op == "max_pool":
            return -128, 127
        low = {"none": -128, "relu": self.output_zero_point, "relu6": self.output_zero_point}[self.activation]
        high = min(127, self.output_zero_point + 90) if self.activation == "relu6" else 127
        return low, high

    def weights(self) -> Array:
        """int8 weights: (K, FY, FX, C) for conv2d, (FY, FX, C) for depthwise, (K, C) for dense."""
        shape = {
            "conv2d": (self.k, *self.filter, self.c),
            "depthwise": (*self.filter, self.c),
            "dense": (self.k, self.c),
        }[self.op]
        return self.rng.integers(-127, 128, shape)

    def bias(self) -> Array:
        """int32 bias (K,)."""
        return np.random.default_rng(self.seed + 1).integers(-20000, 20000, self.k)

    def scales(self) -> tuple[np.float32, npt.NDArray[np.float32], np.float32]:
        """Scales of input, weights (one per channel; one in all for dense) and output that fill the output range."""
        rng = np.random.default_rng(self.seed + 2)
        terms = self.c * math.prod(self.filter) if self.op != "depthwise" else math.prod(self.filter)
        count = 1 if self.op == "dense" else self.k
        ratios = rng.uniform(0.3, 3.0, count) * 50.0 / (75.0 * 75.0 * math.sqrt(terms) + 8000.0)
        scale_in, scale_out = np.float32(rng.uniform(0.01, 0.1)), np.float32(rng.uniform(0.01, 0.1))
        if self.power_of_two:
            ratios = np.exp2(np.rint(np.log2(np.full(count, ratios.mean()))))
            scale_in, scale_out = np.float32(2**-5), np.float32(2**-4)
        return scale_in, (ratios * scale_out / scale_in).astype(np.float32), scale_out

    def add_quantization(self) -> tuple[tuple[float, float, float], tuple[int, int, int]]:
        """Scales and zero points of an addition's two inputs and output."""
        rng = np.random.default_rng(self.seed + 3)
        scales = [float(np.float32(s)) for s in rng.uniform(0.02, 0.08, 3)]
        if self.power_of_two:
            return (0.0625, 0.0625, 0.0625), (self.input_zero_point, 0, self.output_zero_point)
        zero_points = (self.input_zero_point, int(rng.integers(-128, 128)), self.output_zero_point)
        return (scales[0], scales[1], scales[2]), zero_points

    def requantize_scales(self) -> tuple[float, float]:
        """Scales of a requantize's input and output."""
        scale_in, scale_out = np.random.default_rng(self.seed + 4).uniform(0.01, 0.1, 2)
        return float(np.float32(scale_in)), float(np.float32(scale_out))

    def reference(self, *inputs: Int8) -> Array:
        """Output by definition, in the shape of the network's output."""
        low, high = self.clamp
        if self.op == "requantize":
            scale_in, scale_out = self.requantize_scales()
            multipliers = [scale_in / scale_out] * self.c
            return arithmetic.requantizer(multipliers, self.output_zero_point, low, high)(
                inputs[0].astype(np.int64) - self.input_zero_point
            )
        x = inputs[0].astype(np.int64)[0]
        if self.op == "add":
            return arithmetic.add(x, inputs[1].astype(np.int64)[0], *self.add_quantization(), low, high)[None]
        if self.op == "avg_pool":
            return arithmetic.average_pool2d(x, self.filter, self.stride, low, high)[None]
        if self.op == "max_pool":
            return arithmetic.max_pool2d(x, self.filter, self.stride, self.padding, low, high)[None]
        scale_in, scale_w, scale_out = self.scales()
        if self.op == "dense":
            acc = (x - self.input_zero_point) @ self.weights().T + self.bias()
            multipliers = [float(scale_in) * float(scale_w[0]) / float(scale_out)] * self.k
        else:
            function = arithmetic.conv2d if self.op == "conv2d" else arithmetic.depthwise_conv2d
            acc = function(
                x, self.weights(), self.bias(), self.input_zero_point, self.stride, self.padding, self.dilation
            )
            multipliers = [float(scale_in) * float(s) / float(scale_out) for s in scale_w]
        return arithmetic.requantizer(multipliers, self.output_zero_point, low, high)(acc)[None]

    def relay(self, *inputs: Any) -> Any:
        """The layer as TVM's TFLite importer writes it."""
        x = inputs[0]
        low, high = self.clamp
        out_zero = relay.const(self.output_zero_point, "int32")
        if self.op == "add":
            scales, zeros = self.add_quantization()
            arguments = [
                relay.const(value, dtype)
                for scale, zero in zip(scales, zeros, strict=True)
                for value, dtype in ((scale, "float32"), (zero, "int32"))
            ]
            return self.clipped(relay.qnn.add(x, inputs[1], *arguments), low, high)
        if self.op == "requantize":
            scale, scale_out = (relay.const(value, "float32") for value in self.requantize_scales())
            zero = relay.const(self.input_zero_point, "int32")
            changed = relay.qnn.requantize(x, scale, zero, scale_out, out_zero, out_dtype="int8")
            return self.clipped(changed, low, high)
        if self.op == "max_pool":
            return relay.nn.max_pool2d(x, self.filter, self.stride, padding=self.padding, layout="NHWC")
        if self.op == "avg_pool":
            pooled = relay.nn.avg_pool2d(relay.cast(x, "int32"), self.filter, self.stride, layout="NHWC")
            return self.clipped(relay.cast(pooled, "int8"), low, high)
        scale_in, scale_w, scale_out = self.scales()
        common = (
            relay.const(self.input_zero_point, "int32"),
            relay.const(0, "int32"),
            relay.const(float(scale_in), "float32"),
            relay.const(scale_w[0] if self.op == "dense" else scale_w, "float32"),
        )
        weights = self.weights().astype(np.int8)
        if self.op == "dense":
            acc = relay.qnn.dense(x, relay.const(weights, "int8"), *common, units=self.k)
            axis = 1
        else:
            depthwise = self.op == "depthwise"
            kernel = weights[..., None] if depthwise else weights.transpose(1, 2, 3, 0)
            acc = relay.qnn.conv2d(
                x,
                relay.const(np.ascontiguousarray(kernel), "int8"),
                *common,
                kernel_size=self.filter,
                channels=self.k,
                strides=self.stride,
                padding=self.padding,
                dilation=self.dilation,
                groups=self.c if depthwise else 1,
                data_layout="NHWC",
                kernel_layout="HWOI" if depthwise else "HWIO",
                out_dtype="int32",
            )
            axis = 3
        acc = relay.nn.bias_add(acc, relay.const(self.bias().astype(np.int32), "int32"), axis=axis)
        scale_acc = np.float32(scale_in) * (scale_w[0] if self.op == "dense" else scale_w)
        quantized = relay.qnn.requantize(
            acc,
            relay.const(scale_acc, "float32"),
            relay.const(0, "int32"),
            relay.const(float(scale_out), "float32"),
            out_zero,
            axis=axis,
            out_dtype="int8",
        )
        return self.clipped(quantized, low, high)

    def clipped(self, expression: Any, low: int, high: int) -> Any:
        """`expression` with a fused activation, if there is one."""
        return expression if self.activation == "none" else relay.clip(expression, low, high)


def module(cases: Sequence[LayerCase]) -> Any:
    """A Relay module of independent layers: inputs ``x<i>_<j>``, one output per layer."""
    variables: list[Any] = []
    outputs: list[Any] = []
    for index, case in enumerate(cases):
        own = [relay.var(f"x{index}_{j}", shape=case.input_shape, dtype="int8") for j in range(case.inputs)]
        variables += own
        outputs.append(case.relay(*own))
    return tvm.IRModule.from_expr(relay.Function(variables, relay.Tuple(outputs)))


def inputs_of(cases: Sequence[LayerCase], seed: int) -> dict[str, Int8]:
    """Random inputs for `module(cases)`."""
    rng = np.random.default_rng(seed)
    return {
        f"x{index}_{j}": rng.integers(-128, 128, case.input_shape).astype(np.int8)
        for index, case in enumerate(cases)
        for j in range(case.inputs)
    }


zero_points = st.one_of(st.just(-128), st.integers(-128, 127))
diana_zero_points = st.sampled_from((0, 0, 0, 0, -128, 5))
seeds = st.integers(0, 2**31)
activations = st.sampled_from(("none", "relu", "relu6"))


@st.composite
def windowed(draw: st.DrawFn, op: str, filters: st.SearchStrategy[tuple[int, int]], max_stride: int) -> LayerCase:
    """A convolution or pooling whose window fits its padded input; some windows see padding alone."""
    filter_size = draw(filters)
    pooling = op in ("avg_pool", "max_pool")
    dilation = (1, 1) if pooling else draw(st.sampled_from(((1, 1), (1, 1), (1, 1), (2, 1), (1, 2), (2, 2))))
    window = [(f - 1) * d + 1 for f, d in zip(filter_size, dilation, strict=True)]
    padded = op != "avg_pool"
    usual, wide = [f - 1 for f in filter_size], [w + 2 for w in window]
    most = draw(st.sampled_from((usual, usual, usual, wide)))
    padding = draw(st.tuples(*(st.integers(0, most[i % 2]) for i in range(4)))) if padded else (0, 0, 0, 0)
    iy = draw(st.integers(max(1, window[0] - padding[0] - padding[2]), 20))
    ix = draw(st.integers(max(1, window[1] - padding[1] - padding[3]), 20))
    channels = draw(st.integers(1, 48))
    return LayerCase(
        op,
        channels,
        draw(st.integers(1, 72)) if op == "conv2d" else channels,
        iy,
        ix,
        filter_size,
        (draw(st.integers(1, max_stride)), draw(st.integers(1, max_stride))),
        padding,
        dilation,
        draw(zero_points),
        draw(zero_points),
        "none" if op == "max_pool" else draw(activations),
        draw(seeds),
    )


@st.composite
def ne16_shaped(draw: st.DrawFn) -> LayerCase:
    """A layer of the kinds that NE16 takes."""
    op, size = draw(st.sampled_from((("conv2d", 3), ("conv2d", 1), ("depthwise", 3))))
    stride = draw(st.integers(1, 2))
    padding = draw(st.tuples(*(st.integers(0, 1) for _ in range(4)))) if size == 3 else (0, 0, 0, 0)
    channels = draw(st.integers(1, 80))
    return LayerCase(
        op,
        channels,
        draw(st.integers(1, 100)) if op == "conv2d" else channels,
        draw(st.integers(3, 18)),
        draw(st.integers(3, 18)),
        (size, size),
        (stride, stride),
        padding,
        (1, 1),
        draw(zero_points),
        draw(zero_points),
        draw(activations),
        draw(seeds),
    )


@st.composite
def diana_shaped(draw: st.DrawFn) -> LayerCase:
    """A layer of the kinds that DIANA's digital accelerator takes, most of them exactly, some with too much padding."""
    op = draw(st.sampled_from(("conv2d", "conv2d", "depthwise", "dense", "add")))
    side = st.sampled_from((1, 3, 5, 7))
    filter_size = draw(st.tuples(side, side)) if op in ("conv2d", "depthwise") else (1, 1)
    stride = draw(st.integers(1, 2)) if op in ("conv2d", "depthwise") else 1
    usual = [length // 2 for length in filter_size]
    wide = [length + 1 for length in filter_size] if op in ("conv2d", "depthwise") else usual
    most = draw(st.sampled_from((usual, usual, usual, usual, wide)))
    channels = draw(st.integers(1, 300 if op == "dense" else 36))
    return LayerCase(
        op,
        channels,
        draw(st.integers(1, 50)) if op in ("conv2d", "dense") else channels,
        draw(st.integers(filter_size[0], 18)) if op != "dense" else 1,
        draw(st.integers(filter_size[1], 40)) if op != "dense" else 1,
        filter_size,
        (stride, stride),
        draw(st.tuples(*(st.integers(0, most[i % 2]) for i in range(4)))),
        (1, 1),
        draw(diana_zero_points),
        draw(diana_zero_points),
        draw(st.sampled_from(("relu", "relu", "relu", "none"))),
        draw(seeds),
        power_of_two=draw(st.sampled_from((True, True, True, True, False))),
    )


@st.composite
def flat(draw: st.DrawFn) -> LayerCase:
    """A dense layer."""
    return LayerCase(
        "dense",
        draw(st.integers(1, 500)),
        draw(st.integers(1, 150)),
        input_zero_point=draw(zero_points),
        output_zero_point=draw(zero_points),
        activation=draw(activations),
        seed=draw(seeds),
    )


@st.composite
def elementwise(draw: st.DrawFn, op: str) -> LayerCase:
    """An addition of two maps, or a requantize of a map or of rows."""
    channels = draw(st.integers(1, 64))
    return LayerCase(
        op,
        channels,
        channels,
        draw(st.integers(1, 20)),
        draw(st.integers(1, 20)),
        input_zero_point=draw(zero_points),
        output_zero_point=draw(zero_points),
        activation=draw(activations),
        seed=draw(seeds),
    )


any_filter = st.tuples(st.integers(1, 5), st.integers(1, 5))
layer_cases = st.one_of(
    windowed("conv2d", any_filter, 3),
    windowed("depthwise", any_filter, 3),
    ne16_shaped(),
    flat(),
    elementwise("add"),
    elementwise("requantize"),
    windowed("avg_pool", any_filter, 3),
    windowed("max_pool", any_filter, 3),
)
