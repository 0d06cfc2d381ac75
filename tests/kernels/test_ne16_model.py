"""NE16's model on jobs written here, register by register from its public map: no driver has a part in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.kernels.harness import Bytes, Harness
from tests.kernels.reference import Geometry, Ints, conv2d, depthwise_conv2d

pytestmark = pytest.mark.cc

COMPUTE = -4
MODE_3X3, MODE_DEPTHWISE, MODE_1X1 = 0, 1, 2
BITS_8, BITS_16, BITS_32 = 0, 1, 2


def planes(weights: npt.NDArray[np.int64], bits: int) -> Bytes:
    """Unsigned weights (rows, positions, channels): row, group of 16 channels, bit, position, two bytes of channels."""
    rows, positions, channels = weights.shape
    packed = np.zeros((rows, -(-channels // 16), bits, positions, 2), np.uint8)
    for row, position, channel in np.ndindex(rows, positions, channels):
        for bit in range(bits):
            one = int(weights[row, position, channel]) >> bit & 1
            packed[row, channel // 16, bit, position, channel % 16 // 8] |= one << channel % 8
    return packed.reshape(-1)


def rest(total: int, size: int) -> int:
    """Size of the last piece."""
    return (total - 1) % size + 1


@dataclass
class Job:
    """A job on dense tensors and everything that configures it; `words` are its registers."""

    mode: int
    channels_in: int
    channels_out: int
    output: tuple[int, int]
    weight_bits: int = 8
    weight_offset: int = -128
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)  # top, left, bottom, right
    pad_value: int = 0
    mask: tuple[int, int, int, int] = (0, 0, 0, 0)  # top, right, bottom, left
    strided: bool = False
    output_bits: int = BITS_8
    norm_quant: bool = True
    scale_bits: int = BITS_32
    channel_shift: bool = True
    bias: bool = True
    relu: bool = True
    shift: int = 0
    change: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def side(self) -> int:
        return 1 if self.mode == MODE_1X1 else 3

    @property
    def input(self) -> tuple[int, int]:
        """Rows and columns of the input without its padding."""
        top, left, bottom, right = self.pad
        return self.output[0] + self.side - 1 - top - bottom, self.output[1] + self.side - 1 - left - right

    def words(self) -> list[int]:
        """Words 0 to 23 of the job; the pointers are offsets into their arrays."""
        groups = -(-self.channels_in // 16)
        block = 16 if self.mode == MODE_DEPTHWISE else 32
        plane = self.side * self.side * 2
        rows_rest, columns_rest = rest(self.output[0], 3), rest(self.output[1], 3)
        top, left, bottom, right = self.pad
        # The far padding is counted from the end of the 5-pixel buffer.
        bottom += 3 - rows_rest if bottom else 0
        right += 3 - columns_rest if right else 0
        out_bytes = 4 if self.output_bits == BITS_32 else 1
        halving = 2 if self.strided else 1
        words = [
            0,
            -(top * self.input[1] + left) * self.channels_in,
            0,
            0,
            0,
            0,
            self.channels_in,
            self.input[1] * self.channels_in,
            0,
            32,
            self.channels_out * out_bytes // halving,
            (self.output[1] + halving - 1) // halving * self.channels_out * out_bytes // halving,
            {MODE_3X3: plane, MODE_DEPTHWISE: plane, MODE_1X1: plane * self.weight_bits}[self.mode],
            {MODE_3X3: 1, MODE_DEPTHWISE: 0, MODE_1X1: 1}[self.mode] * plane * self.weight_bits * groups,
            0,
            rest(self.channels_out, block) << 16 | rest(self.channels_in, 16),
            rows_rest << 16 | columns_rest,
            (rows_rest + self.side - 1) << 16 | (columns_rest + self.side - 1),
            -(-self.channels_out // block) << 16 | groups,
            -(-self.output[0] // 3) << 16 | -(-self.output[1] // 3),
            top << 28 | right << 24 | bottom << 20 | left << 16 | self.pad_value,
            self.weight_offset,
            self.mask[0] << 24 | self.mask[1] << 16 | self.mask[2] << 8 | self.mask[3],
            (self.weight_bits - 1)
            | self.norm_quant << 4
            | self.mode << 5
            | self.strided << 8
            | self.scale_bits << 12
            | 1 << 15
            | self.shift << 16
            | self.output_bits << 21
            | (not self.relu) << 23
            | self.channel_shift << 24
            | self.bias << 25,
        ]
        return [self.change.get(index, word) for index, word in enumerate(words)]


class Tensors:
    """Random tensors for a job, and the accumulators it must arrive at."""

    def __init__(self, job: Job, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        depthwise = job.mode == MODE_DEPTHWISE
        self.x = rng.integers(0, 256, (*job.input, job.channels_in), np.uint8)
        inner = 1 if depthwise else job.channels_in
        unsigned = rng.integers(0, 1 << job.weight_bits, (job.channels_out, job.side, job.side, inner))
        weights = unsigned + job.weight_offset
        top, right, bottom, left = job.mask
        weights[:, :top] = weights[:, job.side - bottom :] = 0
        weights[:, :, :left] = weights[:, :, job.side - right :] = 0
        geometry = Geometry(
            job.channels_in, job.channels_out, job.output, (job.side, job.side), (1, 1), (1, 1), job.pad, (0, 0)
        )
        rows = unsigned.reshape(job.channels_out, job.side**2, inner)
        self.acc: Ints
        if depthwise:
            self.acc = depthwise_conv2d(self.x, weights[..., 0], geometry, job.pad_value)
            self.weights = planes(rows[:, :, 0].T[None], job.weight_bits)
        else:
            self.acc = conv2d(self.x, weights, geometry, job.pad_value)
            self.weights = planes(rows, job.weight_bits)
        self.scale = rng.integers(1, 200, job.channels_out)
        self.bias = rng.integers(-(2**24), 2**24, job.channels_out)
        self.shifts = rng.integers(10, 20, job.channels_out)


def run(harness: Harness, job: Job, tensors: Tensors, output: Bytes) -> tuple[int, Bytes]:
    """Execute a job; status and output."""
    arrays = [
        tensors.weights,
        tensors.x.reshape(-1),
        tensors.scale.astype(("<u1", "<u2", "<u4")[job.scale_bits]).view(np.uint8),
        tensors.shifts.astype(np.uint8),
        tensors.bias.astype("<i4").view(np.uint8),
        output,
    ]
    return harness.job(job.words(), {0: 0, 1: 1, 2: 5, 3: 2, 4: 3, 5: 4}, arrays)


def requantized(job: Job, tensors: Tensors) -> Ints:
    """What norm-quant makes of the accumulators, before clipping."""
    total = tensors.acc * tensors.scale + (tensors.bias if job.bias else 0)
    return total >> (tensors.shifts if job.channel_shift else job.shift)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Any job with 8-bit outputs at stride 1."""
    mode = draw(st.sampled_from([MODE_3X3, MODE_DEPTHWISE, MODE_1X1]))
    side = 1 if mode == MODE_1X1 else 3
    channels = draw(st.integers(1, 40))
    bits = draw(st.integers(2, 8))
    edge = st.integers(0, 1 if side == 3 else 0)
    return Job(
        mode,
        channels,
        channels if mode == MODE_DEPTHWISE else draw(st.integers(1, 70)),
        (draw(st.integers(1, 7)), draw(st.integers(1, 7))),
        weight_bits=bits,
        weight_offset=draw(st.sampled_from([0, -(1 << bits - 1), 3])),
        pad=draw(st.tuples(edge, edge, edge, edge)),
        pad_value=draw(st.integers(0, 255)),
        mask=draw(st.tuples(edge, edge, edge, edge)),
        scale_bits=draw(st.sampled_from([BITS_8, BITS_16, BITS_32])),
        channel_shift=draw(st.booleans()),
        bias=draw(st.booleans()),
        relu=draw(st.booleans()),
        shift=draw(st.integers(8, 24)),
    )


@settings(max_examples=80)
@given(jobs(), st.integers(0, 2**32 - 1))
def test_job(harness: Harness, job: Job, seed: int) -> None:
    assume(min(job.input) >= 1)
    tensors = Tensors(job, seed)
    status, output = run(harness, job, tensors, np.zeros(tensors.acc.size, np.uint8))
    low, high = (0, 255) if job.relu else (-128, 127)
    expected = np.clip(requantized(job, tensors), low, high).astype(np.uint8)
    assert status == 0
    np.testing.assert_array_equal(output.reshape(expected.shape), expected)


@pytest.mark.parametrize("mode", [MODE_3X3, MODE_DEPTHWISE, MODE_1X1])
@pytest.mark.parametrize("norm_quant", [False, True])
def test_32_bit_output(harness: Harness, mode: int, norm_quant: bool) -> None:
    job = Job(mode, 37, 37, (5, 4), output_bits=BITS_32, norm_quant=norm_quant, relu=False)
    tensors = Tensors(job)
    status, output = run(harness, job, tensors, np.zeros(tensors.acc.size * 4, np.uint8))
    expected = requantized(job, tensors) if norm_quant else tensors.acc
    assert status == 0
    np.testing.assert_array_equal(output.view("<i4").reshape(expected.shape), expected)


@pytest.mark.parametrize("mode", [MODE_3X3, MODE_DEPTHWISE])
def test_strided_job_keeps_every_other_pixel(harness: Harness, mode: int) -> None:
    job = Job(mode, 6, 6, (3, 3), strided=True)
    tensors = Tensors(job)
    status, output = run(harness, job, tensors, np.zeros(2 * 2 * 6, np.uint8))
    assert status == 0
    expected = np.clip(requantized(job, tensors), 0, 255)[::2, ::2]
    np.testing.assert_array_equal(output.reshape(2, 2, 6), expected)


@pytest.mark.parametrize(
    "change",
    [
        {23: 1 << 3},  # 16-bit activations
        {23: 1 << 7 | 2 << 5},  # linear mode
        {23: 1 << 14},  # stream-in
        {23: 3 << 5},  # no such mode
        {23: 1 << 21},  # 16-bit outputs
        {23: 3 << 12},  # no such scale
        {15: 0},  # empty remainders
        {16: 4 << 16 | 1},  # a sub-tile too large
        {1: 0x7000_0000},  # input outside L1
        {2: 0x7000_0000},  # output outside L1
    ],
)
def test_jobs_that_are_refused(harness: Harness, change: dict[int, int]) -> None:
    job = Job(MODE_3X3, 8, 8, (3, 3), change=change)
    tensors = Tensors(job)
    status, output = run(harness, job, tensors, np.zeros(tensors.acc.size, np.uint8))
    assert status == COMPUTE
    assert not output.any()
