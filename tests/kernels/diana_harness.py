"""Talks to diana_harness.c, and DIANA's layout of weights from its description in match_diana.h, byte by byte."""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass
from itertools import product

import numpy as np

from tests.kernels.harness import EMPTY, Bytes, Harness, TileFields
from tests.kernels.reference import Ints

KERNELS = ("conv2d", "depthwise_conv2d", "dense", "add")


class DianaHarness(Harness):
    """One running harness program for DIANA."""

    def run_kernel(
        self,
        name: str,
        fields: TileFields,
        shift: int,
        arrays: tuple[Bytes, Bytes, Bytes],
        output: Bytes,
        channel_strides: tuple[int, int, int] = (0, 0, 0),
    ) -> tuple[int, Bytes]:
        """Run a kernel on a tile whose pointers are the starts of input, addend and weights; status and output.

        `channel_strides` are those of input, addend and output.
        """
        numbers = astuple(fields)
        request = struct.pack(f"<3i{len(numbers)}i", 0, KERNELS.index(name), len(numbers), *numbers)
        request += struct.pack("<4i", shift, *channel_strides)
        return self._ask(request + packed((*arrays, output)), output.nbytes)

    def run_job(
        self,
        words: list[int],
        input: Bytes,  # noqa: A002 - the tile's own name for it
        weights: Bytes,
        output: Bytes,
        addend: Bytes = EMPTY,
    ) -> tuple[int, Bytes]:
        """Run a job; status and the output array afterwards."""
        request = struct.pack("<i24I", 1, *(word & 0xFFFFFFFF for word in words))
        return self._ask(request + packed((input, addend, weights, output)), output.nbytes)


FILL = 0x5A


@dataclass
class Planes:
    """An activation inside a larger block, channel by channel in rows of words of 16 bytes.

    `bytes` has where each element of (rows, columns, channels) lies, `words` what the words with all of them cover.
    """

    block: Bytes
    row_stride: int
    channel_stride: int
    bytes: Ints
    words: Ints

    def strides(self, name: str) -> dict[str, int]:
        """The row stride as a field of the tile."""
        return {f"{name}_row_stride": self.row_stride}


def planes(tile: Bytes, margins: tuple[int, int], *, group: int = 1) -> Planes:
    """A (rows, columns, channels) array in a block with `margins`: words behind a row, rows behind a channel.

    The block ends with the last word of the last channel, or with that of the group of channels that it belongs to.
    """
    rows, columns, channels = tile.shape
    words, all_channels = -(-columns // 16), -(-channels // group) * group
    row_stride = 16 * (words + margins[0])
    channel_stride = row_stride * (rows + margins[1])
    y, x, c = np.indices((rows, 16 * words, all_channels))
    places = c * channel_stride + y * row_stride + x // 4 * 4 + 3 - x % 4
    block = np.full(int(places.max()) + 1, FILL, np.uint8)
    inside = places[:, :columns, :channels]
    block[inside] = tile
    return Planes(block, row_stride, channel_stride, inside, places)


def vectors(pixels: Bytes, words: int) -> tuple[Bytes, Ints]:
    """(pixels, channels) as vectors of so many words of 16 bytes, and where each element lies."""
    number, c = np.indices(pixels.shape)
    places = np.asarray(number * 16 * words + c // 4 * 4 + 3 - c % 4, np.int64)
    block = np.full(16 * words * len(pixels), FILL, np.uint8)
    block[places] = pixels
    return block, places


def packed(arrays: tuple[Bytes, ...]) -> bytes:
    return b"".join(struct.pack("<i", array.nbytes) + array.tobytes() for array in arrays)


def place(row: int, column: int) -> int:
    """Index of a byte of a row of 16, its groups of four reversed."""
    return row * 16 + column // 4 * 4 + 3 - column % 4


def grouped_weights(weights: Ints, bias: Ints, group: int) -> Bytes:
    """(K, FY, FX, C) and (K,) in groups of 16 or, of a depthwise filter, 4 output channels."""
    channels, height, width, depth = weights.shape
    rows = depth * height * width + 4
    data = np.zeros(-(-channels // group) * rows * 16, np.uint8)
    for k in range(channels):
        first = k // group * rows
        column = k % group * (16 // group)
        for row, (c, y, x) in enumerate(product(range(depth), range(height), range(width))):
            data[place(first + row, column)] = int(weights[k, y, x, c]) & 0xFF
        for byte in range(4):
            data[place(first + rows - 4 + byte, column)] = int(bias[k]) >> 8 * byte & 0xFF
    return data


def connected_weights(weights: Ints, bias: Ints) -> Bytes:
    """(K, C) and (K,) of a fully connected layer."""
    channels, depth = weights.shape
    rows = -(-depth // 16)
    group = 16 * (rows + 1)
    data = np.zeros(-(-channels // 16) * group * 16, np.uint8)
    for k in range(channels):
        first = k // 16 * group
        for c in range(depth):
            data[place(first + k % 16 * rows + c // 16, c % 16)] = int(weights[k, c]) & 0xFF
        for byte in range(16):
            data[place(first + 16 * rows + k % 16, byte)] = int(bias[k]) >> 8 * byte & 0xFF
    return data
