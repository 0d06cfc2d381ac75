"""The layers of the MLPerf Tiny networks, by their published geometry, and two large layers."""

from __future__ import annotations

import itertools

from match.ir.layer import Layer, Op, Padding

WIDE = Layer("wide", Op.CONV2D, 512, 512, 56, 56, 56, 56, 3, 3, padding=Padding(1, 1, 1, 1))
DEEP = Layer("deep", Op.DEPTHWISE_CONV2D, 256, 1, 112, 112, 112, 112, 3, 3, padding=Padding(1, 1, 1, 1))


def conv(name: str, k: int, c: int, size: tuple[int, int], filter_size: tuple[int, int], stride: int = 1) -> Layer:
    """A convolution of a `size` input with TensorFlow's SAME padding."""
    return _windowed(name, Op.CONV2D, k, c, size, filter_size, stride)


def depthwise(name: str, k: int, size: tuple[int, int], stride: int = 1) -> Layer:
    return _windowed(name, Op.DEPTHWISE_CONV2D, k, 1, size, (3, 3), stride)


def dense(name: str, k: int, c: int) -> Layer:
    return Layer(name, Op.DENSE, k, c, 1, 1, 1, 1)


def add(name: str, k: int, size: int) -> Layer:
    return Layer(name, Op.ADD, k, 1, size, size, size, size, weight_dtype="")


def average(name: str, k: int, size: tuple[int, int]) -> Layer:
    return Layer(name, Op.AVG_POOL2D, k, 1, 1, 1, *size, *size, weight_dtype="")


def _windowed(
    name: str, op: Op, k: int, c: int, size: tuple[int, int], filter_size: tuple[int, int], stride: int
) -> Layer:
    out = [-(-length // stride) for length in size]
    missing = [max(0, (o - 1) * stride + f - length) for o, f, length in zip(out, filter_size, size, strict=True)]
    padding = Padding(missing[0] // 2, missing[1] // 2, missing[0] - missing[0] // 2, missing[1] - missing[1] // 2)
    return Layer(name, op, k, c, out[0], out[1], *size, *filter_size, (stride, stride), padding=padding)


def resnet8() -> list[Layer]:
    layers = [conv("conv", 16, 3, (32, 32), (3, 3))]
    channels, size = 16, 32
    for stage, k in enumerate((16, 32, 64)):
        stride = 1 if stage == 0 else 2
        layers.append(conv(f"stage{stage}.conv1", k, channels, (size, size), (3, 3), stride))
        if stride == 2:
            layers.append(conv(f"stage{stage}.shortcut", k, channels, (size, size), (1, 1), 2))
        size //= stride
        layers += [conv(f"stage{stage}.conv2", k, k, (size, size), (3, 3)), add(f"stage{stage}.add", k, size)]
        channels = k
    return [*layers, average("pool", 64, (8, 8)), dense("dense", 10, 64)]


def mobilenet() -> list[Layer]:
    """Width 0.25, 96x96."""
    layers = [conv("conv", 8, 3, (96, 96), (3, 3), 2)]
    channels, size = 8, 48
    strides = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
    widths = (16, 32, 32, 64, 64, 128, 128, 128, 128, 128, 128, 256, 256)
    for n, (k, stride) in enumerate(zip(widths, strides, strict=True)):
        layers.append(depthwise(f"block{n}.depthwise", channels, (size, size), stride))
        size = -(-size // stride)
        layers.append(conv(f"block{n}.pointwise", k, channels, (size, size), (1, 1)))
        channels = k
    return [*layers, average("pool", 256, (3, 3)), dense("dense", 2, 256)]


def ds_cnn() -> list[Layer]:
    layers = [conv("conv", 64, 1, (49, 10), (10, 4), 2)]
    for n in range(4):
        layers += [depthwise(f"block{n}.depthwise", 64, (25, 5)), conv(f"block{n}.pointwise", 64, 64, (25, 5), (1, 1))]
    return [*layers, average("pool", 64, (25, 5)), dense("dense", 12, 64)]


def auto_encoder() -> list[Layer]:
    widths = (640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640)
    return [dense(f"dense{n}", k, c) for n, (c, k) in enumerate(itertools.pairwise(widths))]
