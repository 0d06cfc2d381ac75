/* Filters of 5x5 on strips of one column of outputs, with Xpulpv2 or CORE-V instructions: of what an output sees the
 * first four columns are a word for each row, and the fifth column a word and a byte. */
#include "match_pulp_depthwise.h"

#if defined(MATCH_PULP_INSN)

#include "match_pulp_strip.h"

/* Bytes of a filter, rows and columns of it. */
enum { FILTER = 25, SIZE = 5 };

/* What the assembly reads, words by number: the same strip of the channels from `weights` to `weights_end`. */
typedef struct {
    const uint8_t *input; /* 0: its first byte, in the first row inside */
    uint8_t *output;
    int32_t to_next; /* 2: steps from column to column, from the last one to the next row */
    int32_t to_row;
    int32_t below;          /* 4: the step from output to output */
    const uint8_t *weights; /* 5: the channel's, and its requantization */
    const uint8_t *weights_end;
    const uint8_t *parameters;
    int32_t input_back; /* 8: steps from behind the strip's end to the next channel */
    int32_t output_back;
    match_bytes4_t lanes;   /* 10: of a row of weights those over the first four columns read; from 5 on there are none */
    match_bytes4_t missing; /* 11: pad values, for weights that lie over no column */
    match_bytes4_t fifth_missing;
    int32_t fifth; /* 13: the number of the weight over the fifth column, and all bits if there is one */
    match_bytes4_t fifth_mask;
    match_bytes4_t padding; /* 15: a row of it */
    int32_t read;           /* rows before the first output */
    int32_t inside;         /* outputs whose further rows lie inside the input */
    int32_t below_input;    /* 18: the others, at stride 2 one at most */
    int32_t mixed;          /* whether that one sees another row inside */
    int32_t most;           /* 20: the largest output */
    int32_t saved;          /* the compiler's s0 */
    int32_t negative_below; /* 22: see match_requant_split_signed_t */
    uint32_t negative_word;
} strip_t;

bool match_pulp_is_depthwise_5x5(const match_tile_t *tile)
{
    if (!match_is_strip_filter(tile, SIZE) || tile->input_width < SIZE) {
        return false;
    }
    int32_t stride = tile->stride_y;
    return stride == 1 || match_strip_rows(tile, 0, tile->output_height, SIZE, stride).below <= 1;
}

#define BELOW_WORD 22
#define NEGATIVE_WORD 23
#define INPUT "a1"
#define OUTPUT "a2"
#define TO_NEXT "a3"
#define TO_ROW "a4"
#define OFFSET "s1"
#define BELOW "s2"
#define WEIGHTS0 "s3"
#define WEIGHTS1 "s4"
#define WEIGHTS2 "s5"
#define WEIGHTS3 "s6"
#define WEIGHTS4 "s7"
#define FIFTHS "s8" /* weights of the fifth column, the last one apart */
#define LAST_FIFTH "s9"
#define ROW0 "s10" /* the last four rows */
#define ROW1 "s11"
#define ROW2 "t0"
#define ROW3 "t1"
#define COLUMN "t2" /* their fifth column */
#define SHIFT_COLUMN "ra"

#define LOAD_RECORD \
    MATCH_STRIP_LOAD(INPUT, 0) \
    MATCH_STRIP_LOAD(OUTPUT, 1) \
    MATCH_STRIP_LOAD(TO_NEXT, 2) \
    MATCH_STRIP_LOAD(TO_ROW, 3) \
    MATCH_STRIP_LOAD(BELOW, 4) \
    MATCH_STRIP_LOAD(MATCH_STRIP_MOST, 20)

/* A row of weights at t3 + `at`, moved to its lanes by t0; what it misses is added to s10. */
#define LOAD_WEIGHTS(weights, at) \
    "lw " weights ", " MATCH_INSN_NUMBER(at) "(t3)\n" \
    "lbu t5, 4+" MATCH_INSN_NUMBER(at) "(t3)\n" \
    MATCH_INSN_DOT4("s10", "t1", weights) \
    MATCH_INSN_DOT4("s10", "t2", "t5") \
    MATCH_INSN_LANES_OF_TWO(weights, "t5", "t0")

/* The channel's constants. */
#define LOAD_CHANNEL(PARAMETERS, ADD) \
    MATCH_STRIP_LOAD("t3", 5) \
    MATCH_STRIP_LOAD("t4", 7) \
    MATCH_STRIP_LOAD("t0", 10) \
    MATCH_STRIP_LOAD("t1", 11) \
    MATCH_STRIP_LOAD("t2", 12) \
    MATCH_STRIP_LOAD("t6", 13) \
    PARAMETERS("t4", OFFSET) \
    "sw t4, 4*7(a0)\n" \
    "li s10, 0\n" \
    LOAD_WEIGHTS(WEIGHTS0, 0) \
    LOAD_WEIGHTS(WEIGHTS1, 5) \
    LOAD_WEIGHTS(WEIGHTS2, 10) \
    LOAD_WEIGHTS(WEIGHTS3, 15) \
    LOAD_WEIGHTS(WEIGHTS4, 20) \
    ADD(OFFSET, "s10") \
    "add t6, t6, t3\n" \
    "lbu t0, 0(t6)\n" \
    "lbu t1, 5(t6)\n" \
    "lbu t2, 10(t6)\n" \
    "lbu t5, 15(t6)\n" \
    "lb " LAST_FIFTH ", 20(t6)\n" \
    MATCH_STRIP_LOAD("t6", 14) \
    MATCH_INSN_PACK_LOW(FIFTHS, "t1", "t0") \
    MATCH_INSN_PACK_HIGH(FIFTHS, "t5", "t2") \
    "and " FIFTHS ", " FIFTHS ", t6\n" \
    "and " LAST_FIFTH ", " LAST_FIFTH ", t6\n" \
    "addi t3, t3, 25\n" \
    "sw t3, 4*5(a0)\n" \
    "li " SHIFT_COLUMN ", 0x04030201\n"

/* A row to t3, its fifth byte to t4: 7 instructions, and 2. */
#define READ \
    MATCH_INSN_LOAD_BYTE_STEP("t3", INPUT, TO_NEXT) \
    MATCH_INSN_LOAD_BYTE_STEP("t4", INPUT, TO_NEXT) \
    MATCH_INSN_LOAD_BYTE_STEP("t5", INPUT, TO_NEXT) \
    MATCH_INSN_LOAD_BYTE_STEP("t6", INPUT, TO_NEXT) \
    MATCH_INSN_PACK_LOW("t3", "t4", "t3") \
    MATCH_INSN_LOAD_BYTE_STEP("t4", INPUT, TO_ROW) \
    MATCH_INSN_PACK_HIGH("t3", "t6", "t5")
#define PADDING \
    MATCH_STRIP_LOAD("t3", 15) \
    "lbu t4, 4*15(a0)\n"

/* The row moves in, and the first one out: 5 instructions. */
#define PASS \
    MATCH_INSN_LANES_OF_TWO(COLUMN, "t4", SHIFT_COLUMN) \
    "mv " ROW0 ", " ROW1 "\n" \
    "mv " ROW1 ", " ROW2 "\n" \
    "mv " ROW2 ", " ROW3 "\n" \
    "mv " ROW3 ", t3\n"

/* The output of four rows and the one just read: 12 instructions, and those that finish. */
#define OUTPUT_OF(FINISH) \
    MATCH_INSN_FIRST_DOT4("t5", ROW0, WEIGHTS0) \
    MATCH_INSN_DOT4("t5", ROW1, WEIGHTS1) \
    MATCH_INSN_DOT4("t5", ROW2, WEIGHTS2) \
    MATCH_INSN_DOT4("t5", ROW3, WEIGHTS3) \
    MATCH_INSN_DOT4("t5", "t3", WEIGHTS4) \
    MATCH_INSN_DOT4("t5", COLUMN, FIFTHS) \
    MATCH_INSN_MULTIPLY_ADD("t5", "t4", LAST_FIFTH) \
    PASS \
    FINISH("t5")

#define FINISH_32(sum) \
    MATCH_STRIP_SCALE_32(sum, sum, OFFSET, "t6") \
    MATCH_STRIP_SHIFT_32(sum, OFFSET) \
    MATCH_INSN_STORE_BYTE_STEP(sum, OUTPUT, BELOW)
#define FINISH_SPLIT(sum) \
    MATCH_STRIP_SCALE_SPLIT(sum, sum, OFFSET, "t6") \
    MATCH_STRIP_SHIFT_SPLIT(sum, OFFSET) \
    MATCH_INSN_STORE_BYTE_STEP(sum, OUTPUT, BELOW)
#define FINISH_SIGNED(sum) \
    MATCH_STRIP_SCALE_SIGNED(sum, sum, OFFSET, "t6", "t3", "t4") \
    MATCH_STRIP_SHIFT_SPLIT(sum, OFFSET) \
    MATCH_INSN_STORE_BYTE_STEP(sum, OUTPUT, BELOW)
#define FINISH_SUMS(sum) \
    "add " sum ", " sum ", " OFFSET "\n" \
    MATCH_INSN_STORE4(sum, OUTPUT)

/* The instructions of these. */
#define INSTRUCTIONS_32 4
#define INSTRUCTIONS_SPLIT 7
#define INSTRUCTIONS_SIGNED 11
#define INSTRUCTIONS_SUMS 2

/* The rows before the first output, which follow padding. */
#define BEGIN(form) \
    "sw s0, 4*21(a0)\n" \
    LOAD_RECORD \
    "0:\n" \
    LOAD_CHANNEL(MATCH_STRIP_PARAMETERS_##form, MATCH_STRIP_ADD_##form) \
    MATCH_STRIP_LOAD(ROW3, 15) \
    MATCH_STRIP_LOAD("t6", 16) \
    "mv " ROW0 ", " ROW3 "\n" \
    "mv " ROW1 ", " ROW3 "\n" \
    "mv " ROW2 ", " ROW3 "\n" \
    "mv " COLUMN ", " ROW3 "\n" \
    "beqz t6, 1f\n" \
    MATCH_INSN_LOOP("t6", 12) \
    READ \
    PASS \
    MATCH_INSN_LOOP_END \
    "1:\n" \
    MATCH_STRIP_LOAD("t6", 17) \
    "beqz t6, 2f\n"

/* Go on with the next channel, if there is one. */
#define NEXT_CHANNEL \
    MATCH_STRIP_LOAD("t3", 5) \
    MATCH_STRIP_LOAD("t4", 6) \
    MATCH_STRIP_LOAD("t5", 8) \
    MATCH_STRIP_LOAD("t6", 9) \
    "add " INPUT ", " INPUT ", t5\n" \
    "add " OUTPUT ", " OUTPUT ", t6\n" \
    "bne t3, t4, 0b\n" \
    "lw s0, 4*21(a0)\n"

#define STRIP_1(form) \
    BEGIN(form) \
    MATCH_INSN_LOOP("t6", 19 + INSTRUCTIONS_##form) \
    READ \
    OUTPUT_OF(FINISH_##form) \
    MATCH_INSN_LOOP_END \
    "2:\n" \
    MATCH_STRIP_LOAD("t6", 18) \
    "beqz t6, 3f\n" \
    MATCH_INSN_LOOP("t6", 14 + INSTRUCTIONS_##form) \
    PADDING \
    OUTPUT_OF(FINISH_##form) \
    MATCH_INSN_LOOP_END \
    "3:\n" \
    NEXT_CHANNEL

#define STRIP_2(form) \
    BEGIN(form) \
    MATCH_INSN_LOOP("t6", 31 + INSTRUCTIONS_##form) \
    READ \
    PASS \
    READ \
    OUTPUT_OF(FINISH_##form) \
    MATCH_INSN_LOOP_END \
    "2:\n" \
    MATCH_STRIP_LOAD("t6", 18) \
    MATCH_STRIP_LOAD("t5", 19) \
    "beqz t6, 4f\n" \
    PADDING \
    "beqz t5, 3f\n" \
    READ \
    "3:\n" \
    PASS \
    PADDING \
    OUTPUT_OF(FINISH_##form) \
    "4:\n" \
    NEXT_CHANNEL

/* The assembly by stride and form, each a function, so that several places may call it. */
typedef void run_t(strip_t *strip);
#define RUN_FUNCTION(name, text) \
    static __attribute__((noinline)) void name(strip_t *strip) \
    { \
        register strip_t *record __asm__("a0") = strip; \
        __asm__ volatile(MATCH_STRIP_BEGIN text MATCH_STRIP_END : "+r"(record) : : MATCH_STRIP_CLOBBERS); \
    }
RUN_FUNCTION(run_1_32, STRIP_1(32))
RUN_FUNCTION(run_1_split, STRIP_1(SPLIT))
RUN_FUNCTION(run_1_signed, STRIP_1(SIGNED))
RUN_FUNCTION(run_1_sums, STRIP_1(SUMS))
RUN_FUNCTION(run_2_32, STRIP_2(32))
RUN_FUNCTION(run_2_split, STRIP_2(SPLIT))
RUN_FUNCTION(run_2_signed, STRIP_2(SIGNED))
RUN_FUNCTION(run_2_sums, STRIP_2(SUMS))

static run_t *run_of(match_strip_kind_t kind, bool one)
{
    switch (kind) {
    case MATCH_STRIP_32:
        return one ? run_1_32 : run_2_32;
    case MATCH_STRIP_SPLIT:
        return one ? run_1_split : run_2_split;
    case MATCH_STRIP_SIGNED:
        return one ? run_1_signed : run_2_signed;
    case MATCH_STRIP_SUMS:
    default:
        return one ? run_1_sums : run_2_sums;
    }
}

/* Set rows of outputs, from number y on. */
static void set_rows(strip_t *strip, const match_tile_t *tile, int32_t y, int32_t count)
{
    int32_t stride = tile->stride_y;
    match_strip_rows_t rows = match_strip_rows(tile, y, count, SIZE, stride);
    int32_t read = rows.read + stride * rows.inside;
    strip->read = rows.read;
    strip->inside = rows.inside;
    strip->below_input = rows.below;
    strip->mixed = stride == 2 && rows.below > 0 && rows.row + read < tile->input_height;
    strip->input_back = 1 - (read + strip->mixed) * tile->input_row_stride;
    strip->output_back = 1 - count * tile->output_row_stride;
    strip->input = tile->input + rows.row * tile->input_row_stride;
}

/* Set what outputs whose first column is `column` see of the columns that are read, from `begin` on. */
static void set_columns(strip_t *strip, const match_tile_t *tile, int32_t column, int32_t begin)
{
    int32_t lane = column - begin;
    strip->lanes = 0;
    strip->missing = 0;
    for (int32_t i = 0; i < 4; i++) {
        int32_t weight = i - lane;
        bool over = column + i >= 0 && column + i < tile->input_width;
        strip->lanes |= (match_bytes4_t)(weight >= 0 && weight < SIZE ? weight : SIZE) << 8 * i;
        strip->missing |= over ? 0 : (match_bytes4_t)(uint8_t)tile->pad_value << 8 * i;
    }
    bool over = column + 4 >= 0 && column + 4 < tile->input_width;
    strip->fifth_missing = over ? 0 : (uint8_t)tile->pad_value;
    bool fifth = lane >= 0 && lane <= 4;
    strip->fifth = fifth ? 4 - lane : 0;
    strip->fifth_mask = fifth ? 0xffffffffu : 0;
}

/* Rows of outputs whose sums are kept at a time, of those left. The last ones are no fewer than the rows of padding that a
 * window may see: rows that are read before their first output would lie below the input. */
static inline int32_t kept_rows(int32_t left)
{
    int32_t most = 2 * MATCH_STRIP_KEPT;
    bool few = left > most && left < most + SIZE - 1;
    return few ? MATCH_STRIP_KEPT : match_smaller(left, most);
}

/* A strip of some channels in a form that requantizes by calls: sums of a few rows of one channel at a time. Given are
 * the offset of its first byte in input row 0, and the first channel. */
static void run_by_sums(strip_t *strip, const match_tile_t *tile, const match_finish_t *finish, run_t *run,
                        ptrdiff_t input, int32_t k, int32_t count)
{
    int32_t sums[2 * MATCH_STRIP_KEPT];
    const uint8_t *weights = strip->weights;
    uint8_t *output = strip->output;
    for (; count > 0; count--, k++, weights += FILTER, input++) {
        uint8_t *place = output++;
        for (int32_t y = 0, rows; y < tile->output_height; y += rows) {
            rows = kept_rows(tile->output_height - y);
            set_rows(strip, tile, y, rows);
            strip->input += input;
            strip->output = (uint8_t *)sums;
            strip->weights = weights;
            strip->weights_end = weights + FILTER;
            run(strip);
            for (int32_t i = 0; i < rows; i++, place += tile->output_row_stride) {
                *place = match_requantize_apart(finish, match_parameters_of(finish, finish->form, k), sums[i]);
            }
        }
    }
}

void match_pulp_depthwise_5x5(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last)
{
    strip_t strip;
    match_strip_kind_t kind = match_strip_kind(finish->form);
    run_t *run = run_of(kind, tile->stride_y == 1);
    strip.to_next = tile->input_pixel_stride;
    strip.to_row = tile->input_row_stride - 4 * tile->input_pixel_stride;
    strip.below = tile->output_row_stride;
    strip.padding = (uint8_t)tile->pad_value * 0x01010101u;
    strip.most = tile->clip_high;
    set_rows(&strip, tile, 0, tile->output_height);
    const uint8_t *top = strip.input;
    int32_t at = match_strip_begin(tile, first, last);
    for (int32_t left = last - first; left > 0;) {
        int32_t x = at / tile->channels_out;
        int32_t k = at - x * tile->channels_out;
        int32_t count = match_smaller(match_smaller(left, tile->channels_out - k), last - at);
        int32_t column = x * tile->stride_x - tile->pad_left;
        int32_t begin = match_larger(match_smaller(column, tile->input_width - SIZE), 0);
        set_columns(&strip, tile, column, begin);
        ptrdiff_t input = begin * tile->input_pixel_stride + k;
        strip.weights = (const uint8_t *)tile->weights + (ptrdiff_t)k * FILTER;
        strip.weights_end = strip.weights + count * FILTER;
        strip.parameters = match_parameters_of(finish, finish->form, k);
        strip.input = top + input;
        strip.output = match_output_pixel(tile, 0, x) + k;
        if (kind == MATCH_STRIP_SUMS) {
            run_by_sums(&strip, tile, finish, run, input, k, count);
        } else {
            run(&strip);
        }
        left -= count;
        at = at + count < last ? at + count : first;
    }
}

#endif
