/* Filters of 3x3 on strips of two columns of outputs: what both see of an input row is one word, or a word and a byte at
 * stride 2. All channels of a strip are computed, then those of the next. Of strips that see no padding beside them, where
 * they are many, those of a channel follow one another, with its constants in registers. */
#include "match_pulp_depthwise.h"
#include "match_pulp_simd.h"

#if defined(MATCH_PULP_INSN)

#include "match_pulp_strip.h"

/* Bytes of a filter. */
enum { FILTER = 9 };

/* Rows of outputs that are worth a loop of three at a time. Without it the instructions of a channel stay in a core's own
 * cache, which counts more where a channel has few rows. */
enum { MANY_ROWS = 12 };

/* What the assembly reads, words by number: the same strips of the channels from `weights` to `weights_end`. */
typedef struct {
    const uint8_t *input; /* 0: its first byte, in the first row inside */
    uint8_t *output;      /* 1: the first right output */
    int32_t to_second;    /* 2: steps from column to column, from the last one to the next row */
    int32_t to_third;
    int32_t to_fourth;
    int32_t to_row;
    int32_t to_left; /* 6: steps from the right output to the left one, from there to the right one of the next row */
    int32_t below;
    const uint8_t *weights; /* 8: the channel's, and its requantization */
    const uint8_t *weights_end;
    const uint8_t *parameters;
    int32_t input_back; /* 11: steps from behind the last strip's end to the next channel */
    int32_t output_back;
    match_bytes4_t left_lanes; /* 13: of a word with 0 and a row of weights those that lie over the columns read */
    match_bytes4_t right_lanes;
    match_bytes4_t left_missing; /* 15: pad values, in such words, for weights that lie over none */
    match_bytes4_t right_missing;
    int32_t border;         /* 17: whether some are missing */
    match_bytes4_t padding; /* 18: a row of it */
    int32_t read;           /* rows before the first output, at stride 1 but for one */
    int32_t ones;           /* 20: rows of outputs inside the input: at stride 1 beside threes of them */
    int32_t threes;
    int32_t below_input; /* 22: rows of outputs that see padding below: one or none */
    int32_t most;        /* the largest output */
    int32_t saved;       /* 24: the compiler's s0 */
    int32_t strips;      /* beside each other, of each channel */
    int32_t input_on;    /* 26: steps from behind a strip's end to the next one beside it */
    int32_t output_on;
    int32_t left; /* 28: strips of the channel left */
    int32_t seen; /* where the columns of outputs lie in those read, which lanes follow from where that is all inside */
    int32_t negative_below; /* 30: see match_requant_split_signed_t */
    uint32_t negative_word;
} strip_t;

bool match_pulp_is_depthwise_3x3(const match_tile_t *tile)
{
    if (!match_is_strip_filter(tile, 3)) {
        return false;
    }
    int32_t stride = tile->stride_y;
    match_strip_rows_t rows = match_strip_rows(tile, 0, tile->output_height, 3, stride);
    if (stride == 1) {
        return rows.below <= 1;
    }
    /* The last output sees at most one row of padding. There are five columns, no left output sees the fifth of those that
     * are read, and no right one the first. */
    int32_t read = rows.row + rows.read + 2 * rows.inside;
    int32_t last = 2 * (tile->output_width - 2) - tile->pad_left;
    return (rows.below == 0 || (rows.below == 1 && read < tile->input_height)) && tile->input_width >= 5 &&
           tile->pad_left <= 1 && last <= tile->input_width - 4;
}

#define BELOW_WORD 30
#define NEGATIVE_WORD 31
#define INPUT "a1"
#define OUTPUT "a2"
#define TO_SECOND "a3"
#define TO_ROW "a4"
#define LEFT_OFFSET "s1"
#define RIGHT_OFFSET "s2"
#define TO_LEFT "s3"
#define BELOW "s4"
#define LEFT0 "s5"
#define LEFT1 "s6"
#define LEFT2 "s7"
#define RIGHT0 "s8"
#define RIGHT1 "s9"
#define RIGHT2 "s10"

#define LOAD_RECORD \
    MATCH_STRIP_LOAD(INPUT, 0) \
    MATCH_STRIP_LOAD(OUTPUT, 1) \
    MATCH_STRIP_LOAD(TO_SECOND, 2) \
    MATCH_STRIP_LOAD(TO_ROW, 5) \
    MATCH_STRIP_LOAD(TO_LEFT, 6) \
    MATCH_STRIP_LOAD(BELOW, 7) \
    MATCH_STRIP_LOAD(MATCH_STRIP_MOST, 23)

/* The channel's constants. Rows of weights lie behind a byte of 0 first, in t5, t6 and t1; what they miss is added up in
 * s11, apart (ADD_MISSING). */
#define LOAD_CHANNEL(PARAMETERS) \
    MATCH_STRIP_LOAD("t3", 8) \
    MATCH_STRIP_LOAD("t4", 10) \
    MATCH_STRIP_LOAD("t0", 25) \
    MATCH_INSN_LOAD4_BY("t5", "t3", 3) \
    MATCH_INSN_LOAD4_BY("t6", "t3", 2) \
    MATCH_INSN_LOAD4("t1", "t3") \
    PARAMETERS("t4", LEFT_OFFSET) \
    "sw t3, 4*8(a0)\n" \
    "sw t4, 4*10(a0)\n" \
    "sw t0, 4*28(a0)\n" \
    MATCH_STRIP_LOAD("t0", 17) \
    MATCH_STRIP_LOAD("t3", 13) \
    MATCH_STRIP_LOAD("t4", 14) \
    "slli t5, t5, 8\n" \
    "slli t6, t6, 8\n" \
    "andi t1, t1, -256\n" \
    MATCH_INSN_LANES(LEFT0, "t5", "t3") \
    MATCH_INSN_LANES(LEFT1, "t6", "t3") \
    MATCH_INSN_LANES(LEFT2, "t1", "t3") \
    MATCH_INSN_LANES(RIGHT0, "t5", "t4") \
    MATCH_INSN_LANES(RIGHT1, "t6", "t4") \
    MATCH_INSN_LANES(RIGHT2, "t1", "t4") \
    "mv " RIGHT_OFFSET ", " LEFT_OFFSET "\n" \
    "bnez t0, 9f\n" \
    "1:\n"
#define ADD_MISSING(ADD) \
    "9:\n" \
    MATCH_STRIP_LOAD("t3", 15) \
    MATCH_STRIP_LOAD("t4", 16) \
    MATCH_INSN_FIRST_DOT4("s11", "t3", "t5") \
    MATCH_INSN_DOT4("s11", "t3", "t6") \
    MATCH_INSN_DOT4("s11", "t3", "t1") \
    ADD(LEFT_OFFSET, "s11") \
    MATCH_INSN_FIRST_DOT4("s11", "t4", "t5") \
    MATCH_INSN_DOT4("s11", "t4", "t6") \
    MATCH_INSN_DOT4("s11", "t4", "t1") \
    ADD(RIGHT_OFFSET, "s11") \
    "j 1b\n"

/* Go on with the next strip of the channel, or with the next channel, if there is one. */
#define NEXT_STRIP \
    MATCH_STRIP_LOAD("t5", 28) \
    MATCH_STRIP_LOAD("t3", 8) \
    MATCH_STRIP_LOAD("t4", 9) \
    "addi t5, t5, -1\n" \
    "sw t5, 4*28(a0)\n" \
    "bnez t5, 11f\n" \
    MATCH_STRIP_LOAD("t5", 11) \
    MATCH_STRIP_LOAD("t6", 12) \
    "add " INPUT ", " INPUT ", t5\n" \
    "add " OUTPUT ", " OUTPUT ", t6\n" \
    "bne t3, t4, 0b\n" \
    "j 8f\n" \
    "11:\n" \
    MATCH_STRIP_LOAD("t5", 26) \
    MATCH_STRIP_LOAD("t6", 27) \
    "add " INPUT ", " INPUT ", t5\n" \
    "add " OUTPUT ", " OUTPUT ", t6\n" \
    "j 10b\n"

/* What becomes of the sums of a row: SCALE begins it, with two other registers, SHIFT and STORE end it. Where a strip has one
 * column, the left output, stored last, is its output. */
#define SCALE_32(to, sum, offset, other, more) MATCH_STRIP_SCALE_32(to, sum, offset, other)
#define SCALE_SPLIT(to, sum, offset, other, more) MATCH_STRIP_SCALE_SPLIT(to, sum, offset, other)
/* As MATCH_STRIP_SCALE_SIGNED with a register less, so that the last multiplication waits a cycle. */
#define SCALE_SIGNED(to, sum, offset, other, more) \
    "add " other ", " sum ", " offset "\n" \
    MATCH_INSN_CLIP(other, other, MATCH_STRIP_LARGEST) \
    MATCH_STRIP_LOAD(more, BELOW_WORD) \
    MATCH_SPLIT_WORD(to, other, MATCH_STRIP_LOW, MATCH_STRIP_BIAS, MATCH_STRIP_HIGH) \
    "slt " other ", " other ", " more "\n" \
    MATCH_STRIP_LOAD(more, NEGATIVE_WORD) \
    MATCH_INSN_MULTIPLY_ADD(to, other, more)
#define SCALE_SUMS(to, sum, offset, other, more) "add " to ", " sum ", " offset "\n"
#define STORE(left, right) \
    MATCH_INSN_STORE_BYTE_STEP(right, OUTPUT, TO_LEFT) \
    MATCH_INSN_STORE_BYTE_STEP(left, OUTPUT, BELOW)
#define STORE_32(left, right) \
    MATCH_STRIP_SHIFT_32(left, LEFT_OFFSET) \
    MATCH_STRIP_SHIFT_32(right, RIGHT_OFFSET) \
    STORE(left, right)
#define STORE_SPLIT(left, right) \
    MATCH_STRIP_SHIFT_SPLIT(left, LEFT_OFFSET) \
    MATCH_STRIP_SHIFT_SPLIT(right, RIGHT_OFFSET) \
    STORE(left, right)
#define STORE_SIGNED(left, right) STORE_SPLIT(left, right)
#define STORE_SUMS(left, right) \
    MATCH_INSN_STORE4(right, OUTPUT) \
    MATCH_INSN_STORE4(left, OUTPUT)

/* The instructions of these. */
#define INSTRUCTIONS_32 8
#define INSTRUCTIONS_SPLIT 14
#define INSTRUCTIONS_SIGNED 22
#define INSTRUCTIONS_SUMS 4

/* Stride 1. */
#define TO_THIRD "ra"
#define TO_FOURTH "t2"
#define ROW_A "s11"
#define ROW_B "t0"
#define ROW_C "t1"

/* 6 instructions. */
#define READ_1(row) \
    MATCH_INSN_LOAD_BYTE_STEP("t3", INPUT, TO_SECOND) \
    MATCH_INSN_LOAD_BYTE_STEP("t4", INPUT, TO_THIRD) \
    MATCH_INSN_LOAD_BYTE_STEP("t5", INPUT, TO_FOURTH) \
    MATCH_INSN_LOAD_BYTE_STEP("t6", INPUT, TO_ROW) \
    MATCH_INSN_PACK_LOW(row, "t4", "t3") \
    MATCH_INSN_PACK_HIGH(row, "t6", "t5")

/* A row of outputs, 6 instructions, those of NEXT, which gets the third row, and those that finish. */
#define STEP_1(form, first, second, third, NEXT) \
    NEXT(third) \
    MATCH_INSN_FIRST_DOT4("t3", first, LEFT0) \
    MATCH_INSN_FIRST_DOT4("t4", first, RIGHT0) \
    MATCH_INSN_DOT4("t3", second, LEFT1) \
    MATCH_INSN_DOT4("t4", second, RIGHT1) \
    MATCH_INSN_DOT4("t3", third, LEFT2) \
    MATCH_INSN_DOT4("t4", third, RIGHT2) \
    SCALE_##form("t3", "t3", LEFT_OFFSET, "t5", "t6") \
    SCALE_##form("t4", "t4", RIGHT_OFFSET, "t6", "t5") \
    STORE_##form("t3", "t4")
#define PADDING(row) MATCH_STRIP_LOAD(row, 18)

/* Rows are read in the place of the oldest ones, three at a time; the first one or two, which make the others threes,
 * move to the register of the one before. The last output may see a row of padding. */
#define STRIP_1(form) \
    MATCH_STRIP_BEGIN \
    "sw s0, 4*24(a0)\n" \
    LOAD_RECORD \
    MATCH_STRIP_LOAD(TO_THIRD, 3) \
    MATCH_STRIP_LOAD(TO_FOURTH, 4) \
    "0:\n" \
    LOAD_CHANNEL(MATCH_STRIP_PARAMETERS_##form) \
    "10:\n" \
    MATCH_STRIP_LOAD("t3", 19) \
    PADDING(ROW_A) \
    "bgtz t3, 7f\n" \
    "bltz t3, 12f\n" \
    "2:\n" \
    READ_1(ROW_B) \
    "3:\n" \
    MATCH_STRIP_LOAD("t3", 20) \
    MATCH_STRIP_LOAD("t4", 21) \
    "beqz t3, 4f\n" \
    MATCH_INSN_LOOP("t3", 14 + INSTRUCTIONS_##form) \
    STEP_1(form, ROW_A, ROW_B, ROW_C, READ_1) \
    "mv " ROW_A ", " ROW_B "\n" \
    "mv " ROW_B ", " ROW_C "\n" \
    MATCH_INSN_LOOP_END \
    MATCH_STRIP_LOAD("t4", 21) \
    "4:\n" \
    MATCH_STRIP_LOAD("t3", 22) \
    "beqz t4, 5f\n" \
    MATCH_INSN_LOOP("t4", 36 + 3 * INSTRUCTIONS_##form) \
    STEP_1(form, ROW_A, ROW_B, ROW_C, READ_1) \
    STEP_1(form, ROW_B, ROW_C, ROW_A, READ_1) \
    STEP_1(form, ROW_C, ROW_A, ROW_B, READ_1) \
    MATCH_INSN_LOOP_END \
    MATCH_STRIP_LOAD("t3", 22) \
    "5:\n" \
    "beqz t3, 6f\n" \
    STEP_1(form, ROW_A, ROW_B, ROW_C, PADDING) \
    "6:\n" \
    NEXT_STRIP \
    "7:\n" \
    READ_1(ROW_A) \
    "j 2b\n" \
    "12:\n" \
    PADDING(ROW_B) \
    "j 3b\n" \
    ADD_MISSING(MATCH_STRIP_ADD_##form) \
    "8:\n" \
    "lw s0, 4*24(a0)\n" \
    MATCH_STRIP_END

/* Stride 2. The byte of the fifth column takes the place of the first one's once the left output has seen that, as the right
 * one does not. At the end of a row of outputs LEFT and RIGHT are what its last row of the input adds to the next one. */
#define ROW "s11"
#define RIGHT "t0"
#define LEFT "t1"
#define SECOND "t2"
#define FIFTH "ra"

/* Four columns to a word, of which the second stays by itself, as does the fifth: 7 instructions. */
#define READ_2(row) \
    MATCH_INSN_LOAD_BYTE_STEP(row, INPUT, TO_SECOND) \
    MATCH_INSN_LOAD_BYTE_STEP(SECOND, INPUT, TO_SECOND) \
    MATCH_INSN_LOAD_BYTE_STEP("t5", INPUT, TO_SECOND) \
    MATCH_INSN_LOAD_BYTE_STEP("t6", INPUT, TO_SECOND) \
    MATCH_INSN_LOAD_BYTE_STEP(FIFTH, INPUT, TO_ROW) \
    MATCH_INSN_PACK_LOW(row, SECOND, row) \
    MATCH_INSN_PACK_HIGH(row, "t6", "t5")
#define PADDING_2(row) \
    PADDING(row) \
    "lbu " SECOND ", 4*18(a0)\n" \
    "lbu " FIFTH ", 4*18(a0)\n"
#define TAKE_FIFTH(row) MATCH_INSN_PACK_LOW(row, SECOND, FIFTH)

/* A row of outputs, 22 instructions and those that finish, where NEXT, which gets the third row, is READ_2. */
#define STEP_2(form, NEXT) \
    READ_2("t3") \
    MATCH_INSN_DOT4(LEFT, "t3", LEFT1) \
    TAKE_FIFTH("t3") \
    MATCH_INSN_DOT4(RIGHT, "t3", RIGHT1) \
    NEXT(ROW) \
    MATCH_INSN_DOT4(LEFT, ROW, LEFT2) \
    SCALE_##form("t3", LEFT, LEFT_OFFSET, "t5", "t6") \
    MATCH_INSN_FIRST_DOT4(LEFT, ROW, LEFT0) \
    TAKE_FIFTH(ROW) \
    MATCH_INSN_DOT4(RIGHT, ROW, RIGHT2) \
    SCALE_##form("t4", RIGHT, RIGHT_OFFSET, "t6", "t5") \
    MATCH_INSN_FIRST_DOT4(RIGHT, ROW, RIGHT0) \
    STORE_##form("t3", "t4")

#define STRIP_2(form) \
    MATCH_STRIP_BEGIN \
    "sw s0, 4*24(a0)\n" \
    LOAD_RECORD \
    "0:\n" \
    LOAD_CHANNEL(MATCH_STRIP_PARAMETERS_##form) \
    "10:\n" \
    MATCH_STRIP_LOAD("t3", 19) \
    PADDING_2(ROW) \
    "beqz t3, 2f\n" \
    READ_2(ROW) \
    "2:\n" \
    MATCH_STRIP_LOAD("t3", 20) \
    MATCH_INSN_FIRST_DOT4(LEFT, ROW, LEFT0) \
    TAKE_FIFTH(ROW) \
    MATCH_INSN_FIRST_DOT4(RIGHT, ROW, RIGHT0) \
    "beqz t3, 3f\n" \
    MATCH_INSN_LOOP("t3", 22 + INSTRUCTIONS_##form) \
    STEP_2(form, READ_2) \
    MATCH_INSN_LOOP_END \
    "3:\n" \
    MATCH_STRIP_LOAD("t3", 22) \
    "beqz t3, 4f\n" \
    STEP_2(form, PADDING_2) \
    "4:\n" \
    NEXT_STRIP \
    ADD_MISSING(MATCH_STRIP_ADD_##form) \
    "8:\n" \
    "lw s0, 4*24(a0)\n" \
    MATCH_STRIP_END

#define RUN(strip, text) \
    register strip_t *record __asm__("a0") = (strip); \
    __asm__ volatile(text : "+r"(record) : : MATCH_STRIP_CLOBBERS)

/* The assembly by stride and form, each a function, so that several places may call it. */
typedef void run_t(strip_t *strip);
#define RUN_FUNCTION(name, text) \
    static __attribute__((noinline)) void name(strip_t *strip) \
    { \
        RUN(strip, text); \
    }
RUN_FUNCTION(run_1_32, STRIP_1(32))
RUN_FUNCTION(run_1_split, STRIP_1(SPLIT))
RUN_FUNCTION(run_1_signed, STRIP_1(SIGNED))
RUN_FUNCTION(run_2_32, STRIP_2(32))
RUN_FUNCTION(run_2_split, STRIP_2(SPLIT))
RUN_FUNCTION(run_2_signed, STRIP_2(SIGNED))

/* Set what is the same in all strips. */
static inline void set_steps(strip_t *strip, const match_tile_t *tile, int32_t stride)
{
    int32_t pixel = tile->input_pixel_stride;
    int32_t width = tile->input_width;
    int32_t right = tile->output_width > 1 ? tile->output_pixel_stride : 0;
    bool few = stride == 1 && width < 4; /* the last column stands for those that are missing */
    strip->to_second = few && width < 2 ? 0 : pixel;
    strip->to_third = few && width < 3 ? 0 : pixel;
    strip->to_fourth = few ? 0 : pixel;
    strip->to_row = tile->input_row_stride - (few ? width - 1 : 2 + stride) * pixel;
    strip->to_left = -right;
    strip->below = tile->output_row_stride + right;
    strip->padding = (uint8_t)tile->pad_value * 0x01010101u;
    strip->most = tile->clip_high;
}

/* Set rows of outputs, from number y on. */
MATCH_INLINE void set_rows(strip_t *strip, const match_tile_t *tile, int32_t y, int32_t count, int32_t stride)
{
    match_strip_rows_t rows = match_strip_rows(tile, y, count, 3, stride);
    int32_t last = stride == 2 ? rows.below : 0; /* a row that is read with padding below it */
    strip->read = rows.read - (stride == 1);
    strip->threes = stride == 1 && rows.inside >= MANY_ROWS ? rows.inside / 3 : 0;
    strip->ones = rows.inside - 3 * strip->threes;
    strip->below_input = rows.below;
    strip->input_back = 1 - (rows.read + stride * rows.inside + last) * tile->input_row_stride;
    strip->output_back = 1 - count * tile->output_row_stride;
    strip->input = tile->input + rows.row * tile->input_row_stride;
}

/* The weights of an output over columns of the input, moved to the lanes of those that are read from `begin` on, and the
 * pad values under the others. */
static void set_output(const match_tile_t *tile, int32_t begin, int32_t column, match_bytes4_t *lanes,
                       match_bytes4_t *missing)
{
    int32_t before = match_smaller(match_larger(-column, 0), 3);
    int32_t behind = match_smaller(match_larger(column + 3 - tile->input_width, 0), 3);
    int32_t lane = match_smaller(match_larger(column - begin, -3), 3);
    match_bytes4_t inside = 0xffffff00u << 8 * before & 0xffffffffu >> 8 * behind & 0xffffff00u;
    match_bytes4_t weights = 0x00030201 & inside >> 8;
    *lanes = lane < 0 ? weights >> -8 * lane : weights << 8 * lane;
    *missing = (uint8_t)tile->pad_value * 0x01010100u & ~inside;
}

/* Set what the outputs from x on see of the columns that are read, from `begin` on. */
static void set_columns(strip_t *strip, const match_tile_t *tile, int32_t x, int32_t begin, int32_t stride)
{
    int32_t column = x * stride - tile->pad_left;
    int32_t fifth = begin + 4 - (column + stride); /* of the right one, the weight over the fifth one: 1, 2 or none */
    set_output(tile, begin, column, &strip->left_lanes, &strip->left_missing);
    set_output(tile, begin, column + stride, &strip->right_lanes, &strip->right_missing);
    if (stride == 2 && fifth < 3) {
        strip->right_lanes |= (match_bytes4_t)(fifth + 1); /* in the lane of the first column, which it does not see */
    }
    strip->border = (strip->left_missing | strip->right_missing) != 0;
    strip->seen = column - begin;
}

/* Set the channels from `k` on, and where their outputs from x on go. */
static inline void set_place(strip_t *strip, const match_tile_t *tile, const match_finish_t *finish, int32_t k,
                            int32_t count, int32_t x)
{
    strip->weights = (const uint8_t *)tile->weights + (ptrdiff_t)k * FILTER;
    strip->weights_end = strip->weights + count * FILTER;
    strip->parameters = match_parameters_of(finish, finish->form, k);
    strip->output = match_output_pixel(tile, 0, x) + k - strip->to_left;
}

/* A strip of some channels in a form that requantizes by calls: sums of a few rows of one channel at a time. Given are
 * the offset of its first byte in input row 0, and the first channel; the record has the rest. */
MATCH_INLINE void run_by_sums(strip_t *strip, const match_tile_t *tile, const match_finish_t *finish, ptrdiff_t input,
                              int32_t k, int32_t count, int32_t stride)
{
    int32_t sums[2 * MATCH_STRIP_KEPT];
    const uint8_t *weights = strip->weights;
    uint8_t *output = strip->output;
    for (; count > 0; count--, k++, weights += FILTER, input++) {
        const uint8_t *parameters = match_parameters_of(finish, finish->form, k);
        uint8_t *place = output++;
        for (int32_t y = 0; y < tile->output_height; y += MATCH_STRIP_KEPT) {
            int32_t rows = match_smaller(tile->output_height - y, MATCH_STRIP_KEPT);
            set_rows(strip, tile, y, rows, stride);
            strip->input += input;
            strip->output = (uint8_t *)sums;
            strip->weights = weights;
            strip->weights_end = weights + FILTER;
            if (stride == 1) {
                RUN(strip, STRIP_1(SUMS));
            } else {
                RUN(strip, STRIP_2(SUMS));
            }
            for (int32_t i = 0; i < 2 * rows; i += 2) {
                *place = match_requantize_apart(finish, parameters, sums[i]);
                place += strip->to_left;
                *place = match_requantize_apart(finish, parameters, sums[i + 1]);
                place += strip->below;
            }
        }
    }
}

#define RUN_SUMS(name, stride) \
    static __attribute__((noinline)) void name(strip_t *strip, const match_tile_t *tile, const match_finish_t *finish, \
                                               ptrdiff_t input, int32_t k, int32_t count) \
    { \
        run_by_sums(strip, tile, finish, input, k, count, stride); \
    }
RUN_SUMS(run_1_sums, 1)
RUN_SUMS(run_2_sums, 2)

/* Strips of a tile: those from `first` to `last` - 1 have all their columns inside the input, where they are read from. */
typedef struct {
    int32_t all;
    int32_t first;
    int32_t last;
} inner_t;

/* So many share a channel's constants, and more: a core has parts of more strips then, each of which takes a start. */
enum { LEAST_INNER = 4 };

/* There are none where there are fewer, or where sums are requantized by calls. */
static inner_t inner_strips(const match_tile_t *tile, int32_t stride, match_strip_kind_t kind)
{
    int32_t all = (tile->output_width + 1) / 2;
    int32_t furthest = tile->input_width - 3 - stride + tile->pad_left; /* the last column of one, padding included */
    int32_t last = match_smaller(furthest < 0 ? 0 : (stride == 1 ? furthest / 2 : furthest / 4) + 1, tile->output_width / 2);
    int32_t first = stride == 1 ? (tile->pad_left + 1) / 2 : (tile->pad_left + 3) / 4;
    bool some = kind != MATCH_STRIP_SUMS && last - first >= LEAST_INNER;
    return (inner_t){all, some ? first : all, some ? last : all};
}

/* Strips of channels by number: all strips of a channel, the inner ones behind the others, then those of the next channel. */
typedef struct {
    int32_t channel;
    int32_t strip;
} number_t;

/* The first and the last number need no division, which takes as long as an output or two. */
static inline number_t number_of(int32_t number, int32_t strips, int32_t channels)
{
    if (number == 0) {
        return (number_t){0, 0};
    }
    int32_t channel = number == channels * strips ? channels : number / strips;
    return (number_t){channel, number - channel * strips};
}

/* What all strips of a tile have in common; `top` is the first row of the input inside. */
typedef struct {
    const match_tile_t *tile;
    const match_finish_t *finish;
    const uint8_t *top;
    run_t *run; /* NULL where sums are requantized by calls */
} common_t;

/* Strip number i of `count` channels from k on. */
MATCH_INLINE void run_strip(const common_t *common, strip_t *strip, int32_t i, int32_t k, int32_t count)
{
    const match_tile_t *tile = common->tile;
    int32_t stride = tile->stride_y;
    int32_t furthest = tile->input_width - 3 - stride; /* the last column that the reading of a strip begins at */
    int32_t x = match_larger(match_smaller(2 * i, tile->output_width - 2), 0); /* the last two of an odd number */
    int32_t column = x * stride - tile->pad_left;
    int32_t begin = match_larger(match_smaller(column, furthest), 0);
    ptrdiff_t input = begin * tile->input_pixel_stride + k;
    if (strip->seen != 0 || column != begin) {
        set_columns(strip, tile, x, begin, stride);
    }
    set_place(strip, tile, common->finish, k, count, x);
    strip->input = common->top + input;
    if (common->run != NULL) {
        common->run(strip);
    } else {
        (stride == 1 ? run_1_sums : run_2_sums)(strip, tile, common->finish, input, k, count);
    }
}

/* The inner strips between two numbers, as what is left of a channel, whole channels, and what there is of one. The record
 * has the steps of a single strip. */
static __attribute__((noinline)) void run_inner(const common_t *common, strip_t *strip, inner_t inner, number_t from,
                                                number_t to)
{
    const match_tile_t *tile = common->tile;
    int32_t outer = inner.all - (inner.last - inner.first);
    int32_t column = 2 * inner.first * tile->stride_x - tile->pad_left;
    int32_t input_step = 2 * tile->stride_x * tile->input_pixel_stride;
    int32_t output_step = 2 * tile->output_pixel_stride;
    int32_t input_back = strip->input_back;
    int32_t output_back = strip->output_back;
    const uint8_t *first = common->top + column * tile->input_pixel_stride;
    set_columns(strip, tile, 2 * inner.first, column, tile->stride_x);
    strip->input_on = input_back - 1 + input_step;
    strip->output_on = output_back - 1 + output_step;
    int32_t inside = inner.last - inner.first;
    int32_t k = from.channel;
    int32_t i = match_larger(from.strip - outer, 0);
    int32_t end = match_larger(to.strip - outer, 0);
    while (k < to.channel || (k == to.channel && i < end)) {
        int32_t count = i == 0 && k < to.channel ? to.channel - k : 1;
        int32_t more = (k < to.channel ? inside : end) - i - 1; /* strips behind the first one */
        strip->strips = more + 1;
        strip->input_back = input_back - more * input_step;
        strip->output_back = output_back - more * output_step;
        set_place(strip, tile, common->finish, k, count, 2 * (inner.first + i));
        strip->input = first + i * input_step + k;
        common->run(strip);
        k += count;
        i = 0;
    }
}

void match_pulp_depthwise_3x3(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last)
{
    strip_t strip;
    bool one = tile->stride_y == 1;
    int32_t channels = tile->channels_out;
    match_strip_kind_t kind = match_strip_kind(finish->form);
    set_steps(&strip, tile, tile->stride_y);
    set_rows(&strip, tile, 0, tile->output_height, tile->stride_y);
    strip.strips = 1;
    strip.seen = -1;
    common_t common = {
        .tile = tile,
        .finish = finish,
        .top = strip.input,
        .run = kind == MATCH_STRIP_32       ? (one ? run_1_32 : run_2_32)
               : kind == MATCH_STRIP_SPLIT  ? (one ? run_1_split : run_2_split)
               : kind == MATCH_STRIP_SIGNED ? (one ? run_1_signed : run_2_signed)
                                            : NULL,
    };
    inner_t inner = inner_strips(tile, tile->stride_y, kind);
    if (inner.first == inner.all) {
        int32_t at = match_strip_begin(tile, first, last);
        for (int32_t left = last - first; left > 0;) {
            int32_t i = at / channels;
            int32_t k = at - i * channels;
            int32_t count = match_smaller(match_smaller(left, channels - k), last - at);
            run_strip(&common, &strip, i, k, count);
            left -= count;
            at = at + count < last ? at + count : first;
        }
        return;
    }
    number_t from = number_of(first, inner.all, channels);
    number_t to = number_of(last, inner.all, channels);
    int32_t inside = inner.last - inner.first;
    for (int32_t j = 0; j < inner.all - inside; j++) {
        int32_t k = from.channel + (from.strip > j);
        int32_t count = to.channel + (to.strip > j) - k;
        if (count > 0) {
            run_strip(&common, &strip, j < inner.first ? j : j + inside, k, count);
        }
    }
    run_inner(&common, &strip, inner, from, to);
}

#endif
