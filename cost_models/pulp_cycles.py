"""What the kernels of a PULP cluster take: constants measured or counted, of one core and of what eight lose.

`match.cost_models.pulp_cluster` has the formulas. docs/cost-models.md says where each constant comes from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from match.cost_models.pulp_loops import (
    WORD,
    copied_column,
    crossing,
    is_pointwise,
    pixels_apart,
    step,
    turned_columns,
    widened,
)
from match.ir.layer import Layer, Op
from match.target.cost import Tile, choose, larger

Form = Literal["int32", "split", "split_signed", "high", "int64", "sums"]
"""Of requantization, by its name in match/tile_constants.py; int64 stands for int64_signed too, sums for none."""

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
"""Of a 3x3 filter at stride 1: up to so many rows of outputs are computed by themselves, not by threes, and cycles of
each that moves rows then (match_pulp_depthwise_strips.c)."""

STRIP_OUTPUT: dict[str, int] = {"int32": 4, "split": 7}
"""One of its outputs by form."""

STRIP_SUM = 2
"""An output whose sum is kept, in other forms."""

SUM4, MANY_SUM4 = 4, 3.5
"""A window's element of four channels in an average: load, shift, two additions; of many without gaps, in pairs."""

MANY = 32
"""So many (match_pulp_pool2d.c)."""

LAST_OUTPUT: dict[str, int] = {"int32": 8, "split": 11, "split_signed": 15}
"""An output of the last channels of a dense layer's single row: its sum's begin, parameters, scaling, store."""

ENOUGH_SIGNS = 256
"""Elements of a core for which a lookup looks at its whole table (match_pulp_lookup.c)."""

MATRIX_STEP = step(4, 2) + 2
"""Cycles of a word of a unit of matrices: the products, and the bytes of two rows added up."""

CHANNEL_GROUP = 16
"""Input channels are cut at multiples of this, see `Cluster.tile_multiples`."""


@dataclass(frozen=True)
class KernelCycles:
    """Cycles of one core around the inner loops of kernels/pulp, with data and instructions at hand.

    Fitted by least squares to kernel calls on CV32E40P RTL: ``python -m benchmarks.rtl --fit``. GCC 12, -O2.

    call: a kernel call, on each core. group: a group of a grouped convolution. group_share: more where cores share it
    out, divisions above all; measured on RTL, one core of eight, and not fitted.
    product: the outputs of some pixels, whose registers are stored before and loaded behind. pair: two of these pixels,
    or a last one, where vectors are no whole words or sums partial. block: four channels of them beside their steps and
    outputs. rest: the last channels of some pixels, fewer than four. last: a pixel of that. single: a block of two
    channels or one.
    other_single: a block of one channel in memory, of sums and int64. rare: a block of four channels of int64.
    short: a pixel whose vectors are shorter than a word. short_block, short_single: its blocks of four channels and of
    one, beside bytes and outputs. short_left: a block left as sums. short_output: more for an output through memory.
    sums: an output that is left as a sum. resumed, taken: a partial sum that an output goes on from, which is left as
    a sum again, or requantized. taken_alone: more for that in `split`, where four channels of one pixel are a block.
    int32, split, split_signed, int64: an output's requantization in a product; int32, split, int64: in pooling, too.
    high: an output's requantization where accumulators have many bits, in C. It is measured in products, not fitted.
    asked: a channel, to see whether it has exceptions. exception: an exception, for each product or column of outputs.
    compared: an output that is compared with the exception's output. alike: the share of outputs that are equal to it;
    their accumulators are computed again. product_again: this in a product, beside its steps. window_again,
    weight_again: this for a depthwise output, and each of its weights. The cycles are measured on RTL; the share is
    an estimate.
    wide: a depthwise convolution by loops for a wider filter. wide_turned: more where its row is taken as a column.
    wide_filter, wide_weight: a filter that is laid out, and a weight of it. wide_pixel, wide_word: a pixel of a narrow
    map that is laid out, and a word of it. phase: one of the convolutions into which a filter with holes is taken
    apart, beside its strips. All are measured on RTL, not fitted.
    line: a row of outputs of a convolution. band: columns of the input laid out at a time; turn: more for those
    of a single channel, which are turned; row: a row of them where pixels have more than four channels; pixel: one of
    these that is no whole words, beside its pairs of words.
    row_of_words: a dense layer's single row of outputs, of vectors of words, beside its products: call and product.
    strip3, strip5: depthwise in strips of outputs (3x3: two columns, 5x5: one), what all channels of a strip have in
    common, or, of the inner ones of 3x3, all of these. channel3, channel5: a channel of it beside its rows, by filter.
    next3: of an inner strip behind another of its channel. lanes3: more for a strip that sees others than the last one.
    called: an output there in the other forms than int32 and split, a call.
    strip_row, gather: other depthwise, a filter column of a column of outputs; a byte of that. window: the calls around
    the products of one, and its output's requantization, which hardly depends on the form there.
    position: pooling, an output pixel. averages, maxima: four channels of it. sum_row: a row of a window of these.
    maximum4: a window's element of these.
    float_window, float_average, float_element: pooling in float32, a window, an output of it, and an element of that.
    float_half, float_sum: more for an output that float32 decides, and an element of that, without an FPU. From seven
    calls on RTL (1 to 32 channels, windows of 1 to 16), six within 6 %; of 4x4 one sum in 75 was a half, not one in 16.
    multiply, squared_difference: an element beside its requantization; turned_pixel: a pixel of a transposition.
    Counted in the compiled code of RV32IMC, with stalls and taken branches, not fitted.
    turned_unit, turned_word: an element of more than one byte, and a word of it; fitted to three layers on GVSoC
    (elements of 3, 12 and 20 bytes).
    turned_row, turned_rest: a row of a transposition of bytes, beside its fours of pixels, and the last one to three
    pixels of it, beside their bytes. turned_share: more where cores share them out, divisions above all; measured on
    RTL, one core of eight, and not fitted.
    gathered_run, gathered, gathered_word: a run of a gather, an output column of it, a word of that; fitted to ten
    layers on RTL (padding, steps, repetition and reversal, elements of 1 to 240 bytes), within 10 %.
    matrix_rows, matrix_word: products of two matrices. A core sums up four rows of the second matrix: a constant, and
    more for each word of a row. matrix_unit: these four rows times two rows of the first matrix, without steps and
    outputs. matrix_rest: more where rows are no whole words. matrix_int64: the requantization of an output in 64 bits.
    softmax_row, softmax: a row of softmax beside its elements, and an element; fitted to eight calls on RTL (2 to 16
    rows of 3 to 128).
    normalized_row, normalized_sums, normalized: a row of a normalization beside its elements, an element of its sums,
    and an element beside these and its requantization; fitted to three layers on RTL (16 rows of 64, 4 of 256, 64 of
    16), the share of the sums to two on GVSoC (a row of 64 and one of 256, whose channels cores share out).
    lstm_step: a step of a sequence beside its units. lstm_unit: a unit in it beside its sums. lstm_sums: these of its
    gates over the input, or over the states, beside their products. Fitted by least squares to nine layers on RTL (3
    to 64 units, 2 to 64 features, one and two sequences), within 2.5 %. gru_step, gru_unit, gru_sums: the same of a
    GRU, fitted to eleven layers on RTL (3 to 64 units, 2 to 64 features, 1 to 16 steps), within 5 %.
    reset_first_step, reset_first_unit: the same of a GRU whose reset gate comes first, the unit with its sums over the
    input; reset_first_back: what a unit takes from the second step on beside its products with states. Fitted to five
    layers on RTL (3 to 64 units, 2 to 64 features, 2 to 16 steps), within 1 %.
    resized_pixel, resized: a pixel of a resize, fitted to two layers on GVSoC (16 x 16 pixels of 16 channels, 33 x 33
    of 5), and a channel of it, counted in the compiled code.
    channel_lookup_pixel, channel_lookup: a pixel of a lookup by channel beside its elements, and an element.
    concatenation: a concatenation beside the lookups of its inputs, whose shares are found with divisions; fitted on
    GVSoC with `Sharing.tables`.
    lookup_sum: an element of a sum of lookups; from nine calls on RTL, within 2 % but for one of 27 elements (12 %).
    absolute_difference: an element of an absolute difference. Two layers on RTL, of 1,024 and 16,384 elements, are
    within 5 %.
    lookup_line: an element of lines that another tensor chooses; same_line: one of a run on one line, which takes
    chosen_line more. From seven calls on RTL (256 to 11,520 elements), six within 5 %, one of 13 channels within 9 %.
    addition: the call of an addition, without its elements. add, add_int64: an element of an addition, by form.
    lookup, quantize, dequantize: an element. run, lookup_run: the start of each run of elements that lie together, in
    additions and in lookups; measured apart, not fitted. signs: reading the whole table of a lookup that turns signs;
    sign: an element of such a lookup. Both from nine calls on RTL, within 6 %.
    """

    call: float = 172.0
    group: float = 277.7
    group_share: float = 250
    row_of_words: float = 159.6
    product: float = 92.0
    pair: float = 24.5
    block: float = 6.99
    rest: float = 44.4
    last: float = 12.9
    single: float = 21.5
    other_single: float = 141.1
    rare: float = 199
    short: float = 25.4
    short_block: float = 23.3
    short_left: float = 1.53
    short_single: float = 182.5
    short_output: float = 39.7
    sums: float = 3.33
    resumed: float = 1.73
    taken: float = 3.58
    taken_alone: float = 3.26
    int32: float = 6.91
    split: float = 11.1
    split_signed: float = 16.8
    high: float = 11.1
    asked: float = 8
    exception: float = 80
    compared: float = 9
    alike: float = 0.03
    product_again: float = 30
    window_again: float = 95
    weight_again: float = 25
    wide: float = 450
    wide_turned: float = 620
    wide_filter: float = 80
    wide_weight: float = 6
    wide_pixel: float = 60
    wide_word: float = 3
    phase: float = 650
    int64: float = 52.4
    line: float = 250.2
    band: float = 106.4
    turn: float = 61.2
    pixel: float = 15
    row: float = 10.9
    strip3: float = 168.3
    strip5: float = 206.2
    lanes3: float = 156.8
    channel3: float = 56.8
    next3: float = 36.9
    channel5: float = 96.3
    called: float = 55.7
    strip_row: float = 26.2
    gather: float = 11.2
    window: float = 81.8
    position: float = 105.8
    sum_row: float = 11.7
    averages: float = 47.5
    maxima: float = 41.2
    maximum4: float = 8.8
    float_window: float = 143
    float_average: float = 31.5
    float_element: float = 9.5
    float_half: float = 380
    float_sum: float = 101
    addition: float = 175.5
    run: float = 45
    lookup_run: float = 36
    add: float = 6.72
    add_int64: float = 51.2
    lookup: float = 3.08
    signs: float = 346
    sign: float = 0.75
    channel_lookup_pixel: float = 26.8
    channel_lookup: float = 3.92
    lookup_sum: float = 8.85
    lookup_line: float = 8.85
    same_line: float = 4.8
    chosen_line: float = 16
    absolute_difference: float = 21
    concatenation: float = 420
    multiply: float = 13
    squared_difference: float = 17
    turned_pixel: float = 36
    turned_share: float = 86
    turned_row: float = 63.3
    turned_rest: float = 35.4
    turned_unit: float = 22
    turned_word: float = 1
    gathered_run: float = 73.5
    gathered: float = 8.35
    gathered_word: float = 1.75
    matrix_rows: float = 163.5
    matrix_word: float = 23.4
    matrix_unit: float = 60.7
    matrix_rest: float = 97.2
    matrix_int64: float = 24.2
    softmax_row: float = 160
    softmax: float = 49.2
    normalized_row: float = 290
    normalized_sums: float = 9.7
    normalized: float = 20.8
    lstm_step: float = 251
    lstm_unit: float = 154
    lstm_sums: float = 170
    gru_step: float = 260
    gru_unit: float = 200
    gru_sums: float = 67
    reset_first_step: float = 142
    reset_first_unit: float = 199
    reset_first_back: float = 208
    resized_pixel: float = 38
    resized: float = 13
    quantize: float = 24.3
    dequantize: float = 6.59

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


@dataclass(frozen=True)
class Sharing:
    """What cores lose in a cluster, beside one that has L1 and instructions at hand.

    Fitted by least squares to the cycles of 95 layers of five networks on GVSoC, eight cores (docs/pulp-open.md).

    waits: share of a kernel's cycles on eight cores: banks of L1 that others use, instructions that a core's own cache
    does not hold, the last core to finish. Of fewer cores it is less by the neighbours that are not there.
    tables: beside that, share of a byte's cycles in lookups, whose loop is at L1 in each cycle, mostly at a few words
    of the table. Fitted to 24 concatenations and 30 lookups on GVSoC, most of them of DenseNet and MobileNetV3.
    arriving: share of a transfer's cycles that weights of a dense layer take longer to arrive, as all cores read others
    in every second cycle; fitted to the auto-encoder and GhostNet on GVSoC, where nothing of it is left without
    conflicts over banks.
    recurrent: the same of an LSTM, whose unit has more instructions than a core's own cache holds, so that each unit
    fetches them anew. It and the first call of an LSTM are fitted to three layers (8, 16 and 40 features, 16, 32 and
    64 units). Both are taken for a GRU, too: the same three layers of that take 2 to 4 % less than predicted. One
    whose reset gate comes first is two loops that caches hold, and loses no more than other kernels.
    meeting: what a step of that takes more, where all cores meet twice; fitted to the same three layers, within 1 %.
    pointwise, convolution, depthwise, addition, pooling, dense, matrices, lstm, other: the first call of a kernel in an
    offload, whose instructions come from the main memory.
    widened: the same of depthwise filters without loops of their own, whose code is more than a shared cache's 4 kB.
    phase: each convolution without holes that one of these is taken apart into, as it fetches that code again. Both
    from 24 single layers on GVSoC (1 to 16 phases).
    again: how much of that each further call of a convolution takes in the same offload. Its code is large, and kernels
    in between have displaced it from the cache. Fitted to 20 groups on GVSoC.
    """

    waits: float = 0.10
    tables: float = 0.42
    arriving: float = 0.11
    recurrent: float = 0.28
    meeting: float = 380
    pointwise: float = 1650
    convolution: float = 1700
    depthwise: float = 1900
    widened: float = 3800
    phase: float = 510
    addition: float = 1150
    pooling: float = 1000
    dense: float = 200
    matrices: float = 1800
    lstm: float = 1560
    other: float = 660
    again: float = 0.7

    def factor(self, cores: int, op: Op | None = None) -> float:
        """What the cycles of a kernel are multiplied with, that of an operator or any."""
        waits = self.recurrent if op in (Op.LSTM, Op.GRU) else self.waits
        return 1 + waits * (cores - 1) / 7

    def of_tables(self, cores: int) -> float:
        """What the cycles of a byte that is looked up are multiplied with, beside `factor`."""
        return 1 + self.tables * (cores - 1) / 7

    def transfer(self, cores: int, op: Op) -> float:
        """What the cycles of an operator's transfers are multiplied with."""
        return 1 + (self.arriving * (cores - 1) / 7 if op is Op.DENSE else 0)

    def calls(self, operators: Sequence[Layer]) -> float:
        """Cycles that an offload takes to load the instructions of its kernels, operator by operator."""
        total = 0.0
        called: set[str] = set()
        for operator in operators:
            kernel = self._kernel(operator)
            first: float = getattr(self, kernel)
            if kernel not in called:
                total += first
            elif kernel in ("pointwise", "convolution", "depthwise", "widened"):
                total += self.again * first
            called.add(kernel)
        return total

    @staticmethod
    def _kernel(layer: Layer) -> str:
        """The field that has the first call of an operator's kernel."""
        match layer.op:
            case Op.CONV2D | Op.GROUPED_CONV2D:
                return "pointwise" if is_pointwise(layer) else "convolution"
            case Op.DEPTHWISE_CONV2D:
                return "depthwise" if widened(layer) is None else "widened"
            case Op.ADD | Op.MULTIPLY | Op.SQUARED_DIFFERENCE | Op.ABSOLUTE_DIFFERENCE | Op.LOOKUP_SUM | Op.LOOKUP_LINE:
                return "addition"
            case Op.AVG_POOL2D | Op.FLOAT_AVG_POOL2D | Op.MAX_POOL2D:
                return "pooling"
            case Op.DENSE | Op.MATRICES:
                return layer.op.value
            case Op.LSTM | Op.GRU | Op.GRU_RESET_FIRST:
                return "lstm"
            case _:
                return "other"


ALONE = Sharing(*[0] * len(fields(Sharing)))
"""One core, whose instructions are at hand."""
