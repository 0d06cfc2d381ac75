"""Constants as kernels read them that keep to kernels/include/match_tile.h: forms of requantization, and bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from match.ir.attributes import ChannelGroups
from match.ir.constants import (
    Addends,
    Cells,
    ChannelEntries,
    Data,
    Entries,
    Filters,
    LayerConstants,
    Normalization,
    Positions,
    ZeroPoints,
)
from match.ir.exception_lists import exception_lists
from match.ir.float_average import FloatAverage
from match.ir.float_border import FloatQuantization, can_be_packed
from match.ir.layer import Dim, Layer, Op
from match.ir.requantization import OUTPUT_SHIFT, ROW_SHIFT, UNREACHED, WORD, Products, Requantization, Requantizer

REQUANT = np.dtype([("bias", "<i8"), ("multiplier", "<i4"), ("shift", "<i4")])
REQUANT_SIGNED = np.dtype([*REQUANT.descr, ("negative_below", "<i4"), ("reserved", "<i4")])
REQUANT32 = np.dtype([("bias", "<i4"), ("multiplier", "<i4"), ("shift", "<i4")])
REQUANT_HIGH = np.dtype([("addend", "<i4"), ("multiplier", "<u4"), ("bias", "<i4")])
REQUANT_SPLIT = np.dtype([("addend", "<i4"), ("largest", "<i4"), ("low", "<u4"), ("bias", "<u4"), ("high", "<u4")])
REQUANT_SPLIT_SIGNED = np.dtype([*REQUANT_SPLIT.descr, ("negative_below", "<i4"), ("negative_word", "<u4")])
REQUANT_ADD = np.dtype(
    [
        ("bias", "<i8"),
        ("input_multiplier", "<i4"),
        ("addend_multiplier", "<i4"),
        ("shift", "<i4"),
        ("reserved", "<i4"),
    ]
)
REQUANT_ADD32 = np.dtype([("bias", "<i4"), ("input_multiplier", "<i4"), ("addend_multiplier", "<i4"), ("shift", "<i4")])
REQUANT_ADD_SPLIT = np.dtype([("split", REQUANT_SPLIT), ("input_multiplier", "<i4"), ("addend_multiplier", "<i4")])
QUANTIZE = np.dtype(
    [("multiplier", "<i4"), ("exponent", "<i4"), ("zero", "<i4"), ("lowest", "<i4"), ("steps", "<i4", 256)]
)
BETWEEN = np.dtype([("below", "<u2"), ("above", "<u2"), ("weight", "<i4")])

EXPONENT_BIAS, MANTISSA_BITS = 127, 15
"""The exponent's bias in a float32, and how many bits after the leading one kernels multiply."""


def _alignment(structure: np.dtype[np.void]) -> int:
    """The alignment of a structure in C, in bytes."""
    return np.dtype(structure.descr, align=True).alignment


INT64 = Requantizer(
    name="int64",
    multiplier_bits=32,
    signed_multiplier=True,
    sum_bits=64,
    bias_bits=64,
    shift=(0, 63),
    per_channel_shift=True,
    negative_step=False,
    parameter_bytes=REQUANT.itemsize,
    parameter_alignment=_alignment(REQUANT),
)
"""The form of kernels that read match_requant_t."""

INT64_SIGNED = replace(INT64, name="int64_signed", negative_step=True, parameter_bytes=REQUANT_SIGNED.itemsize)
"""The form of kernels that read match_requant_signed_t where the tile has a `negative_step`."""

EXCEPTIONS = 1 << 14
"""Words that a layer can have for its exceptions, which lie in the innermost memory with each block of constants."""

INT64_EXCEPT = replace(INT64, name="int64_except", exceptions=EXCEPTIONS)
"""The same with exceptions."""

INT32 = replace(
    INT64,
    name="int32",
    sum_bits=32,
    bias_bits=32,
    shift=(0, 31),
    parameter_bytes=REQUANT32.itemsize,
    parameter_alignment=_alignment(REQUANT32),
)
"""The form of kernels that read match_requant32_t."""

HIGH = replace(
    INT64,
    name="high",
    signed_multiplier=False,
    shift=(32, 63),
    parameter_bytes=REQUANT_HIGH.itemsize,
    parameter_alignment=_alignment(REQUANT_HIGH),
    products=Products.UPPER,
)
"""The form of kernels that read match_requant_high_t."""

ROWS = replace(INT32, name="rows", products=Products.ROWS)
"""The form of kernels of products that read match_requant32_t and make a line for each byte of the second input.

Its multiplier has bits below the shift, `ROW_SHIFT` of them.
"""

SPLIT = replace(
    INT64,
    name="split",
    signed_multiplier=False,
    shift=(OUTPUT_SHIFT, OUTPUT_SHIFT + 31),
    parameter_bytes=REQUANT_SPLIT.itemsize,
    parameter_alignment=_alignment(REQUANT_SPLIT),
    products=Products.SPLIT,
    lowest=0,
)
"""The form of kernels that read match_requant_split_t."""

SPLIT_SIGNED = replace(SPLIT, name="split_signed", negative_step=True, parameter_bytes=REQUANT_SPLIT_SIGNED.itemsize)
"""The form of kernels that read match_requant_split_signed_t where the tile has a `negative_step`."""

SPLIT_EXCEPT = replace(SPLIT, name="split_except", exceptions=EXCEPTIONS)
"""The form of kernels that read match_requant_split_t and a list of exceptions."""

Spans = Mapping[Dim, tuple[int, int]]


def parameter_bytes(layer: Layer, requantizer: Requantizer | None) -> int:
    """Bytes of a channel's parameters, or of those of an addition; 0 where nothing requantizes."""
    if requantizer is None:
        return 0
    return _addition(requantizer).itemsize if layer.op is Op.ADD else requantizer.parameter_bytes


def listed_exceptions(layer: Layer, requantizer: Requantizer) -> float:
    """Mean number of exceptions of an output channel; the channels of an operator of two inputs have the same ones."""
    return requantizer.listed / (1 if layer.two_inputs else layer.output_channels)


def output_spans(layer: Layer, spans: Spans) -> Spans:
    """Spans whose K are output channels, from those of a layer's dimensions, whose K may be groups of them."""
    (start, extent), outputs = spans[Dim.K], layer.get(ChannelGroups).outputs
    return {**spans, Dim.K: (start * outputs, extent * outputs)}


def pack(constants: LayerConstants, requantizer: Requantizer | None, spans: Spans) -> tuple[bytes, ...]:
    """The components of `standard_operands`: filters, parameters, exceptions, tables, and so on, if there are any.

    `spans` are of output channels.
    """
    parameters: tuple[bytes, ...] = ()
    if requantizer is not None:
        parameters = requantization(constants, requantizer, spans), *exceptions(constants, requantizer, spans)
    match constants.data:
        case Filters(values):
            return rows(values, spans), *parameters
        case None | Addends():
            return parameters
        case data:
            return *parameters, *_packed(data, spans)


def _packed(data: Data, spans: Spans) -> tuple[bytes, ...]:
    """What kernels read beside filters and parameters."""
    match data:
        case Entries(entries):
            return (entries.tobytes(),)
        case ChannelEntries(entries):
            return (channels(entries, spans).tobytes(),)
        case Cells(layer, units):
            return channels(units, spans).tobytes(), layer.entries.tobytes()
        case ZeroPoints():
            return (np.array(data, "<i4").tobytes(),)
        case Positions():
            return tuple(map(between, data))
        case Normalization():
            return (normalization(data),)
        case FloatQuantization():
            return (quantization(data),)
        case FloatAverage():
            return (float_average(data),)
        case Filters() | Addends():
            return ()


def normalization(normalize: Normalization) -> bytes:
    """match_normalize_t."""
    centre = -1 if normalize.centre is None else normalize.centre
    numbers = np.array(normalize.spread, "<i8"), np.array(centre, "<i4"), normalize.gains.astype("<i2")
    return b"".join(part.tobytes() for part in numbers)


def between(positions: npt.NDArray[np.int32]) -> bytes:
    """An array of match_between_t."""
    entries = np.zeros(len(positions), BETWEEN)
    entries["below"], entries["above"], entries["weight"] = positions.T
    return entries.tobytes()


def quantization(quantize: FloatQuantization) -> bytes:
    """match_quantize_t. Its multiplier is the inverse of the scale by a power of two, cut off to 15 bits."""
    mantissa, exponent = math.frexp(float(quantize.scale))
    multiplier, power = (1 << 14, 13 + exponent) if mantissa == 0.5 else (int(2**14 / mantissa), 14 + exponent)
    if not can_be_packed(float(quantize.scale)):
        raise ValueError(f"a scale of {quantize.scale} cannot be packed")
    entry = np.zeros(1, QUANTIZE)
    entry["multiplier"], entry["exponent"] = multiplier, EXPONENT_BIAS + MANTISSA_BITS + power
    entry["zero"], entry["lowest"] = quantize.zero_point - quantize.lowest, quantize.lowest
    entry["steps"][0, :-1], entry["steps"][0, -1] = quantize.steps, np.iinfo(np.int32).max
    return entry.tobytes()


def float_average(average: FloatAverage) -> bytes:
    """match_float_average_t."""
    line = average.multiplier, average.bias, average.shift, average.near, average.zero
    return np.array(line, "<i4").tobytes() + average.numbers.tobytes() + quantization(average.function)


def rows(weights: npt.NDArray[np.int8], spans: Spans) -> bytes:
    """The filters of a range of output channels and one of input channels, (K, FY, FX, C).

    Channelwise filters have C = 1.
    """
    start, extent = spans[Dim.C]
    return channels(weights, spans)[..., start : start + extent].tobytes()


def columns(weights: npt.NDArray[np.int8], spans: Spans, word: int = 4) -> bytes:
    """The same by columns, (K, FX, FY, C), zeros after each filter up to a multiple of `word` bytes."""
    start, extent = spans[Dim.C]
    part = channels(weights, spans)[..., start : start + extent].transpose(0, 2, 1, 3)
    filters = part.reshape(len(part), -1)
    return np.pad(filters, ((0, 0), (0, -filters.shape[1] % word))).tobytes()


def requantization(constants: LayerConstants, requantizer: Requantizer, spans: Spans) -> bytes:
    """The structure that match_tile.h has for the form: one of two inputs, else one for each output channel."""
    parameters = parameters_of(constants)
    if addends := constants.get(Addends):
        entry = np.zeros(1, _addition(requantizer))
        factors = np.array(addends)
        if requantizer.products is Products.SPLIT:
            entry["split"] = np.frombuffer(_split(parameters, requantizer), REQUANT_SPLIT)
        else:
            entry["bias"], entry["shift"] = parameters.bias, parameters.shift
            # That of their sum is 1 in the network, but in a form what fitting makes of it: 0 for a constant output.
            factors = factors * parameters.multiplier
        entry["input_multiplier"], entry["addend_multiplier"] = factors
        return entry.tobytes()
    start, extent = spans[Dim.K]
    part = parameters if parameters.channels == 1 else parameters.take(np.arange(start, start + extent))
    match requantizer.products:
        case Products.WHOLE:
            return _whole_products(part, requantizer)
        case Products.ROWS:
            whole = replace(part, bias=part.bias >> ROW_SHIFT, shift=part.shift - ROW_SHIFT)
            return _whole_products(whole, requantizer)
        case Products.UPPER:
            return _upper_halves(part)
        case Products.SPLIT:
            return _split(part, requantizer)


def _addition(requantizer: Requantizer) -> np.dtype[np.void]:
    """The type of the one entry of parameters that an addition has."""
    if requantizer.products is Products.SPLIT:
        return REQUANT_ADD_SPLIT
    return REQUANT_ADD if requantizer.bias_bits > 32 else REQUANT_ADD32


def exceptions(constants: LayerConstants, requantizer: Requantizer, spans: Spans) -> tuple[bytes, ...]:
    """Where the exceptions of each of these output channels begin, and the layer's exceptions; of forms with some.

    Behind the exceptions there are zeros, up to as many words as the form has.
    """
    if not requantizer.exceptions:
        return ()
    lists = exception_lists(parameters_of(constants))
    begins = lists.begins if len(lists.begins) == 1 else channels(lists.begins, spans)
    words = np.pad(lists.words, (0, requantizer.exceptions - len(lists.words)))
    return begins.astype("<u2").tobytes(), words.astype("<i4").tobytes()


def _whole_products(part: Requantization, requantizer: Requantizer) -> bytes:
    """An array of match_requant_t, match_requant_signed_t or match_requant32_t."""
    plain = REQUANT if requantizer.bias_bits > 32 else REQUANT32
    entries = np.zeros(part.channels, REQUANT_SIGNED if requantizer.negative_step else plain)
    entries["bias"] = part.bias
    entries["multiplier"] = part.multiplier
    entries["shift"] = part.shift
    if requantizer.negative_step and part.negative_below is not None:
        entries["negative_below"] = part.negative_below
    return entries.tobytes()


def _upper_halves(part: Requantization) -> bytes:
    """An array of match_requant_high_t."""
    if part.addend is None:
        raise ValueError("this requantization has no addends")
    entries = np.zeros(part.channels, REQUANT_HIGH)
    entries["addend"] = part.addend
    entries["multiplier"] = part.multiplier
    entries["bias"] = part.word
    return entries.tobytes()


def _split(part: Requantization, requantizer: Requantizer) -> bytes:
    """An array of match_requant_split_t or match_requant_split_signed_t.

    A channel with M = 0 has one output, that of its clipped accumulator 1. Of a channel whose halves go to even outputs
    the lower half wraps: what is left of it has 31 bits below the bit that says whether an output is odd, and that bit.
    """
    if part.addend is None or part.largest is None:
        raise ValueError("this requantization does not clip its accumulators")
    entries = np.zeros(part.channels, REQUANT_SPLIT_SIGNED if requantizer.negative_step else REQUANT_SPLIT)
    shift = part.shift - OUTPUT_SHIFT
    entries["addend"], entries["largest"] = part.addend, part.largest
    constant = part.multiplier == 0
    entries["low"] = part.multiplier & ((1 << shift) - 1)
    entries["high"] = np.where(constant, part.bias, part.multiplier >> shift)
    entries["bias"] = np.where(constant, 0, part.bias - part.addend * part.multiplier)
    if part.ties_to_even is not None:
        ties = part.ties_to_even
        odd = np.int64(1) << WORD - 1 - part.shift[ties]
        entries["low"][ties], entries["high"][ties] = odd, np.int64(1) << OUTPUT_SHIFT - part.shift[ties]
        entries["bias"][ties] = (1 << WORD - 1) + odd + WORD - 1 - OUTPUT_SHIFT + part.shift[ties]
    if requantizer.negative_step and part.negative_below is not None and part.negative_step is not None:
        reached = part.negative_below != UNREACHED
        entries["negative_below"] = np.where(reached, part.negative_below + part.addend, 0)
        entries["negative_word"] = np.where(reached, -(part.negative_step >> shift), 0) & ((1 << WORD) - 1)
    return entries.tobytes()


def channels(arrays: npt.NDArray[Any], spans: Spans) -> npt.NDArray[Any]:
    """The filters, or tables, of a range of output channels."""
    start, extent = spans[Dim.K]
    return arrays[start : start + extent]


def parameters_of(constants: LayerConstants) -> Requantization:
    """The layer's requantization, which must be there."""
    if constants.requantization is None:
        raise ValueError("this layer has no requantization to pack")
    return constants.requantization
