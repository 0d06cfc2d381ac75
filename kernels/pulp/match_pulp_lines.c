#include "match_pulp_lines.h"

#include "match_pulp_dot.h"
#include "match_pulp_runs.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"

enum { FOUR = 4 };

/* A rectangle of blocks, which are four neighbouring bytes of a pixel, or one. Those of a row of it have the same lines, as
 * these channels have one pixel for all, or this pixel has one channel. Words by number; assembly reads them. */
typedef struct {
    const uint8_t *input;  /* 0 */
    uint8_t *output;       /* 1 */
    const uint8_t *addend; /* 2 */
    int32_t rows;          /* 3 */
    int32_t columns;       /* 4: blocks of a row */
    int32_t lane;          /* 5: from a byte's addend to that of the next: 1, or 0 */
    int32_t input_step;    /* 6: from behind a block to the next one, from its last byte on */
    int32_t output_step;   /* 7: from a block to the next one */
    int32_t input_back;    /* 8: from behind a row to the next one */
    int32_t output_back;   /* 9 */
    int32_t addend_on;     /* 10: from behind the addends of a row to the next ones */
    match_bilinear_t sum;  /* 11 .. 14: times the multiplier and with the bias in MATCH_FORM_32, with the addend in others */
    int32_t largest;       /* 15: of sums, or of outputs in MATCH_FORM_32 */
    uint32_t low;          /* 16: or the shift in MATCH_FORM_32 */
    uint32_t bias;         /* 17 */
    uint32_t high;         /* 18 */
    int32_t below;         /* 19 */
    uint32_t negative;     /* 20 */
} lines_t;

static int32_t times(int32_t a, int32_t b)
{
    return match_multiply_add(0, a, b);
}

/* What all rectangles have. */
static void begin(lines_t *lines, const match_finish_t *finish, const match_bilinear_t *sum)
{
    const uint8_t *parameters = finish->parameters;
    if (finish->form == MATCH_FORM_32) {
        match_requant32_t p = match_parameters_32(parameters);
        lines->sum.both = times(sum->both, p.multiplier);
        lines->sum.input = times(sum->input, p.multiplier);
        lines->sum.addend = times(sum->addend, p.multiplier);
        lines->sum.constant = match_multiply_add(p.bias, sum->constant, p.multiplier);
        lines->largest = finish->clip_high;
        lines->low = (uint32_t)p.shift;
        return;
    }
    match_requant_split_t split = match_parameters_split(parameters);
    lines->sum = *sum;
    lines->sum.constant += split.addend;
    lines->largest = split.largest;
    lines->low = split.low;
    lines->bias = split.bias;
    lines->high = split.high;
    if (finish->form == MATCH_FORM_SPLIT_SIGNED) {
        match_requant_split_signed_t p = match_parameters_split_signed(parameters);
        lines->below = p.negative_below;
        lines->negative = p.negative_word;
    }
}

#if defined(MATCH_PULP_INSN)

#define FIELD(value, word) "lw " value ", 4*" MATCH_INSN_NUMBER(word) "(a0)\n"
#define INPUT "a1"
#define OUTPUT "a2"
#define ADDEND "a3"
#define INPUT_STEP "a4"
#define OUTPUT_STEP "a5"
#define COLUMNS "a6"
#define LANES "a7" /* of the uppermost bytes of two words */
#define A "t0"
#define B "t1"
#define C "t2"
#define D "t3"
#define E "t4"
#define SLOPE_A "s1"
#define SLOPE_B "s2"
#define SLOPE_C "s3"
#define SLOPE_D "s4"
#define OFFSET_A "s5"
#define OFFSET_B "s6"
#define OFFSET_C "s7"
#define OFFSET_D "s8"
#define LARGEST "s9"
#define LOW "s10"
#define SHIFT "s10"
#define BIAS "s11"
#define HIGH "t5"
#define BELOW "t6"
#define NEGATIVE "ra"

/* The lines of a row, 25 instructions; loads stay away from what uses them, which would wait a cycle. */
#define ROW                                        \
    FIELD(E, 5)                                    \
    FIELD(SLOPE_A, 12)                             \
    MATCH_INSN_LOAD_BYTE_STEP(A, ADDEND, E)        \
    MATCH_INSN_LOAD_BYTE_STEP(B, ADDEND, E)        \
    MATCH_INSN_LOAD_BYTE_STEP(C, ADDEND, E)        \
    MATCH_INSN_LOAD_BYTE_STEP(D, ADDEND, E)        \
    FIELD(E, 11)                                   \
    FIELD(OFFSET_A, 14)                            \
    "mv " SLOPE_B ", " SLOPE_A "\n"                \
    "mv " SLOPE_C ", " SLOPE_A "\n"                \
    "mv " SLOPE_D ", " SLOPE_A "\n"                \
    MATCH_INSN_MULTIPLY_ADD(SLOPE_A, A, E)         \
    MATCH_INSN_MULTIPLY_ADD(SLOPE_B, B, E)         \
    MATCH_INSN_MULTIPLY_ADD(SLOPE_C, C, E)         \
    MATCH_INSN_MULTIPLY_ADD(SLOPE_D, D, E)         \
    FIELD(E, 13)                                   \
    "mv " OFFSET_B ", " OFFSET_A "\n"              \
    "mv " OFFSET_C ", " OFFSET_A "\n"              \
    "mv " OFFSET_D ", " OFFSET_A "\n"              \
    MATCH_INSN_MULTIPLY_ADD(OFFSET_A, A, E)        \
    MATCH_INSN_MULTIPLY_ADD(OFFSET_B, B, E)        \
    FIELD(A, 10)                                   \
    MATCH_INSN_MULTIPLY_ADD(OFFSET_C, C, E)        \
    MATCH_INSN_MULTIPLY_ADD(OFFSET_D, D, E)        \
    "add " ADDEND ", " ADDEND ", " A "\n"

#define NEXT_ROW                           \
    FIELD(A, 8)                            \
    FIELD(B, 9)                            \
    "add " INPUT ", " INPUT ", " A "\n"    \
    "add " OUTPUT ", " OUTPUT ", " B "\n"

/* Four bytes times their slopes, 8 instructions. */
#define PRODUCTS                                     \
    MATCH_INSN_LOAD_BYTE(A, INPUT)                   \
    MATCH_INSN_LOAD_BYTE(B, INPUT)                   \
    MATCH_INSN_LOAD_BYTE(C, INPUT)                   \
    MATCH_INSN_LOAD_BYTE_STEP(D, INPUT, INPUT_STEP)  \
    "mul " A ", " A ", " SLOPE_A "\n"                \
    "mul " B ", " B ", " SLOPE_B "\n"                \
    "mul " C ", " C ", " SLOPE_C "\n"                \
    "mul " D ", " D ", " SLOPE_D "\n"

/* A block in a form, 11, 24 and 32 instructions behind these. */
#define BLOCK_32                                            \
    MATCH_INSN_ADD_SHIFT(A, OFFSET_A, SHIFT)                \
    MATCH_INSN_ADD_SHIFT(B, OFFSET_B, SHIFT)                \
    MATCH_INSN_ADD_SHIFT(C, OFFSET_C, SHIFT)                \
    MATCH_INSN_ADD_SHIFT(D, OFFSET_D, SHIFT)                \
    MATCH_INSN_CLIP(A, A, LARGEST)                          \
    MATCH_INSN_CLIP(B, B, LARGEST)                          \
    MATCH_INSN_CLIP(C, C, LARGEST)                          \
    MATCH_INSN_CLIP(D, D, LARGEST)                          \
    MATCH_INSN_PACK_LOW(A, B, A)                            \
    MATCH_INSN_PACK_HIGH(A, D, C)                           \
    MATCH_INSN_STORE4_STEP(A, OUTPUT, OUTPUT_STEP)

#define SUM(value, offset) "add " value ", " value ", " offset "\n" MATCH_INSN_CLIP(value, value, LARGEST)
#define SUMS SUM(A, OFFSET_A) SUM(B, OFFSET_B) SUM(C, OFFSET_C) SUM(D, OFFSET_D)

/* Products by halves need another register than the sum's: each output goes to the register of the sum before. */
#define WORD(to, sum) MATCH_SPLIT_WORD(to, sum, LOW, BIAS, HIGH)
#define NEGATIVE_WORD(to, sum) WORD(to, sum) MATCH_SPLIT_NEGATIVE(to, sum, BELOW, NEGATIVE)
#define UPPERMOST                             \
    MATCH_INSN_LANES_OF_TWO(E, A, LANES)      \
    MATCH_INSN_LANES_OF_TWO(B, C, LANES)      \
    MATCH_INSN_PACK_HALVES(E, B, E)           \
    MATCH_INSN_STORE4_STEP(E, OUTPUT, OUTPUT_STEP)

#define BLOCK_SPLIT SUMS WORD(E, A) WORD(A, B) WORD(B, C) WORD(C, D) UPPERMOST
#define BLOCK_SIGNED SUMS NEGATIVE_WORD(E, A) NEGATIVE_WORD(A, B) NEGATIVE_WORD(B, C) NEGATIVE_WORD(C, D) UPPERMOST

#define BLOCK_INSTRUCTIONS_32 19
#define BLOCK_INSTRUCTIONS_SPLIT 32
#define BLOCK_INSTRUCTIONS_SIGNED 40

/* All registers but s0, which may be the compiler's frame pointer. */
#define FOURS(form)                                                                                                \
    __asm__ volatile(FIELD(INPUT, 0) FIELD(OUTPUT, 1) FIELD(ADDEND, 2) FIELD(E, 3) FIELD(COLUMNS, 4)               \
                     FIELD(INPUT_STEP, 6) FIELD(OUTPUT_STEP, 7) FIELD(LARGEST, 15) FIELD(LOW, 16) FIELD(BIAS, 17)  \
                     FIELD(HIGH, 18) FIELD(BELOW, 19) FIELD(NEGATIVE, 20) "li " LANES ", 0x703\n"                  \
                     MATCH_INSN_OUTER_LOOP(E, 25 + 1 + BLOCK_INSTRUCTIONS_##form + 4)                              \
                     ROW                                                                                           \
                     MATCH_INSN_LOOP(COLUMNS, BLOCK_INSTRUCTIONS_##form)                                           \
                     PRODUCTS BLOCK_##form                                                                         \
                     MATCH_INSN_LOOP_END                                                                           \
                     NEXT_ROW                                                                                      \
                     MATCH_INSN_LOOP_END                                                                           \
                     : "+r"(record)                                                                                \
                     :                                                                                             \
                     : "ra", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s1", "s2", "s3", "s4", "s5", "s6", "s7",   \
                       "s8", "s9", "s10", "s11", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "memory")

/* A rectangle of fours; each form has its own registers to save, and so a function. */
static __attribute__((noinline)) void fours_32(const lines_t *lines)
{
    register const lines_t *record __asm__("a0") = lines;
    FOURS(32);
}

static __attribute__((noinline)) void fours_split(const lines_t *lines)
{
    register const lines_t *record __asm__("a0") = lines;
    FOURS(SPLIT);
}

static __attribute__((noinline)) void fours_signed(const lines_t *lines)
{
    register const lines_t *record __asm__("a0") = lines;
    FOURS(SIGNED);
}

#endif

/* A rectangle of single bytes, or of fours where there are no instructions for them, in a form that the compiler knows. What
 * it reads in loops is a copy, so that stores to the output do not touch it. */
MATCH_INLINE void bytes(const lines_t *lines, match_form_t form, int32_t width)
{
    match_bilinear_t sum = lines->sum;
    int32_t most = lines->largest;
    uint32_t shift = lines->low;
    match_requant_split_t split = {0, lines->largest, lines->low, lines->bias, lines->high};
    match_requant_split_signed_t with_sign = {split, lines->below, lines->negative};
    int32_t columns = lines->columns;
    int32_t input_column = lines->input_step + width - 1;
    int32_t output_column = lines->output_step;
    const uint8_t *input = lines->input;
    uint8_t *output = lines->output;
    const uint8_t *addend = lines->addend;
    for (int32_t row = 0; row < lines->rows; row++) {
        for (int32_t lane = 0; lane < width; lane++, addend += lines->lane) {
            int32_t slope = match_multiply_add(sum.input, sum.both, *addend);
            int32_t offset = match_multiply_add(sum.constant, sum.addend, *addend);
            const uint8_t *from = input + lane;
            uint8_t *to = output + lane;
            for (int32_t left = columns; left > 0; left--) {
                int32_t acc = match_multiply_add(offset, (int32_t)match_load_step(&from, input_column), slope);
                int32_t value = form == MATCH_FORM_32      ? match_clip_from_0(acc >> shift, most)
                                : form == MATCH_FORM_SPLIT ? match_requantize_split(split, acc)
                                                           : match_requantize_split_signed(with_sign, acc);
                match_store_step(&to, output_column, (uint32_t)value);
            }
        }
        input += columns * input_column + lines->input_back;
        output += columns * output_column + lines->output_back;
        addend += lines->addend_on;
    }
}

static void rectangle_32(const lines_t *lines, int32_t width)
{
#if defined(MATCH_PULP_INSN)
    if (width == FOUR) {
        fours_32(lines);
        return;
    }
#endif
    bytes(lines, MATCH_FORM_32, width);
}

static void rectangle_split(const lines_t *lines, int32_t width)
{
#if defined(MATCH_PULP_INSN)
    if (width == FOUR) {
        fours_split(lines);
        return;
    }
#endif
    bytes(lines, MATCH_FORM_SPLIT, width);
}

static void rectangle_signed(const lines_t *lines, int32_t width)
{
#if defined(MATCH_PULP_INSN)
    if (width == FOUR) {
        fours_signed(lines);
        return;
    }
#endif
    bytes(lines, MATCH_FORM_SPLIT_SIGNED, width);
}

static void rectangle(const lines_t *lines, match_form_t form, int32_t width)
{
    if (form == MATCH_FORM_32) {
        rectangle_32(lines, width);
    } else if (form == MATCH_FORM_SPLIT) {
        rectangle_split(lines, width);
    } else {
        rectangle_signed(lines, width);
    }
}

/* `count` blocks of `width` channels, from `channel` on, of each of the `pixels` from row y on, which lie side by side. */
typedef struct {
    int32_t channel;
    int32_t width;
    int32_t count;
    int32_t y;
    int32_t pixels;
} blocks_t;

/* This core's share of them: what is left of a row of blocks, whole rows, some of one more. */
static void share_blocks(const match_tile_t *tile, match_form_t form, lines_t *lines, blocks_t blocks)
{
    bool of_pixels = match_one_channel(tile); /* rows are those of a pixel, or of a block's channels */
    int32_t width = blocks.width;
    int32_t columns = of_pixels ? blocks.count : blocks.pixels;
    int32_t input_column = of_pixels ? width : tile->input_pixel_stride;
    int32_t output_column = of_pixels ? width : tile->output_pixel_stride;
    int32_t input_row = of_pixels ? tile->input_pixel_stride : width;
    int32_t output_row = of_pixels ? tile->output_pixel_stride : width;
    int32_t addend_row = of_pixels ? tile->addend_pixel_stride : width;
    const uint8_t *input = tile->input + blocks.y * tile->input_row_stride + blocks.channel;
    uint8_t *output = tile->output + blocks.y * tile->output_row_stride + blocks.channel;
    const uint8_t *addend = tile->addend + blocks.y * tile->addend_row_stride + (of_pixels ? 0 : blocks.channel);
    lines->lane = of_pixels ? 0 : 1;
    lines->addend_on = of_pixels ? addend_row : 0;
    lines->input_step = input_column - (width - 1);
    lines->output_step = output_column;
    match_share_t share = match_share(blocks.count * blocks.pixels);
    int32_t row = 0;
    int32_t column = share.first;
    if (column >= columns) {
        row = column / columns;
        column -= row * columns;
    }
    for (int32_t left = share.last - share.first; left > 0; left -= lines->rows * lines->columns) {
        bool whole = column == 0 && left >= columns;
        lines->rows = whole ? left / columns : 1;
        lines->columns = whole ? columns : match_smaller(left, columns - column);
        lines->input = input + row * input_row + column * input_column;
        lines->output = output + row * output_row + column * output_column;
        lines->addend = addend + row * addend_row;
        lines->input_back = input_row - lines->columns * input_column;
        lines->output_back = output_row - lines->columns * output_column;
        rectangle(lines, form, width);
        row += lines->rows;
        column = 0;
    }
}

static bool has_one_pixel(const match_tile_t *tile)
{
    return tile->addend_row_stride == 0 && tile->addend_pixel_stride == 0 &&
           tile->output_height * tile->output_width > 1;
}

bool match_are_lines(const match_tile_t *tile, const match_finish_t *finish)
{
    match_form_t form = finish->form;
    bool narrow = form == MATCH_FORM_SPLIT || form == MATCH_FORM_SPLIT_SIGNED ||
                  (form == MATCH_FORM_32 && finish->clip_low == 0);
    return narrow && finish->excepted == NULL && (match_one_channel(tile) || has_one_pixel(tile));
}

/* Whether rows with these strides lie side by side. */
static bool are_joined(const match_tile_t *tile, int32_t row_stride, int32_t pixel_stride)
{
    return row_stride == tile->output_width * pixel_stride;
}

void match_lines(const match_tile_t *tile, const match_finish_t *finish, const match_bilinear_t *sum)
{
    lines_t lines; /* an initializer would clear it byte by byte */
    begin(&lines, finish, sum);
    bool joined = are_joined(tile, tile->input_row_stride, tile->input_pixel_stride) &&
                  are_joined(tile, tile->addend_row_stride, tile->addend_pixel_stride) &&
                  are_joined(tile, tile->output_row_stride, tile->output_pixel_stride);
    int32_t rows = joined ? 1 : tile->output_height;
    int32_t pixels = joined ? tile->output_height * tile->output_width : tile->output_width;
    int32_t fours = tile->channels_out / FOUR;
    int32_t rest = tile->channels_out % FOUR;
    for (int32_t y = 0; y < rows; y++) {
        if (fours > 0) {
            blocks_t blocks = {.width = FOUR, .count = fours, .y = y, .pixels = pixels};
            share_blocks(tile, finish->form, &lines, blocks);
        }
        if (rest > 0) {
            blocks_t blocks = {.channel = FOUR * fours, .width = 1, .count = rest, .y = y, .pixels = pixels};
            share_blocks(tile, finish->form, &lines, blocks);
        }
    }
}
