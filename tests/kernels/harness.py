"""Talks to harness.c: runs kernels and NE16 jobs on tiles made of NumPy arrays."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Sums = npt.NDArray[np.int32]

KERNEL, JOB, COPY = 0, 1, 2
EMPTY: Bytes = np.zeros(0, np.uint8)
NO_SUMS: Sums = np.zeros(0, np.int32)


@dataclass
class TileFields:
    """The int32 fields of match_tile_t, in its order."""

    channels_in: int = 1
    channels_out: int = 1
    input_height: int = 1
    input_width: int = 1
    input_row_stride: int = 1
    input_pixel_stride: int = 1
    addend_row_stride: int = 0
    addend_pixel_stride: int = 0
    output_height: int = 1
    output_width: int = 1
    output_row_stride: int = 1
    output_pixel_stride: int = 1
    filter_height: int = 1
    filter_width: int = 1
    stride_y: int = 1
    stride_x: int = 1
    dilation_y: int = 1
    dilation_x: int = 1
    pad_top: int = 0
    pad_left: int = 0
    pad_bottom: int = 0
    pad_right: int = 0
    pad_value: int = 0
    clip_low: int = 0
    clip_high: int = 255


@dataclass
class View:
    """An HWC tile inside a larger block: `tile` is a writable view of the block's bytes."""

    block: Bytes
    offset: int
    row_stride: int
    pixel_stride: int
    tile: Bytes


def embed(tile: Bytes, margins: tuple[int, int, int, int]) -> View:
    """Put an HWC array into a block with `margins`: pixels before and after a row, channels before and after a pixel.

    The block starts with the tile's first byte and ends with its last one, so that a byte outside is outside the block.
    """
    height, width, channels = tile.shape
    left, right, front, back = margins
    pixel_stride = front + channels + back
    row_stride = (left + width + right) * pixel_stride
    extent = (height - 1) * row_stride + (width - 1) * pixel_stride + channels
    block = np.full(extent, 0x5A, np.uint8)
    view = np.lib.stride_tricks.as_strided(block, tile.shape, (row_stride, pixel_stride, 1))
    view[...] = tile
    return View(block, 0, row_stride, pixel_stride, view)


@dataclass(frozen=True)
class Copy:
    """A transfer: into L1 or out of it; planes, rows and bytes; plane and row strides on both sides."""

    into: bool
    shape: tuple[int, int, int]
    external_strides: tuple[int, int]
    local_strides: tuple[int, int]


class HarnessError(Exception):
    """The harness died: a sanitizer's report, a request it does not understand, or one that never ends."""


class Harness:
    """One running harness program; started at the first request and again after it died."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None

    def _ask(self, request: bytes, answer_bytes: int) -> tuple[int, Bytes]:
        if self.process is None:
            self.process = subprocess.Popen(
                [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            process.stdin.write(request)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer will be cut short
        answer = process.stdout.read(4 + answer_bytes)
        if len(answer) != 4 + answer_bytes:
            report = process.stderr.read().decode()
            self.close()
            raise HarnessError(report)
        return struct.unpack("<i", answer[:4])[0], np.frombuffer(answer, np.uint8, offset=4)

    def kernel(
        self,
        name: str,
        fields: TileFields,
        *,
        input: Bytes = EMPTY,  # noqa: A002 - the tile's own name for it
        addend: Bytes = EMPTY,
        weights: Bytes = EMPTY,
        parameters: Bytes = EMPTY,
        lists: tuple[Bytes, Bytes] = (EMPTY, EMPTY),
        output: Bytes,
        scratch: int = 0,
        negative_step: int = 0,
        sums: Sums = NO_SUMS,
        begins: bool = True,
        ends: bool = True,
        input_channel_stride: int = 0,
        groups: int = 0,
        weight_bits: int = 0,
        abandoned: int = 0,
    ) -> Bytes:
        """Run a kernel on one tile whose pointers are the starts of the arrays; the output array afterwards.

        `lists` are the tile's `excepted` and `exceptions`, empty where there are none.
        `sums` are its partial sums: before the call, and in place afterwards. `abandoned` jobs of NE16's are those of a
        program that was stopped while it filled in the last.
        """
        arrays = [input, addend, weights, parameters, *lists, output, np.zeros(scratch, np.uint8), sums]
        numbers = (*astuple(fields), negative_step, input_channel_stride, begins, ends)
        numbers += (groups, weight_bits, abandoned)
        numbers += (0,) * len(arrays)
        request = struct.pack("<i48s25iq6i9i", KERNEL, name.encode(), *numbers)
        request += b"".join(struct.pack("<i", array.nbytes) + array.tobytes() for array in arrays)
        status, result = self._ask(request, output.nbytes + sums.nbytes)
        if status:
            raise HarnessError(f"status {status}")
        sums[...] = np.frombuffer(result[output.nbytes :].tobytes(), np.int32)
        return result[: output.nbytes]

    def job(self, words: list[int], pointers: dict[int, int], arrays: list[Bytes]) -> tuple[int, Bytes]:
        """Run one NE16 job; `pointers` tells which array a word is an offset into. Status and the last array."""
        table = [pointers.get(word, -1) for word in range(6)]
        request = struct.pack("<i24I6ii", JOB, *(word & 0xFFFFFFFF for word in words), *table, len(arrays))
        request += b"".join(struct.pack("<i", array.nbytes) + array.tobytes() for array in arrays)
        return self._ask(request, arrays[-1].nbytes)

    def copy(self, copy: Copy, external: Bytes, local: Bytes) -> Bytes:
        """Copy from `external` into L1, or what `local` holds out of it; the array that was written, afterwards."""
        strides = (*copy.external_strides, *copy.local_strides)
        request = struct.pack("<ii7I", COPY, copy.into, *copy.shape, *strides)
        request += b"".join(struct.pack("<i", array.nbytes) + array.tobytes() for array in (external, local))
        status, result = self._ask(request, (local if copy.into else external).nbytes)
        if status:
            raise HarnessError(f"status {status}")
        return result

    def close(self) -> None:
        """End the program."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None
