"""Requantization in integers: ``clip((acc * M + B) >> S)`` per output channel, and what a module can do of it.

Every quantized layer ends in a monotone step function from its int32 accumulator to 8 bits. `Requantization` writes
that function with integers alone; `Requantizer` describes the forms a hardware module offers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

UNREACHED = int(np.iinfo(np.int32).min)
"""An entry of `negative_below` or `exceptions` that no accumulator meets: for channels that need none."""

WORD = 32
"""Bits of the lower half of a product."""

ROW_SHIFT = 16
"""Right shift of the slopes of forms that have a line for each byte of the second input."""

OUTPUT_SHIFT = 24
"""Right shift from a word to an output in forms that split multipliers: the output is the word's highest 8 bits."""


@dataclass(frozen=True, eq=False)
class Requantization:
    """``y = clip((acc * multiplier + bias - (acc < negative_below) * negative_step) >> shift, *clip)``.

    `multiplier`, `bias`, `shift`, `negative_below` and `negative_step` are int64 arrays of shape (channels,); `>>`
    floors. The sum is below 2**63 in magnitude for every accumulator the layer can reach.

    `negative_step` is taken off for the accumulators less than `negative_below`. So gemmlowp's double rounding, which
    rounds halves of negative values away from zero, needs no branch on intermediate results. Both are None where one
    constant rounds both signs right, for example because an activation clamps the negatives away.

    `exceptions`, of shape (channels, n), holds accumulators at which the result of the shift is one less than the line
    says (before the clip); unused entries are `UNREACHED`. Where a reference rounds in floating point, a line
    meets it everywhere but there.

    `addend`, of shape (channels,), says how a form that adds it to the accumulator splits the line's bias: `bias` has
    addend * multiplier in it, and the rest is that form's own. None: the bias is one number.

    `largest`, of shape (channels,), is the upper end to which a form that clips accumulators clips acc + addend, from
    0 on: the first at which the channel has its largest output. None: accumulators are not clipped.

    `ties_to_even`, of shape (channels,), marks channels whose halves go to the even output: B has a half in it, and
    where the sum is just an odd multiple of ``2**shift``, which a half has become, the result is one less. So a
    reference rounds whose scales are powers of two. A marked channel has a shift of at least 1. None: no channel is.
    """

    multiplier: Int64Array
    bias: Int64Array
    shift: Int64Array
    clip: tuple[int, int]
    negative_below: Int64Array | None = None
    negative_step: Int64Array | None = None
    exceptions: Int64Array | None = None
    addend: Int64Array | None = None
    largest: Int64Array | None = None
    ties_to_even: BoolArray | None = None

    @property
    def channels(self) -> int:
        """Number of output channels."""
        return len(self.multiplier)

    @property
    def word(self) -> Int64Array:
        """What a line with addends adds to the upper words of its products, shape (channels,)."""
        if self.addend is None:
            raise ValueError("this line has no addends")
        return (self.bias - self.addend * self.multiplier) >> WORD

    def take(self, channels: npt.NDArray[Any]) -> Requantization:
        """The parameters of some channels, by index or mask."""
        below, step, exceptions = self.negative_below, self.negative_step, self.exceptions
        ties, addend, largest = self.ties_to_even, self.addend, self.largest
        return replace(
            self,
            multiplier=self.multiplier[channels],
            bias=self.bias[channels],
            shift=self.shift[channels],
            negative_below=None if below is None else below[channels],
            negative_step=None if step is None else step[channels],
            exceptions=None if exceptions is None else exceptions[channels],
            ties_to_even=None if ties is None else ties[channels],
            addend=None if addend is None else addend[channels],
            largest=None if largest is None else largest[channels],
        )

    def moved(self, growth: Int64Array) -> Requantization:
        """The same outputs for accumulators that are larger by `growth`, shape (channels,)."""
        below, exceptions = self.negative_below, self.exceptions
        if below is not None:
            below = np.where(below == UNREACHED, UNREACHED, below + growth)
        if exceptions is not None:
            exceptions = np.where(exceptions == UNREACHED, UNREACHED, exceptions + growth[:, None])
        bias = self.bias - growth * self.multiplier
        return replace(self, bias=bias, negative_below=below, exceptions=exceptions, addend=None, largest=None)

    def raised(self, more: int) -> Requantization:
        """The same with outputs that are all larger by `more`."""
        low, high = self.clip
        return replace(self, bias=self.bias + (np.int64(more) << self.shift), clip=(low + more, high + more))

    def clipped(self, low: int, high: int) -> Requantization:
        """The same with outputs that are clipped once more, to `low` .. `high`.

        What is taken off for small accumulators is left out where all these outputs are the lowest one anyway.
        """
        clip = min(max(self.clip[0], low), high), max(min(self.clip[1], high), low)
        narrower = replace(self, clip=clip)
        if self.negative_below is None or np.any(self.multiplier < 0):
            return narrower
        met = self.negative_below != UNREACHED
        largest = ((self.negative_below - 1) * self.multiplier + self.bias) >> self.shift
        idle = not np.any(met & (largest > clip[0]))
        return replace(narrower, negative_below=None, negative_step=None) if idle else narrower

    def __call__(self, accumulator: npt.NDArray[np.integer]) -> Int64Array:
        """Apply to an accumulator of shape (..., channels)."""
        acc = accumulator.astype(np.int64)
        total = acc * self.multiplier + self.bias
        if self.negative_below is not None and self.negative_step is not None:
            total = total - np.where(acc < self.negative_below, self.negative_step, np.int64(0))
        if self.ties_to_even is not None:
            total = total - ties(total, self.shift, self.ties_to_even)
        shifted = total >> self.shift
        if self.exceptions is not None:
            shifted = shifted - (acc[..., None] == self.exceptions).any(axis=-1)
        return np.clip(shifted, *self.clip)


def ties(total: Int64Array, shift: npt.ArrayLike, ties_to_even: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Whether sums (..., channels) of channels that are marked `ties_to_even` are odd multiples of ``2**shift``."""
    one = np.int64(1) << np.asarray(shift, np.int64)
    return np.asarray(ties_to_even) & (total & (2 * one - 1) == one)


class Products(Enum):
    """How a form of requantization multiplies."""

    WHOLE = "whole"
    """``(acc * M + B) >> S`` in one register."""
    UPPER = "upper"
    """By the upper 32 bits of the product, ``(high(acc + b, M) + B) >> s``: see `match.requantize.high_words`."""
    SPLIT = "split"
    """By the two halves of M, with clipped accumulators: see `match.requantize.split`."""
    ROWS = "rows"
    """Of a product of two inputs a line for each byte of the second one: see `match.requantize.rows`."""


@dataclass(frozen=True)
class Requantizer:
    """A form of requantization that a module can execute.

    Attributes:
        name: what reports call it.
        multiplier_bits: widest multiplier, in bits. 0: there is no multiplier, M is 1, and only factors that are
            powers of two can be met.
        signed_multiplier: whether one bit of the multiplier is the sign.
        sum_bits: width of the signed register that holds ``acc * M + B``.
        bias_bits: width of the signed B. 0: there is none, and B is 0.
        shift: smallest and largest right shift.
        per_channel_shift: whether each channel has its own shift.
        negative_step: whether the sign-dependent correction of `Requantization` can be executed.
        exceptions: words that list the exceptions of `Requantization` (match.ir.exception_lists). In a form that a
            module offers they are the most that there can be; in the form of a layer they are as many as the layer
            needs. 0: there are no exceptions.
        listed: exceptions of all channels of a layer; 0 in a form that a module offers.
        parameter_bytes: bytes of parameters that one output channel needs in the module's memory.
        parameter_alignment: a power of two that addresses of parameters are multiples of, as kernels read them;
            blocks in the module's memory are aligned to at least that.
        approximates: whether, with ``numerics="hardware"``, this form is taken for being the module's own where it is
            only close to the layer's arithmetic, although another form may be exact.
        clips: the closed output ranges that the form can clip to; none given: any.
        addend_multipliers: whether the two inputs of an addition have multipliers of their own before they are added.
        products: how it multiplies. With others than whole products the channels have addends.
        lowest: the only lower end of an output range that the form can clip to; None: any.
    """

    name: str
    multiplier_bits: int
    signed_multiplier: bool
    sum_bits: int
    bias_bits: int
    shift: tuple[int, int]
    per_channel_shift: bool
    negative_step: bool
    parameter_bytes: int
    approximates: bool = False
    clips: tuple[tuple[int, int], ...] = ()
    addend_multipliers: bool = True
    products: Products = Products.WHOLE
    lowest: int | None = None
    parameter_alignment: int = 1
    exceptions: int = 0
    listed: int = 0


@dataclass(frozen=True)
class RequantizationFit:
    """How close a module's requantizer comes to the layer's own arithmetic.

    `exact`: equal for every accumulator the layer can reach (proven from the weights). Otherwise `share` is the
    fraction of the accumulators between the clamps whose output differs and `max_step` by how many steps at most.
    """

    exact: bool
    share: float = 0.0
    max_step: int = 0
