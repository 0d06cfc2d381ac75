/* Filters of 3x3 on strips of two columns of outputs: what both see of an input row is one word, or a word and a byte at
 * stride 2. */
#include "match_pulp_depthwise.h"
#include "match_pulp_simd.h"

#if defined(MATCH_PULP_INSN)

#include "match_pulp_strip.h"

/* Bytes of a filter. */
enum { FILTER = 9 };

/* What the assembly reads, words by number: the same strip of the channels from `weights` to `weights_end`. */
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
    int32_t input_back; /* 11: steps from behind the strip's end to the next channel */
    int32_t output_back;
    match_bytes4_t left_lanes; /* 13: of a word with 0 and a row of weights those that lie over the columns read */
    match_bytes4_t right_lanes;
    match_bytes4_t left_missing; /* 15: pad values, in such words, for weights that lie over none */
    match_bytes4_t right_missing;
    match_bytes4_t fifth_lane; /* 17: 1 for the weight over a fifth column, which only the right output sees */
    int32_t border;            /* 18: whether some are missing */
    match_bytes4_t padding;    /* 19: a row of it */
    int32_t read;              /* rows before the first output, at stride 1 but for one */
    int32_t ones;              /* rows of outputs inside the input: at stride 1 beside threes of them */
    int32_t threes;
    int32_t below_input; /* rows of outputs that see padding below: one or none */
    int32_t most;        /* 24: the largest output */
    int32_t saved;       /* 25: the compiler's s0 */
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
    /* The last output sees at most one row of padding. There are five columns, and no left output sees the fifth of those
     * that are read. */
    int32_t read = rows.row + rows.read + 2 * rows.inside;
    int32_t last = 2 * (tile->output_width - 2) - tile->pad_left;
    return (rows.below == 0 || (rows.below == 1 && read < tile->input_height)) && tile->input_width >= 5 &&
           tile->output_width >= 2 && last <= tile->input_width - 4;
}

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
    MATCH_STRIP_LOAD(MATCH_STRIP_MOST, 24)

/* The channel's constants. Rows of weights lie behind a byte of 0 first, in t5, t6 and t1; what they miss is added up in
 * s11, apart (ADD_MISSING). FIFTH gets weights of them. */
#define LOAD_CHANNEL(PARAMETERS, FIFTH) \
    MATCH_STRIP_LOAD("t3", 8) \
    MATCH_STRIP_LOAD("t4", 10) \
    "lw t5, 0(t3)\n" \
    "lw t6, 3(t3)\n" \
    "lw t1, 5(t3)\n" \
    PARAMETERS("t4", LEFT_OFFSET) \
    "addi t3, t3, 9\n" \
    "addi t4, t4, 12\n" \
    "sw t3, 4*8(a0)\n" \
    "sw t4, 4*10(a0)\n" \
    MATCH_STRIP_LOAD("t0", 18) \
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
    FIFTH("t5", "t6", "t1") \
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

/* Go on with the next channel, if there is one. */
#define NEXT_CHANNEL \
    MATCH_STRIP_LOAD("t3", 8) \
    MATCH_STRIP_LOAD("t4", 9) \
    MATCH_STRIP_LOAD("t5", 11) \
    MATCH_STRIP_LOAD("t6", 12) \
    "add " INPUT ", " INPUT ", t5\n" \
    "add " OUTPUT ", " OUTPUT ", t6\n" \
    "bne t3, t4, 0b\n"

/* What becomes of the sums of a row. Where a strip has one column, the left output, stored last, is its output. */
#define STORE(left, right) \
    MATCH_INSN_STORE_BYTE_STEP(right, OUTPUT, TO_LEFT) \
    MATCH_INSN_STORE_BYTE_STEP(left, OUTPUT, BELOW)
#define FINISH_32(left, right) \
    MATCH_STRIP_SCALE_32(left, LEFT_OFFSET) \
    MATCH_STRIP_SCALE_32(right, RIGHT_OFFSET) \
    STORE(left, right)
#define FINISH_HIGH(left, right) \
    MATCH_STRIP_SCALE_HIGH(left, LEFT_OFFSET) \
    MATCH_STRIP_SCALE_HIGH(right, RIGHT_OFFSET) \
    STORE(left, right)
#define FINISH_SUMS(left, right) \
    "add " left ", " left ", " LEFT_OFFSET "\n" \
    "add " right ", " right ", " RIGHT_OFFSET "\n" \
    MATCH_INSN_STORE4(right, OUTPUT) \
    MATCH_INSN_STORE4(left, OUTPUT)

/* The instructions of these. */
#define INSTRUCTIONS_32 8
#define INSTRUCTIONS_HIGH 10
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

/* A row of outputs, 7 instructions and those that finish: NEXT gets the third row. */
#define STEP_1(first, second, third, NEXT, FINISH) \
    NEXT(third) \
    MATCH_INSN_FIRST_DOT4("t3", first, LEFT0) \
    MATCH_INSN_FIRST_DOT4("t4", first, RIGHT0) \
    MATCH_INSN_DOT4("t3", second, LEFT1) \
    MATCH_INSN_DOT4("t4", second, RIGHT1) \
    MATCH_INSN_DOT4("t3", third, LEFT2) \
    MATCH_INSN_DOT4("t4", third, RIGHT2) \
    FINISH("t3", "t4")
#define PADDING(row) MATCH_STRIP_LOAD(row, 19)
#define NO_FIFTH(first, second, third)

/* Rows are read in the place of the oldest ones, three at a time; the first one or two, which make the others threes,
 * move to the register of the one before. The last output may see a row of padding. */
#define STRIP_1(form) \
    LOAD_RECORD \
    MATCH_STRIP_LOAD(TO_THIRD, 3) \
    MATCH_STRIP_LOAD(TO_FOURTH, 4) \
    "0:\n" \
    LOAD_CHANNEL(MATCH_STRIP_PARAMETERS_##form, NO_FIFTH) \
    MATCH_STRIP_LOAD("t3", 20) \
    PADDING(ROW_A) \
    PADDING(ROW_B) \
    "bgtz t3, 7f\n" \
    "bltz t3, 3f\n" \
    "2:\n" \
    READ_1(ROW_B) \
    "3:\n" \
    MATCH_STRIP_LOAD("t3", 21) \
    MATCH_STRIP_LOAD("t4", 22) \
    "beqz t3, 4f\n" \
    MATCH_INSN_LOOP("t3", 14 + INSTRUCTIONS_##form) \
    STEP_1(ROW_A, ROW_B, ROW_C, READ_1, FINISH_##form) \
    "mv " ROW_A ", " ROW_B "\n" \
    "mv " ROW_B ", " ROW_C "\n" \
    MATCH_INSN_LOOP_END \
    MATCH_STRIP_LOAD("t4", 22) \
    "4:\n" \
    MATCH_STRIP_LOAD("t3", 23) \
    "beqz t4, 5f\n" \
    MATCH_INSN_LOOP("t4", 36 + 3 * INSTRUCTIONS_##form) \
    STEP_1(ROW_A, ROW_B, ROW_C, READ_1, FINISH_##form) \
    STEP_1(ROW_B, ROW_C, ROW_A, READ_1, FINISH_##form) \
    STEP_1(ROW_C, ROW_A, ROW_B, READ_1, FINISH_##form) \
    MATCH_INSN_LOOP_END \
    MATCH_STRIP_LOAD("t3", 23) \
    "5:\n" \
    "beqz t3, 6f\n" \
    STEP_1(ROW_A, ROW_B, ROW_C, PADDING, FINISH_##form) \
    "6:\n" \
    NEXT_CHANNEL \
    "j 8f\n" \
    "7:\n" \
    READ_1(ROW_A) \
    "j 2b\n" \
    ADD_MISSING(MATCH_STRIP_ADD_##form) \
    "8:\n"

/* Stride 2. The byte of the fifth column is multiplied by itself; at the end of a row of outputs RIGHT is what the last
 * one adds to the next row. */
#define ROW "s11"
#define RIGHT "t0"
#define LEFT "t1"
#define FIFTH0 "t2"
#define FIFTH1 "ra"
#define FIFTH2 "s0"

/* Four columns to a word, the fifth to t4: 7 instructions. */
#define READ_2(row) \
    MATCH_INSN_LOAD_BYTE_STEP(row, INPUT, TO_SECOND) \
    MATCH_INSN_LOAD_BYTE_STEP("t4", INPUT, TO_SECOND) \
    MATCH_INSN_LOAD_BYTE_STEP("t5", INPUT, TO_SECOND) \
    MATCH_INSN_LOAD_BYTE_STEP("t6", INPUT, TO_SECOND) \
    MATCH_INSN_PACK_LOW(row, "t4", row) \
    MATCH_INSN_LOAD_BYTE_STEP("t4", INPUT, TO_ROW) \
    MATCH_INSN_PACK_HIGH(row, "t6", "t5")
#define PADDING_2(row) \
    MATCH_STRIP_LOAD(row, 19) \
    "lbu t4, 4*19(a0)\n"

/* A row of outputs, 23 instructions and those that finish. NEXT gets the third row in the place of the first. */
#define STEP_2(NEXT, FINISH) \
    MATCH_INSN_FIRST_DOT4(LEFT, ROW, LEFT0) \
    MATCH_INSN_DOT4(RIGHT, ROW, RIGHT0) \
    READ_2("t3") \
    MATCH_INSN_DOT4(LEFT, "t3", LEFT1) \
    MATCH_INSN_DOT4(RIGHT, "t3", RIGHT1) \
    MATCH_INSN_MULTIPLY_ADD(RIGHT, "t4", FIFTH1) \
    NEXT(ROW) \
    MATCH_INSN_DOT4(LEFT, ROW, LEFT2) \
    MATCH_INSN_DOT4(RIGHT, ROW, RIGHT2) \
    MATCH_INSN_MULTIPLY_ADD(RIGHT, "t4", FIFTH2) \
    FINISH(LEFT, RIGHT) \
    "mul " RIGHT ", t4, " FIFTH0 "\n"

#define FIFTHS(first, second, third) \
    MATCH_STRIP_LOAD("t3", 17) \
    MATCH_INSN_FIRST_DOT4(FIFTH0, "t3", first) \
    MATCH_INSN_FIRST_DOT4(FIFTH1, "t3", second) \
    MATCH_INSN_FIRST_DOT4(FIFTH2, "t3", third)

#define STRIP_2(form) \
    "sw s0, 4*25(a0)\n" \
    LOAD_RECORD \
    "0:\n" \
    LOAD_CHANNEL(MATCH_STRIP_PARAMETERS_##form, FIFTHS) \
    MATCH_STRIP_LOAD("t3", 20) \
    PADDING_2(ROW) \
    "beqz t3, 2f\n" \
    READ_2(ROW) \
    "2:\n" \
    MATCH_STRIP_LOAD("t3", 21) \
    "mul " RIGHT ", t4, " FIFTH0 "\n" \
    "beqz t3, 3f\n" \
    MATCH_INSN_LOOP("t3", 23 + INSTRUCTIONS_##form) \
    STEP_2(READ_2, FINISH_##form) \
    MATCH_INSN_LOOP_END \
    "3:\n" \
    MATCH_STRIP_LOAD("t3", 23) \
    "beqz t3, 4f\n" \
    STEP_2(PADDING_2, FINISH_##form) \
    "4:\n" \
    NEXT_CHANNEL \
    "j 8f\n" \
    ADD_MISSING(MATCH_STRIP_ADD_##form) \
    "8:\n" \
    "lw s0, 4*25(a0)\n"

#include "match_pulp_strip_loops.h"

/* Set what is the same in all strips. */
MATCH_INLINE void set_steps(strip_t *strip, const match_tile_t *tile, int32_t stride)
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
    strip->threes = stride == 1 ? rows.inside / 3 : 0;
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
    int32_t fifth = begin + 4 - (column + stride); /* the weight over the fifth one */
    set_output(tile, begin, column, &strip->left_lanes, &strip->left_missing);
    set_output(tile, begin, column + stride, &strip->right_lanes, &strip->right_missing);
    strip->fifth_lane = fifth >= 0 && fifth < 3 ? (match_bytes4_t)1 << 8 * (fifth + 1) : 0;
    strip->border = (strip->left_missing | strip->right_missing) != 0;
}

/* A strip of some channels in a form that requantizes by calls: sums of a few rows of one channel at a time. Given are
 * the offset of its first byte in input row 0, its first right output, and the first channel. */
MATCH_INLINE void run_by_sums(strip_t *strip, const match_tile_t *tile, const match_finish_t *finish,
                              ptrdiff_t input, uint8_t *output, int32_t k, int32_t count, int32_t stride)
{
    int32_t sums[2 * MATCH_STRIP_KEPT];
    const uint8_t *weights = strip->weights;
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
            run(strip, stride, MATCH_STRIP_SUMS);
            for (int32_t i = 0; i < 2 * rows; i += 2) {
                *place = match_requantize_apart(finish, parameters, sums[i]);
                place += strip->to_left;
                *place = match_requantize_apart(finish, parameters, sums[i + 1]);
                place += strip->below;
            }
        }
    }
}

MATCH_INLINE void strips(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last,
                         int32_t stride, match_strip_kind_t kind)
{
    strip_t strip;
    set_steps(&strip, tile, stride);
    set_rows(&strip, tile, 0, tile->output_height, stride);
    const uint8_t *top = strip.input;
    int32_t furthest = tile->input_width - 3 - stride; /* the last column that the reading of a strip begins at */
    int32_t i = first / tile->channels_out;
    int32_t k = first - i * tile->channels_out;
    int32_t known = -1; /* where the columns of outputs lie in those read, of the strip before */
    for (int32_t left = last - first; left > 0; i++, k = 0) {
        int32_t count = match_smaller(left, tile->channels_out - k);
        int32_t x = match_larger(match_smaller(2 * i, tile->output_width - 2), 0); /* the last two of an odd number */
        int32_t column = x * stride - tile->pad_left;
        int32_t begin = match_larger(match_smaller(column, furthest), 0);
        if (begin != column || known != 0) {
            set_columns(&strip, tile, x, begin, stride);
            known = column - begin;
        }
        ptrdiff_t input = begin * tile->input_pixel_stride + k;
        strip.weights = (const uint8_t *)tile->weights + (ptrdiff_t)k * FILTER;
        strip.weights_end = strip.weights + count * FILTER;
        strip.parameters = match_parameters_of(finish, finish->form, k);
        strip.input = top + input;
        strip.output = match_output_pixel(tile, 0, x) + k - strip.to_left;
        if (kind == MATCH_STRIP_SUMS) {
            run_by_sums(&strip, tile, finish, input, strip.output, k, count, stride);
        } else {
            run(&strip, stride, kind);
        }
        left -= count;
    }
}

void match_pulp_depthwise_3x3(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last)
{
    strips_of_tile(tile, finish, first, last);
}

#endif
