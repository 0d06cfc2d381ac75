"""Networks in integer form with random parameters, for the tests of passes."""

from __future__ import annotations

import numpy as np

from match.ir.layer import Padding
from match.ir.requantization import UNREACHED, Requantization
from match.relay import integer_form, relay, tvm
from tests import layers_in_relay


def requantization(
    rng: np.random.Generator, sums: int, channels: int, clip: tuple[int, int], correction: bool = False
) -> Requantization:
    """Parameters that spread sums of `sums` products over the clip, a few steps beyond it."""
    shift = rng.integers(24, 34, channels)
    scale = (clip[1] - clip[0]) / (np.sqrt(sums) * 128 * 150)
    multiplier = np.rint(rng.uniform(0.5, 1.5, channels) * scale * 2.0**shift).astype(np.int64)
    bias = rng.integers(clip[0], clip[1] + 1, channels) << shift
    if not correction:
        return Requantization(multiplier, bias, shift, clip)
    below = np.where(rng.integers(0, 4, channels) == 0, UNREACHED, rng.integers(-3000, 3000, channels))
    return Requantization(multiplier, bias, shift, clip, below, np.full(channels, 2 ** shift.min() // 2))


def weights(rng: np.random.Generator, *shape: int):
    return rng.integers(-128, 128, shape).astype(np.int8)


def mixed(seed: int, dtype: str) -> tvm.IRModule:
    """Convolutions with both kinds of padding, depthwise, pooling, addition, a table, flattening and a dense layer."""
    rng = np.random.default_rng(seed)
    clip = (0, 255) if dtype == "uint8" else (-128, 127)
    pad_value = 7 if dtype == "uint8" else -9
    x = relay.var("x", shape=(1, 10, 9, 5), dtype=dtype)
    first = layers_in_relay.conv2d(
        x,
        weights(rng, 3, 3, 5, 8),
        requantization(rng, 45, 8, clip, correction=True),
        dtype,
        x_dtype=dtype,
        padding=Padding(1, 1, 1, 1),
        pad_value=pad_value,
    )
    second = layers_in_relay.conv2d(
        first,
        weights(rng, 3, 3, 8, 1),
        requantization(rng, 9, 8, clip),
        dtype,
        x_dtype=dtype,
        groups=8,
        kernel_layout="HWOI",
        padding=Padding(1, 0, 1, 2),
    )
    ratio = (1 << 19, -(1 << 18))
    total = integer_form.add(first, second, ratio, 40 << 20, 20, (clip[0] + 3, clip[1]), dtype)
    pooled = integer_form.max_pool2d(total, window=(2, 2), strides=(2, 2), padding=Padding(0, 0, 1, 1))
    table = integer_form.lookup(pooled, rng.integers(clip[0], clip[1] + 1, 256), dtype, dtype)
    mean = layers_in_relay.avg_pool2d(table, requantization(rng, 4, 8, clip), dtype, window=(2, 2), strides=(1, 1))
    flat = relay.reshape(mean, (1, -1))
    scores = layers_in_relay.dense(
        flat, weights(rng, 6, 4 * 4 * 8), requantization(rng, 128, 6, clip, correction=True), dtype
    )
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([scores, mean]))))
