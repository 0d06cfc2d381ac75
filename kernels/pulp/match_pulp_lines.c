#include "match_pulp_lines.h"

#include "match_pulp_dot.h"
#include "match_pulp_runs.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"

enum {
    FOUR = 4,
    SLOPE_SHIFT = 16, /* of the slopes of LINES_ROUNDED */
    LANES_OF_WORDS = 0x703, /* the uppermost bytes of two words */
};

/* Whose lines they are: those of a form of requantization, or of products with a slope that is rounded for each row. */
typedef enum { LINES_32, LINES_SPLIT, LINES_SIGNED, LINES_ROUNDED } kind_t;

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
    match_bilinear_t sum;  /* 11 .. 14: times the multiplier and with the bias in LINES_32, with the addend in others */
    int32_t largest;       /* 15: of sums, or of outputs in LINES_32 and LINES_ROUNDED */
    uint32_t low;          /* 16: or the shift in these */
    uint32_t bias;         /* 17: in LINES_ROUNDED these four make a byte of the addend the slope of a row */
    uint32_t high;         /* 18 */
    int32_t below;         /* 19 */
    uint32_t negative;     /* 20 */
} lines_t;

static int32_t times(int32_t a, int32_t b)
{
    return match_multiply_add(0, a, b);
}

/* What all rectangles have. */
static void begin(lines_t *lines, kind_t kind, const match_finish_t *finish, const match_bilinear_t *sum)
{
    const uint8_t *parameters = finish->parameters;
    if (kind == LINES_32) {
        match_requant32_t p = match_parameters_32(parameters);
        lines->sum.both = times(sum->both, p.multiplier);
        lines->sum.input = times(sum->input, p.multiplier);
        lines->sum.addend = times(sum->addend, p.multiplier);
        lines->sum.constant = match_multiply_add(p.bias, sum->constant, p.multiplier);
        lines->largest = finish->clip_high;
        lines->low = (uint32_t)p.shift;
        return;
    }
    if (kind == LINES_ROUNDED) {
        match_requant32_t p = match_parameters_32(parameters);
        int32_t low = p.multiplier & ((1 << SLOPE_SHIFT) - 1);
        int32_t high = p.multiplier >> SLOPE_SHIFT;
        lines->sum = *sum;
        lines->sum.constant = p.bias;
        lines->largest = finish->clip_high;
        lines->low = (uint32_t)p.shift;
        lines->bias = (uint32_t)match_multiply_add(1 << (SLOPE_SHIFT - 1), sum->input, low);
        lines->high = (uint32_t)high;
        lines->below = times(sum->input, high);
        lines->negative = (uint32_t)low;
        return;
    }
    match_requant_split_t split = match_parameters_split(parameters);
    lines->sum = *sum;
    lines->sum.constant += split.addend;
    lines->largest = split.largest;
    lines->low = split.low;
    lines->bias = split.bias;
    lines->high = split.high;
    if (kind == LINES_SIGNED) {
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
#define LANES "a7"
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
#define SLOPE_LOW NEGATIVE
#define SLOPE_HIGH HIGH
#define SLOPE_BIAS BIAS
#define SLOPE_MORE BELOW
#define SIXTEEN LANES

/* The lines of a row, 25 instructions, of rounded ones 32; loads stay away from what uses them, which would wait a cycle. */
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

#define SLOPE(slope, byte)                                    \
    MATCH_INSN_ADD_SHIFT(slope, SLOPE_BIAS, SIXTEEN)          \
    MATCH_INSN_MULTIPLY_ADD(slope, byte, SLOPE_HIGH)          \
    "add " slope ", " slope ", " SLOPE_MORE "\n"
#define ROW_OF_SLOPES                                \
    FIELD(E, 5)                                      \
    FIELD(OFFSET_A, 14)                              \
    MATCH_INSN_LOAD_BYTE_STEP(A, ADDEND, E)          \
    MATCH_INSN_LOAD_BYTE_STEP(B, ADDEND, E)          \
    MATCH_INSN_LOAD_BYTE_STEP(C, ADDEND, E)          \
    MATCH_INSN_LOAD_BYTE_STEP(D, ADDEND, E)          \
    "mul " SLOPE_A ", " A ", " SLOPE_LOW "\n"        \
    "mul " SLOPE_B ", " B ", " SLOPE_LOW "\n"        \
    "mul " SLOPE_C ", " C ", " SLOPE_LOW "\n"        \
    "mul " SLOPE_D ", " D ", " SLOPE_LOW "\n"        \
    FIELD(E, 13)                                     \
    SLOPE(SLOPE_A, A)                                \
    SLOPE(SLOPE_B, B)                                \
    SLOPE(SLOPE_C, C)                                \
    SLOPE(SLOPE_D, D)                                \
    "mv " OFFSET_B ", " OFFSET_A "\n"                \
    "mv " OFFSET_C ", " OFFSET_A "\n"                \
    "mv " OFFSET_D ", " OFFSET_A "\n"                \
    FIELD(A, 10)                                     \
    MATCH_INSN_MULTIPLY_ADD(OFFSET_A, SLOPE_A, E)    \
    MATCH_INSN_MULTIPLY_ADD(OFFSET_B, SLOPE_B, E)    \
    MATCH_INSN_MULTIPLY_ADD(OFFSET_C, SLOPE_C, E)    \
    MATCH_INSN_MULTIPLY_ADD(OFFSET_D, SLOPE_D, E)    \
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
#define FOURS(form, row, row_instructions, constant)                                                               \
    __asm__ volatile(FIELD(INPUT, 0) FIELD(OUTPUT, 1) FIELD(ADDEND, 2) FIELD(E, 3) FIELD(COLUMNS, 4)               \
                     FIELD(INPUT_STEP, 6) FIELD(OUTPUT_STEP, 7) FIELD(LARGEST, 15) FIELD(LOW, 16) FIELD(BIAS, 17)  \
                     FIELD(HIGH, 18) FIELD(BELOW, 19) FIELD(NEGATIVE, 20) "li " LANES ", %[lanes]\n"               \
                     MATCH_INSN_OUTER_LOOP(E, row_instructions + 1 + BLOCK_INSTRUCTIONS_##form + 4)                \
                     row                                                                                           \
                     MATCH_INSN_LOOP(COLUMNS, BLOCK_INSTRUCTIONS_##form)                                           \
                     PRODUCTS BLOCK_##form                                                                         \
                     MATCH_INSN_LOOP_END                                                                           \
                     NEXT_ROW                                                                                      \
                     MATCH_INSN_LOOP_END                                                                           \
                     : "+r"(record)                                                                                \
                     : [lanes] "i"(constant)                                                                       \
                     : "ra", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s1", "s2", "s3", "s4", "s5", "s6", "s7",   \
                       "s8", "s9", "s10", "s11", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "memory")

/* A rectangle of fours; each form has its own registers to save, and so a function. */
static __attribute__((noinline)) void fours_32(const lines_t *lines)
{
    register const lines_t *record __asm__("a0") = lines;
    FOURS(32, ROW, 25, LANES_OF_WORDS);
}

static __attribute__((noinline)) void fours_rows(const lines_t *lines)
{
    register const lines_t *record __asm__("a0") = lines;
    FOURS(32, ROW_OF_SLOPES, 32, SLOPE_SHIFT);
}

static __attribute__((noinline)) void fours_split(const lines_t *lines)
{
    register const lines_t *record __asm__("a0") = lines;
    FOURS(SPLIT, ROW, 25, LANES_OF_WORDS);
}

static __attribute__((noinline)) void fours_signed(const lines_t *lines)
{
    register const lines_t *record __asm__("a0") = lines;
    FOURS(SIGNED, ROW, 25, LANES_OF_WORDS);
}

#endif

/* The slope of the elements that this byte multiplies in LINES_ROUNDED. */
static inline int32_t slope_of(const lines_t *lines, int32_t byte)
{
    int32_t lower = match_add_shift(times(byte, (int32_t)lines->negative), (int32_t)lines->bias, SLOPE_SHIFT);
    return match_multiply_add(lower + lines->below, byte, (int32_t)lines->high);
}

/* A rectangle of single bytes, or of fours where there are no instructions for them, of a kind that the compiler knows. What
 * it reads in loops is a copy, so that stores to the output do not touch it. */
MATCH_INLINE void bytes(const lines_t *lines, kind_t kind, int32_t width)
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
            bool rounded = kind == LINES_ROUNDED;
            int32_t slope = rounded ? slope_of(lines, *addend) : match_multiply_add(sum.input, sum.both, *addend);
            int32_t offset = match_multiply_add(sum.constant, sum.addend, rounded ? slope : *addend);
            const uint8_t *from = input + lane;
            uint8_t *to = output + lane;
            for (int32_t left = columns; left > 0; left--) {
                int32_t acc = match_multiply_add(offset, (int32_t)match_load_step(&from, input_column), slope);
                int32_t value = kind == LINES_32 || rounded ? match_clip_from_0(acc >> shift, most)
                                : kind == LINES_SPLIT ? match_requantize_split(split, acc)
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
    bytes(lines, LINES_32, width);
}

static void rectangle_rows(const lines_t *lines, int32_t width)
{
#if defined(MATCH_PULP_INSN)
    if (width == FOUR) {
        fours_rows(lines);
        return;
    }
#endif
    bytes(lines, LINES_ROUNDED, width);
}

static void rectangle_split(const lines_t *lines, int32_t width)
{
#if defined(MATCH_PULP_INSN)
    if (width == FOUR) {
        fours_split(lines);
        return;
    }
#endif
    bytes(lines, LINES_SPLIT, width);
}

static void rectangle_signed(const lines_t *lines, int32_t width)
{
#if defined(MATCH_PULP_INSN)
    if (width == FOUR) {
        fours_signed(lines);
        return;
    }
#endif
    bytes(lines, LINES_SIGNED, width);
}

static void rectangle(const lines_t *lines, kind_t kind, int32_t width)
{
    if (kind == LINES_32) {
        rectangle_32(lines, width);
    } else if (kind == LINES_ROUNDED) {
        rectangle_rows(lines, width);
    } else if (kind == LINES_SPLIT) {
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
static void share_blocks(const match_tile_t *tile, kind_t kind, lines_t *lines, blocks_t blocks)
{
    /* Rows are those of a pixel, or of a block's channels. Of a single channel pixels have addends of their own. */
    bool of_pixels = match_one_channel(tile) || tile->addend_pixel_stride != 0 || tile->addend_row_stride != 0;
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
        rectangle(lines, kind, width);
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

static void lines_of(const match_tile_t *tile, kind_t kind, const match_finish_t *finish, const match_bilinear_t *sum)
{
    lines_t lines; /* an initializer would clear it byte by byte */
    begin(&lines, kind, finish, sum);
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
            share_blocks(tile, kind, &lines, blocks);
        }
        if (rest > 0) {
            blocks_t blocks = {.channel = FOUR * fours, .width = 1, .count = rest, .y = y, .pixels = pixels};
            share_blocks(tile, kind, &lines, blocks);
        }
    }
}

void match_lines(const match_tile_t *tile, const match_finish_t *finish, const match_bilinear_t *sum)
{
    match_form_t form = finish->form;
    kind_t kind = form == MATCH_FORM_32 ? LINES_32 : form == MATCH_FORM_SPLIT ? LINES_SPLIT : LINES_SIGNED;
    lines_of(tile, kind, finish, sum);
}

void match_rounded_lines(const match_tile_t *tile, const match_finish_t *finish, const match_bilinear_t *sum)
{
    lines_of(tile, LINES_ROUNDED, finish, sum);
}
