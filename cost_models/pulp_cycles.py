"""What the kernels of a PULP cluster take: constants measured or counted, of one core and of what eight lose.

`match.cost_models.pulp_cluster` has the formulas. docs/cost-models.md says where each constant comes from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, Self

from match.cost_models.measured import measured
from match.cost_models.pulp_loops import (
    WORD,
    copied_column,
    crossing,
    pixels_apart,
    step,
    turned_columns,
)
from match.ir.layer import Layer, Op
from match.target.cost import Tile, choose, larger

Form = Literal["int32", "rows", "split", "split_signed", "high", "int64", "sums"]
"""A form of requantization by its name in match/tile_constants.py; int64 stands for int64_signed too, sums for none."""

REQUANTIZATION = {"split": 7.0, "split_signed": 9.0, "high": 10.0, "int64": 35.0}
"""Cycles of match_pulp_requantize for an output by form, for accelerators that leave accumulators.

Measured on RTL: 8 to 32 pixels of 16 and of 32 channels.
"""

LOOKED_UP = 12.0, 8.0
"""Cycles of an output whose accumulator is looked up among exceptions, and of each time that these are halved.

Counted in the compiled code.
"""


def looked_up(listed: float) -> float:
    """Cycles in which an output's accumulator is looked up among `listed` exceptions, those of its channel."""
    once, half = LOOKED_UP
    return once + half * math.log2(max(1, listed)) if listed else 0


LOOKED_UP_ALONE, LOOKED_UP_OF_MATRICES, LOOKED_UP_AVERAGE = 28, 36, 9
"""Cycles that an output takes more where its accumulator is looked up: it is stored to memory and loaded from there.

Of a product in 64 bits: four layers of 128 to 1,152 outputs on RTL, half of their channels or all with exceptions, 26
to 31. Of a product of matrices in any form: six calls of 72 to 544 outputs, 28 to 45. Of average pooling in 64 bits:
three layers of 32 to 128 outputs, 7 to 10.
"""


REQUANTIZATION_CALL = 200
"""A call of it beside its outputs."""

REQUANTIZATION_CHANNEL = 12
"""A channel, whose parameters are loaded for each row of a core's pixels; these are taken to lie in two."""

REQUANTIZATION_EXCEPTIONS = 150, 16, 8.5
"""Cycles that exceptions add to it: the cores wait for each other; a channel, which each core asks; a comparison.

Counted in the compiled code. A layer of ResNet8 with 12 exceptions takes 1,460 cycles more for each part on GVSoC.
"""

PAIR, SINGLE = 19, 15
"""Vectors of two words and more: a pair of pixels or a single one beside their blocks, counted in the assembly."""

BLOCK: dict[str, int] = {"int32": 7, "split": 9, "split_signed": 11}
"""A block of four channels of a pair beside its steps and outputs: addends, the loop, addresses. Of one pixel 1 less,
or 4 with addends."""

OUTPUT: dict[tuple[str, int], float] = {
    ("int32", 2): 5.25,
    ("split", 2): 7,
    ("split_signed", 2): 10,
    ("int32", 1): 6.75,
    ("split", 1): 9,
    ("split_signed", 1): 13,
}
"""One of its outputs by form and pixels: parameters, shared by two pixels, scaling, a quarter of a packed word."""

STRIP_ROW = {(3, 1): 12, (3, 2): 22, (5, 1): 19, (5, 2): 31}
"""A row of a strip of a depthwise convolution, by size of the filter and stride: loads, packs, dot products, moves."""

MANY_ROWS, FEW_ROWS_MOVES = 12, 2
"""The most rows of outputs of a 3x3 filter at stride 1 that are computed by themselves, not by threes, and cycles of
each that moves rows then (match_pulp_depthwise_strips.c)."""

STRIP_OUTPUT: dict[str, int] = {"int32": 4, "split": 7, "split_signed": 11}
"""One of its outputs by form."""

STRIP_WAIT: dict[str, int] = {"split_signed": 1}
"""More of an output of a 3x3 filter, which waits for a constant: there is no register for it."""

SMALL_ROW, SMALL_FOUR, SMALL_OUTPUT = 7, 28, 10
"""A row of a channel that becomes a word, and an output of such rows beside `STRIP_OUTPUT`."""

STRIP_SUM = 2
"""An output whose sum is kept, in other forms."""

MAXIMUM_COLUMNS = 3
"""Columns of a window whose largest bytes are taken together (match_pulp_pool2d.c)."""

MAXIMUM4, MAXIMUM_ROW = 5, (0, 3, 4, 6)
"""Cycles of four channels of such columns, and of a row of them, by columns: loads, maxima, a wait for one."""

SUM4, MANY_SUM4 = 4, 3.5
"""A window's element of four channels in an average: load, shift, two additions; of many without gaps, in pairs."""

MANY = 32
"""So many (match_pulp_pool2d.c)."""

LINES: dict[str, int] = {"int32": 19, "rows": 19, "split": 32, "split_signed": 40}
"""Four elements on lines of their own by form, where an input has one pixel or channel (match_pulp_lines.c)."""

ROUNDED_SLOPES, ROUNDED_BEGIN = 7, -53
"""More for a row in "rows", whose slopes are rounded, than in other forms; for a call, whose form is known."""

LAST_OUTPUT: dict[str, int] = {"int32": 8, "split": 11, "split_signed": 15}
"""An output of the last channels of a dense layer's single row: its sum's begin, parameters, scaling, store."""

LOOKUP_RUN, LOOKUP_BYTES = 3, (0, 5, 6, 9, 12)
"""Cycles of a run of elements that are looked up, with gaps between it and others, and of its bytes: fours, and one to
three behind these, which begin a run of their own (match_pulp_lookup.c)."""

COPIED_RUN, COPIED_BYTES = 3, (0, 2, 4, 6, 2)
"""The same of elements that a table does not change, which are copied."""

MANY_RUNS = 4
"""So many such runs of a core are shared out as a whole."""

ENOUGH_SIGNS = 256
"""Elements of a core for which a lookup looks at its whole table (match_pulp_lookup.c)."""

MATRIX_STEP = step(4, 2) + 2
"""Cycles of a word of a unit of matrices: the products, and the bytes of two rows added up."""

MATRIX_LOADS = 6
"""Words of rows that such a step loads; those of rows that are no whole words lie across borders."""

MATRIX_OUTPUT: dict[str, int] = {"int32": 7, "split": 11, "split_signed": 15}
"""An output of a unit: that of `int32`, and the instructions more of other forms."""

CHANNEL_GROUP = 16
"""Input channels are cut at multiples of this, see `Cluster.tile_multiples`."""


@dataclass(frozen=True)
class KernelCycles:
    """Cycles of one core around the inner loops of kernels/pulp, with data and instructions at hand.

    Fitted by least squares to kernel calls on CV32E40P RTL, unless a field or the comment above it says otherwise:
    ``python -m benchmarks.rtl --fit``. GCC 12, -O2.
    """

    # A kernel call, and what cores share out.
    call: float
    """A kernel call, on each core."""
    group: float
    """A group of a grouped convolution."""
    group_share: float
    """More where cores share out a group, above all divisions. Measured on RTL, one core of eight, not fitted."""

    # Products: convolutions and dense layers.
    product: float
    """The outputs of some pixels: registers are stored before them and loaded behind them."""
    pair: float
    """Two pixels of a product, or its last one, if vectors are no whole words or sums are partial."""
    block: float
    """Four channels of two pixels, or of a last one, beside their steps and outputs."""
    rest: float
    """The last channels of a product, fewer than four."""
    last: float
    """A pixel of the last channels."""
    single: float
    """A block of two channels or of one."""
    other_single: float
    """A block of one channel in memory: of partial sums, and of int64."""
    rare: float
    """A block of four channels in int64."""
    row_of_words: float
    """A dense layer's single row of outputs of whole words, beside its products: in place of `call` and `product`."""

    # Products of vectors that are shorter than a word.
    short: float
    """A pixel."""
    short_block: float
    """A block of four channels, beside bytes and outputs."""
    short_single: float
    """A block of one channel, beside bytes and outputs."""
    short_left: float
    """A block that is left as sums."""
    short_output: float
    """More for an output through memory."""

    # Partial sums.
    sums: float
    """An output that is left as a sum."""
    resumed: float
    """A partial sum that a product begins with, and leaves as a sum again."""
    taken: float
    """A partial sum that a product begins with, and requantizes."""
    taken_alone: float
    """More than `taken` in `split`, where four channels of one pixel are a block."""

    # An output's requantization in a product, by form.
    int32: float
    """In 32 bits; in pooling, too."""
    split: float
    """By halves of the multiplier; in pooling, too."""
    split_signed: float
    """By halves of the multiplier, with a sign."""
    int64: float
    """In 64 bits; in pooling, too."""
    high: float
    """By upper words, of accumulators of many bits, in C. Measured in products, not fitted."""

    # Exceptions. Cycles are measured on RTL, not fitted.
    asked: float
    """A channel, to see whether it has exceptions."""
    exception: float
    """An exception, for each product or column of outputs."""
    compared: float
    """An output that is compared with the exception's output."""
    alike: float
    """The share of outputs that equal the exception's, an estimate: their accumulators are computed again."""
    product_again: float
    """To compute an accumulator of a product again, beside its steps."""
    window_again: float
    """To compute an accumulator of a depthwise convolution again, beside its weights."""
    weight_again: float
    """A weight of such an output."""
    padding_again: float
    """A weight of such an output that padding is multiplied by."""

    # Columns of the input that a convolution lays out.
    line: float
    """A row of outputs."""
    band: float
    """Columns that are laid out at a time."""
    turn: float
    """More for columns of a single channel, which are turned."""
    row: float
    """A row of columns whose pixels have more than four channels."""
    pixel: float
    """A pixel in such a row that is no whole words, beside its pairs of words."""

    # Depthwise convolutions in strips of outputs: two columns of 3x3, one of 5x5.
    strip3: float
    """A strip of 3x3, for all channels, or all inner strips together."""
    strip5: float
    """A strip of 5x5, for all channels."""
    lanes3: float
    """More for a strip of 3x3 that sees other columns than the one before it."""
    channel3: float
    """A channel of a strip of 3x3, beside its rows."""
    next3: float
    """A channel of an inner strip of 3x3 that follows another of its channel."""
    channel5: float
    """A channel of a strip of 5x5, beside its rows."""
    called: float
    """An output in 64 bits or by upper words, which is a call."""
    called5: float
    """More for a column of outputs of 5x5 of these. Thirteen calls on RTL, six of them within 2 %, all within 4 %."""

    # Depthwise convolutions of 5x5 on maps of at most four columns, beside `SMALL_ROW` and `SMALL_OUTPUT`. From
    # six calls on RTL, on one core and on each of eight; 26 others are within 2 %.
    small_map: float
    """A call."""
    small_share: float
    """More where cores share it out, a division above all."""
    small_channel: float
    """A channel."""
    small_column: float
    """A column of outputs of a channel."""

    # The same of five to eight columns, beside `SMALL_FOUR`, too. From calls on RTL.
    words_map: float
    """A call."""
    words_begun: float
    """More for a column of outputs of a call."""
    words_run: float
    """Channels with the same columns of outputs."""
    words_left: float
    """More for columns of outputs of the channels that are left behind those that all cores have."""
    words_channel: float
    """A channel."""
    words_column: float
    """A column of outputs of a channel."""
    words_wide: float
    """More for such a column that sees two words."""

    # Depthwise convolutions of other filters.
    strip_row: float
    """A filter column of a column of outputs."""
    gather: float
    """A byte of a filter column."""
    window: float
    """The calls around a window's products, with its output's requantization, which hardly depends on the form."""

    # Depthwise convolutions whose filter is widened to 3x3 or 5x5. Measured on RTL, not fitted.
    wide: float
    """A call."""
    wide_turned: float
    """More where its row is taken as a column."""
    wide_filter: float
    """A filter that is laid out."""
    wide_weight: float
    """A weight of a filter that is laid out."""
    wide_pixel: float
    """A pixel of a narrow map that is laid out."""
    wide_word: float
    """A word of a pixel that is laid out."""
    phase: float
    """One of the convolutions into which a filter with holes is taken apart, beside its strips."""

    # Pooling. Averages from 57 calls on RTL, within 3 % but for one of nine channels (4 %).
    average_call: float
    """Average pooling beside what follows. 54 calls on RTL are within 5 %, and 30 others but for one of 9 channels."""
    average_row: float
    """A row of outputs that is averaged."""
    average_last: float
    """The last channels of a pixel, which are no four."""
    average_pixel: float
    """A pixel of it."""
    sum_row: float
    """A row of a window, of four channels, that is averaged."""
    sum_many: float
    """More for four channels of a filter of many pixels, and for a row of many."""
    sum_element: float
    """An element of a window where there are fewer than four channels."""
    sum_channel: float
    """More for each of these."""
    averages: float
    """Four channels that are averaged, with their requantization in int32."""
    averages_split: float
    """The same in split."""
    averages_split_signed: float
    """The same in split_signed."""
    averages_apart: float
    """The same by a call for each, where some of the tile's outputs have exceptions."""
    averages_int64: float
    """The same in 64 bits."""
    maximum_row: float
    """A row of outputs that are the largest. With the next ones from 20 calls on RTL."""
    maximum_pixel: float
    """A pixel of it."""
    maximum_call: float
    """Its fours of channels, or the last channels, fewer than four, with the first columns of its window."""
    maximum_part: float
    """Further columns of the window, up to `MAXIMUM_COLUMNS`."""
    maximum_one: float
    """A channel of a pixel of fewer than four."""
    maximum_element: float
    """An element of its window."""
    pool_share: float
    """More where cores share out pixels or channels, a division above all."""

    # Average pooling in float32. From seven calls on RTL (1 to 32 channels, windows of 1 to 16), six within 6 %; of 4x4
    # one sum in 75 was a half, not one in 16.
    float_window: float
    """A window."""
    float_average: float
    """An output of a window."""
    float_element: float
    """An element of an output."""
    float_half: float
    """More for an output that float32 decides, without an FPU."""
    float_sum: float
    """More for an element of such an output."""

    # Additions.
    addition: float
    """The call, without its elements."""
    run: float
    """The start of a run of elements that lie together. Measured apart, not fitted."""
    add: float
    """An element with sums of 32 bits."""
    add_split: float
    """An element with sums that are requantized by halves of a multiplier. From nine calls on RTL, not fitted."""
    add_int64: float
    """An element with sums of 64 bits."""

    # Tables.
    lookup: float
    """An element."""
    lookup_gaps: float
    """More for runs of elements with gaps between them, beside `LOOKUP_RUN` and `LOOKUP_BYTES`.

    With the next ones from 15 concatenations on RTL, on one core and on each of eight."""
    lookup_rest: float
    """More for runs that are no whole fours."""
    lookup_share: float
    """More where cores share out runs with gaps."""
    lookup_fours: float
    """More than that where they share out the fours of few runs, divisions above all."""
    signs: float
    """Reading the whole table of a lookup that turns signs. From nine calls on RTL, within 6 %."""
    sign: float
    """An element of a lookup that turns signs. From the same calls."""
    channel_lookup_pixel: float
    """A pixel of a lookup by channel, beside its elements."""
    channel_lookup: float
    """An element of a lookup by channel."""
    lookup_sum: float
    """An element of a sum of lookups. From nine calls on RTL, within 2 % but for one of 27 elements (12 %)."""
    lookup_line: float
    """An element of lines that another tensor chooses.

    With the next two from seven calls on RTL (256 to 11,520 elements), six within 5 %, one of 13 channels within 9 %.
    """
    same_line: float
    """An element of a run on one line."""
    chosen_line: float
    """More for such a run."""
    absolute_difference: float
    """An element of an absolute difference. Two layers on RTL, of 1,024 and 16,384 elements, are within 5 %."""
    extremum: float
    """An element of a maximum or a minimum: eight instructions for eight of them.

    This and the next three from 57 calls on RTL (1 to 16,384 elements): all of 27 and more elements are within 7 %.
    """
    extremum_call: float
    """A maximum or a minimum beside its elements."""
    extremum_run: float
    """A run behind a gap, in place of `run`."""
    extremum_rest: float
    """More for an element of a run behind its fours."""
    concatenation: float
    """A concatenation beside the lookups of its inputs."""
    copied_apart: float
    """More for a word of elements that are copied, where runs begin inside words: from 11 concatenations on RTL."""
    quantize: float
    """An element of float32 that becomes 8 bits."""
    dequantize: float
    """An element of 8 bits that becomes float32."""
    dequantize_sums: float
    """A sum of 32 bits that becomes float32, without an FPU. Eight layers on RTL are within 9 %."""

    # Multiplications.
    multiply: float
    """An element in int32."""
    multiply_split: float
    """The same in split."""
    multiply_split_signed: float
    """The same in split_signed."""
    multiply_alone: float
    """More in these three forms where elements are computed one by one, as some have exceptions."""
    multiply_int64: float
    """The same in 64 bits."""
    squared_difference: float
    """An element of a squared difference beside its requantization. Counted in the compiled code of RV32IMC."""

    # Additions and multiplications one of whose inputs has one pixel or one channel, beside `LINES`. Measured on RTL,
    # not fitted: 90 calls on one core, 20 on each of eight.
    lines: float
    """The fours of channels of a call, or the last channels, fewer than four."""
    lines_share: float
    """More where cores share these out, divisions above all."""
    lines_part: float
    """A part of a core's share that is not all pixels of a four of channels, or all fours of a pixel."""
    lines_row: float
    """Lines of four channels, or of a pixel."""
    lines_byte: float
    """An element of the last channels in int32."""
    lines_byte_split: float
    """The same in split."""
    lines_byte_split_signed: float
    """The same in split_signed."""

    # Transpositions.
    turned_pixel: float
    """A pixel of a transposition of larger elements than bytes. From eleven layers on RTL."""
    turned_share: float
    """More where cores share out a transposition of bytes, above all divisions.

    Measured on RTL, one core of eight, not fitted.
    """
    turned_row: float
    """A row of a transposition of bytes, beside its fours of pixels."""
    turned_rest: float
    """The last one to three pixels of such a row, beside their bytes."""
    turned_unit: float
    """An element of more than a word. With the next from five layers on RTL (elements of 6 to 40 bytes), within 6 %."""
    turned_word: float
    """A word of such an element."""
    turned_left: float
    """More for one that is no pairs of words, half of it where it is less than a pair."""

    # Gathers. From 36 layers on RTL: of networks, repeated rows and columns of 16 to 1,024 bytes, within 3 %; padding,
    # steps, reversal and single indices, elements of 1 to 280 bytes, within 13 %.
    gathered_run: float
    """A run of columns that are neighbours in the input, too."""
    gathered: float
    """An output column of a run."""
    gathered_apart: float
    """More for a column that is copied by itself."""
    gathered_rest: float
    """A copy of bytes that are no pairs of words."""
    gathered_word: float
    """A word of a column."""

    # Products of two matrices: units of four rows of the second and two of the first.
    matrix_rows: float
    """Four rows of the second matrix that a core sums up, beside their words."""
    matrix_word: float
    """A word of each of these four rows."""
    matrix_unit: float
    """A unit, without steps and outputs."""
    matrix_rest: float
    """More for a unit whose rows are no whole words."""
    matrix_int64: float
    """The requantization of an output in 64 bits."""

    # Softmax. Fitted to eight calls on RTL (2 to 16 rows of 3 to 128).
    softmax_row: float
    """A row, beside its elements."""
    softmax: float
    """An element."""

    # The logarithm of a softmax. From four layers on RTL (4 to 64 rows of 3 to 200), within 2 %.
    logarithm_row: float
    """A row, beside its elements."""
    logarithm: float
    """An element, which becomes float32 in integers."""

    # Normalization. Fitted to three layers on RTL (16 rows of 64, 4 of 256, 64 of 16); how cores share the sums, to two
    # on GVSoC (a row of 64 and one of 256, whose channels cores share out).
    normalized_row: float
    """A row, beside its elements."""
    normalized_sums: float
    """An element of the row's sums."""
    normalized: float
    """An element, beside the sums and its requantization."""

    # LSTM. Fitted to nine layers on RTL (3 to 64 units, 2 to 64 features, one and two sequences), within 2.5 %.
    lstm_step: float
    """A step of a sequence, beside its units."""
    lstm_unit: float
    """A unit in a step, beside the sums of its gates."""
    lstm_sums: float
    """The sums of a unit's gates over the input, or over the states, beside their products."""

    # GRU. Fitted to eleven layers on RTL (3 to 64 units, 2 to 64 features, 1 to 16 steps), within 5 %.
    gru_step: float
    """A step of a sequence, beside its units."""
    gru_unit: float
    """A unit in a step, beside the sums of its gates."""
    gru_sums: float
    """The sums of a unit's gates over the input, or over the states, beside their products."""

    # GRU whose reset gate comes first. Fitted to five layers on RTL (3 to 64 units, 2 to 64 features, 2 to 16 steps),
    # within 1 %.
    reset_first_step: float
    """A step of a sequence, beside its units."""
    reset_first_unit: float
    """A unit in a step, with the sums of its gates over the input."""
    reset_first_back: float
    """A unit from the second step on, beside its products with states."""

    # Resize.
    resized_pixel: float
    """A pixel. Fitted to two layers on GVSoC (16 x 16 pixels of 16 channels, 33 x 33 of 5)."""
    resized: float
    """A channel of a pixel. Counted in the compiled code."""

    @classmethod
    def measured(cls) -> Self:
        """As they were measured."""
        return cls(**measured("kernel"))

    def laid_out(self, layer: Layer, tile: Tile, columns: int, calls: int, beside: bool) -> float:
        """Cycles of columns of the input that are laid out in so many calls (match_pulp_im2col.h).

        `beside` tells whether each column follows the one before it in the input, too.
        """
        copied = columns * copied_column(layer, tile)
        turned = columns // larger(calls, 1) // 4 * calls  # fours of columns
        turns = (tile.c == 1) & beside & (not pixels_apart(layer))
        four = turned_columns(layer.fy, 0.5, crossing(layer.fy))  # columns begin anywhere
        few = turned * four + (columns - 4 * turned) * copied_column(layer, tile)
        few = few + choose(turned > 0, calls * self.turn, 0)
        large = tile.c > WORD
        loose = choose(large & (tile.c % WORD > 0), tile.fy * self.pixel, 0)
        band = self.band + choose(large, tile.fy * self.row, 0)
        cycles: float = calls * band + choose(turns, few, copied) + columns * loose
        return cycles


LARGE = frozenset(
    {
        "pointwise",
        "convolution",
        "depthwise",
        "small_maps",
        "widened",
        "dense",
        "matrices",
        "product_int16",
        "depthwise_int16",
    }
)
"""Kernels, by fields of `Sharing`, whose code takes much of a cache: convolutions and products."""


@dataclass(frozen=True)
class Sharing:
    """What cores lose in a cluster, beside one that has L1 and instructions at hand.

    Fitted by least squares to the cycles of 95 layers of five networks on GVSoC, eight cores (docs/pulp-open.md),
    unless a field says otherwise.
    """

    # Shares of cycles, on eight cores; of fewer cores they are less by the neighbours that are not there.
    waits: float
    """The share of a kernel: banks of L1 that others use, instructions that a core's own cache does not hold, the last
    core to finish."""
    tables: float
    """The share of a byte in lookups, beside `waits`: their loop is at L1 in each cycle, mostly at few words.

    Fitted to 41 concatenations and 30 lookups on GVSoC. Most are layers of DenseNet and MobileNetV3.
    """
    gathered: float
    """The share of depthwise convolutions whose windows are gathered byte by byte, beside `waits`.

    Fitted to twelve layers of 9x1 of a keyword spotting network on GVSoC; twenty of another one are within 3 %.
    """
    arriving: float
    """The share of a transfer of a dense layer's weights, which arrive while all cores read others every second cycle.

    Fitted to the auto-encoder and GhostNet on GVSoC, where nothing of it is left without conflicts over banks.
    """
    recurrent: float
    """The share of an LSTM or a GRU, in place of `waits`: a unit has more instructions than a core's own cache holds.

    Each unit fetches them anew. Fitted with `lstm` to three layers (LSTM, 8, 16 and 40 features, 16, 32 and 64 units);
    GRU layers of these sizes take 2 to 4 % less than predicted. A GRU whose reset gate comes first is two loops that
    caches hold, and has `waits`.
    """
    meeting: float
    """More cycles of a step of a GRU whose reset gate comes first, where all cores meet twice.

    Fitted to the three layers of `recurrent`, within 1 %.
    """

    # Of activations of 16 bits, in place of `waits`. Fitted with their first calls to 45 convolutions, twelve depthwise
    # ones and 28 functions of elements of five networks on GVSoC, one by one.
    waits_int16: float
    """The share of convolutions, dense layers and depthwise convolutions."""
    elements_int16: float
    """The share of functions of elements and softmax: at L1 once in thirty cycles, with loops that caches hold."""

    # Cycles of the first call of a kernel in an offload, whose instructions come from the main memory. Fitted to 800
    # layers of 30 networks on GVSoC, one by one; `widened`, `phase` and `lstm` by themselves.
    pointwise: float
    convolution: float
    depthwise: float
    small_maps: float
    """Depthwise 5x5 on maps of few columns and rows, whose kernel has a third of the code of that for strips.

    From eight layers of MobileNetV3-small on GVSoC.
    """
    widened: float
    """Depthwise filters without loops of their own: their code is more than a shared cache's 4 kB.

    Fitted with `phase` to 24 single layers on GVSoC (1 to 16 phases).
    """
    phase: float
    """More for each convolution without holes into which such a filter is taken apart: it fetches that code again."""
    addition: float
    lines: float
    """Additions and multiplications one of whose inputs has one pixel or one channel."""
    averages: float
    maxima: float
    dense: float
    matrices: float
    lstm: float
    concatenation: float
    moved: float
    """Transpositions, slices and gathers."""
    other: float
    product_int16: float
    """Convolutions and dense layers of int16: windows lie in place, and there is one form of requantization."""
    depthwise_int16: float
    element_int16: float
    """Functions of elements but the addition."""
    again: float
    """The share of the first call that each further call of a kernel takes in the same offload, of those in `LARGE`.

    Kernels in between have displaced it from the cache. Fitted to 40 groups on GVSoC.
    """
    behind: float
    """The same of a call directly behind one of the same kernel, of which only the next tile's transfers are between.

    Fitted to an auto-encoder, a residual network and a temporal convolution on GVSoC, which took half of `again`.
    """

    @classmethod
    def measured(cls) -> Self:
        """As they were fitted."""
        return cls(**measured("sharing"))

    def factor(self, cores: int, waits: str = "waits") -> float:
        """What the cycles of a kernel are multiplied with, by the field that has the share of its waits."""
        share: float = getattr(self, waits)
        return 1 + share * (cores - 1) / 7

    def of_tables(self, cores: int) -> float:
        """What the cycles of a byte that is looked up are multiplied with, beside `factor`."""
        return 1 + self.tables * (cores - 1) / 7

    def of_gathered(self, cores: int) -> float:
        """What the cycles of gathered windows are multiplied with, beside `factor`."""
        return 1 + self.gathered * (cores - 1) / 7

    def transfer(self, cores: int, op: Op) -> float:
        """What the cycles of an operator's transfers are multiplied with."""
        return 1 + (self.arriving * (cores - 1) / 7 if op is Op.DENSE else 0)

    def calls(self, kernels: Sequence[str]) -> list[float]:
        """Cycles in which an offload loads the instructions of each call's kernel, by the fields of first calls."""
        found: list[float] = []
        called: set[str] = set()
        before = ""
        for kernel in kernels:
            first: float = getattr(self, kernel)
            share = 0.0
            if kernel not in called:
                share = 1.0
            elif kernel in LARGE:
                share = self.behind if kernel == before else self.again
            found.append(share * first)
            called.add(kernel)
            before = kernel
        return found

    @staticmethod
    def held(kernels: Sequence[str]) -> list[bool]:
        """Whether caches still hold what each call needs: that of a small kernel called again, behind a small one."""
        before = ["", *kernels]
        return [
            kernel in before[: number + 1] and not LARGE & {kernel, before[number]}
            for number, kernel in enumerate(kernels)
        ]


ALONE = Sharing(*[0] * len(fields(Sharing)))
"""One core, whose instructions are at hand."""
