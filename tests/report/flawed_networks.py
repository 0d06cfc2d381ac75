"""Small networks in integer form, each with one property that costs most of its time, and some without any."""

from __future__ import annotations

import numpy as np

from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.relay import integer_form, relay, tvm
from tests import layers_in_relay
from tests.passes.networks import weights

Tensor = relay.Expr
CLIP = {"uint8": (0, 255), "int8": (-128, 127)}
AROUND = Padding(1, 1, 1, 1)


def image(size: int, channels: int, dtype: str = "uint8") -> Tensor:
    return relay.var("x", shape=(1, size, size, channels), dtype=dtype)


def factor(sums: int, channels: int, dtype: str, slope: float = 1.0) -> Requantization:
    """A requantization by `slope` times a power of two, which spreads most sums over the levels."""
    shift = 20
    power = 2.0 ** np.round(np.log2(1 / (np.sqrt(sums) * 64)))
    multiplier = np.full(channels, round(slope * power * 2.0**shift), np.int64)
    middle = 128 if dtype == "uint8" else 0
    return Requantization(
        multiplier, np.full(channels, middle << shift, np.int64), np.full(channels, shift), CLIP[dtype]
    )


def conv(
    x: Tensor, inputs: int, outputs: int, size: int = 3, *, dtype: str = "uint8", stride: int = 1, slope: float = 1.0
) -> Tensor:
    border = (size - 1) // 2
    return layers_in_relay.conv2d(
        x,
        weights(np.random.default_rng(outputs), size, size, inputs, outputs),
        factor(size * size * inputs, outputs, dtype, slope),
        dtype,
        x_dtype=dtype,
        strides=(stride, stride),
        padding=Padding(border, border, border, border),
        pad_value=0,
    )


def depthwise(x: Tensor, channels: int, size: int = 3) -> Tensor:
    return layers_in_relay.conv2d(
        x,
        weights(np.random.default_rng(channels), size, size, channels, 1),
        factor(size * size, channels, "uint8"),
        "uint8",
        x_dtype="uint8",
        groups=channels,
        kernel_layout="HWOI",
        padding=AROUND,
    )


def quantized(x: Tensor) -> Tensor:
    return relay.cast(relay.clip(relay.round(x), 0, 255), "uint8")


def real(x: Tensor) -> Tensor:
    return relay.multiply(relay.cast(x, "float32"), relay.const(0.1))


def float_input() -> Tensor:
    x = relay.var("x", shape=(1, 48, 48, 16), dtype="float32")
    return conv(quantized(relay.multiply(x, relay.const(np.full((1,), 9.0, np.float32)))), 16, 16)


def float_output() -> Tensor:
    return real(conv(image(48, 16), 16, 16))


def float_inside() -> Tensor:
    return conv(quantized(relay.exp(real(conv(image(32, 16), 16, 16)))), 16, 16)


def channels_first() -> Tensor:
    x = relay.var("x", shape=(1, 16, 48, 48), dtype="uint8")
    return conv(relay.transpose(x, (0, 2, 3, 1)), 16, 16)


def wide_filters() -> Tensor:
    return depthwise(image(24, 16), 16, 5)


def few_channels_first() -> Tensor:
    return conv(conv(image(64, 3), 3, 16, 1), 16, 64, 1)


def concatenations() -> Tensor:
    x = conv(image(32, 16), 16, 16)
    return conv(relay.concatenate([x, x, x, x], axis=3), 64, 16, 1)


def pooling() -> Tensor:
    x = scaled(1.0, 32, 1)
    return scaled(1.0, 30, 1, integer_form.max_pool2d(x, window=(3, 3), strides=(1, 1)))


def scaled(slope: float, size: int = 16, layers: int = 2, x: Tensor | None = None) -> Tensor:
    """Convolutions of int8 by `slope` times powers of two."""
    x = image(size, 16, "int8") if x is None else x
    for _ in range(layers):
        x = conv(x, 16, 16, dtype="int8", slope=slope)
    return x


def odd_scales() -> Tensor:
    return scaled(1.37)


def nearly_even_scales() -> Tensor:
    return scaled(1.004)


def even_scales() -> Tensor:
    return scaled(1.0)


def large_filters() -> Tensor:
    """The second layer needs more scratchpad than the first."""
    return conv(conv(image(16, 16), 16, 128, 1), 128, 16)


def plain() -> Tensor:
    return conv(conv(image(16, 16), 16, 16), 16, 16)


def separable() -> Tensor:
    return conv(depthwise(conv(image(16, 16), 16, 32), 32), 32, 32, 1)


def residual() -> Tensor:
    x = conv(image(16, 16), 16, 16)
    added = integer_form.add(x, conv(x, 16, 16), (1 << 19, 1 << 19), 0, 20, CLIP["uint8"], "uint8")
    return conv(added, 16, 16)


def network(output: Tensor) -> tvm.IRModule:
    return tvm.IRModule.from_expr(output)
