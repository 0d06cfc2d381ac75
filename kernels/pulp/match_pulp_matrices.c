#include <stddef.h>
#include <string.h>

#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

/* An output is sum((a - a_zero) * (b - b_zero)) over `length` bytes of a row of each matrix, which is
 * sum(a * b) - b_zero * sum(a) - a_zero * sum(b - b_zero). Numbers wrap, which C defines for unsigned ones only; what
 * is left in the end fits 32 bits. */
typedef struct {
    int32_t length;
    uint32_t a_zero;
    uint32_t b_zero;
} matrices_t;

/* A unit: four rows of the second matrix, whose outputs are channels, and two of the first, whose outputs are pixels.
 * Where the matrices have fewer, rows are repeated, and their outputs are not stored. */
typedef struct {
    const uint8_t *a[MATCH_BLOCK_PIXELS];
    const uint8_t *b[MATCH_BLOCK_CHANNELS];
} rows_t;

/* Sums of products by channel and pixel, and of the bytes of each row of the first matrix. */
typedef struct {
    uint32_t products[MATCH_BLOCK_CHANNELS][MATCH_BLOCK_PIXELS];
    uint32_t bytes[MATCH_BLOCK_PIXELS];
} sums_t;

#define ONES 0x01010101u

static __attribute__((noinline)) uint32_t sum_of(const uint8_t *bytes, int32_t length)
{
    int32_t sum = 0;
    int32_t at = 0;
    for (; at + 4 <= length; at += 4) {
        sum = match_dot4(match_load4(bytes + at), ONES, sum);
    }
    for (; at < length; at++) {
        sum += bytes[at];
    }
    return (uint32_t)sum;
}

/* Byte by byte. */
MATCH_INLINE void multiply_bytes(const rows_t *rows, int32_t length, sums_t *sums)
{
    *sums = (sums_t){.bytes = {0}};
    for (int32_t at = 0; at < length; at++) {
#pragma GCC unroll 2
        for (int j = 0; j < MATCH_BLOCK_PIXELS; j++) {
            sums->bytes[j] += rows->a[j][at];
#pragma GCC unroll 4
            for (int i = 0; i < MATCH_BLOCK_CHANNELS; i++) {
                sums->products[i][j] += (uint32_t)rows->a[j][at] * rows->b[i][at];
            }
        }
    }
}

#if defined(MATCH_PULP_SIMD)

/* Four bytes of the rows from byte `at` on, of the first matrix those in `mask`. */
MATCH_INLINE void add_word(const rows_t *rows, int32_t at, match_bytes4_t mask, sums_t *sums)
{
    match_bytes4_t a[MATCH_BLOCK_PIXELS];
#pragma GCC unroll 2
    for (int j = 0; j < MATCH_BLOCK_PIXELS; j++) {
        a[j] = match_load4(rows->a[j] + at) & mask;
        sums->bytes[j] = match_unsigned_dot4(a[j], ONES, sums->bytes[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < MATCH_BLOCK_CHANNELS; i++) {
        match_bytes4_t b = match_load4(rows->b[i] + at);
#pragma GCC unroll 2
        for (int j = 0; j < MATCH_BLOCK_PIXELS; j++) {
            sums->products[i][j] = match_unsigned_dot4(a[j], b, sums->products[i][j]);
        }
    }
}

#if defined(MATCH_PULP_INSN)

/* A step, and the bytes of the first matrix's rows added up. */
#define STEP(DOT4) MATCH_STEP_4X2(DOT4) DOT4("%18", "%14", "%21") DOT4("%19", "%15", "%21")

/* The first `words` words of the rows, at least one. */
MATCH_INLINE void multiply_words(const rows_t *rows, int32_t words, sums_t *sums)
{
    uint32_t a, b, c, d;
    rows_t next = *rows;
    __asm__ volatile(STEP(MATCH_INSN_FIRST_UNSIGNED_DOT4)
                     "beqz %20, 1f\n"
                     MATCH_INSN_LOOP("%20", 16)
                     STEP(MATCH_INSN_UNSIGNED_DOT4)
                     MATCH_INSN_LOOP_END
                     "1:\n"
                     : "=&r"(sums->products[0][0]), "=&r"(sums->products[0][1]), "=&r"(sums->products[1][0]),
                       "=&r"(sums->products[1][1]), "=&r"(sums->products[2][0]), "=&r"(sums->products[2][1]),
                       "=&r"(sums->products[3][0]), "=&r"(sums->products[3][1]), "+r"(next.a[0]), "+r"(next.a[1]),
                       "+r"(next.b[0]), "+r"(next.b[1]), "+r"(next.b[2]), "+r"(next.b[3]), "=&r"(a), "=&r"(b),
                       "=&r"(c), "=&r"(d), "=&r"(sums->bytes[0]), "=&r"(sums->bytes[1])
                     : "r"(words - 1), "r"(ONES)
                     : "memory");
}

#else

MATCH_INLINE void multiply_words(const rows_t *rows, int32_t words, sums_t *sums)
{
    *sums = (sums_t){.bytes = {0}};
    for (int32_t at = 0; at < 4 * words; at += 4) {
        add_word(rows, at, 0xffffffffu, sums);
    }
}

#endif

MATCH_INLINE void multiply_rows(const rows_t *rows, int32_t length, sums_t *sums)
{
    if (length < 4) {
        multiply_bytes(rows, length, sums);
        return;
    }
    multiply_words(rows, length >> 2, sums);
    if (length & 3) {
        add_word(rows, length - 4, 0xffffffffu << (32 - 8 * (length & 3)), sums);
    }
}

#else
#define multiply_rows multiply_bytes
#endif

/* An output by a form that the compiler knows, so that its instructions stay in a core's own cache beside the product's. All
 * channels have the same parameters. */
MATCH_INLINE int32_t requantized(const match_finish_t *finish, match_form_t form, int32_t acc)
{
    switch (form) {
    case MATCH_FORM_32:
        return match_requantize_32(finish, match_parameters_32(finish->parameters), acc);
    case MATCH_FORM_SPLIT:
        return match_requantize_split(match_parameters_split(finish->parameters), acc);
    case MATCH_FORM_SPLIT_SIGNED:
        return match_requantize_split_signed(match_parameters_split_signed(finish->parameters), acc);
    case MATCH_FORM_HIGH:
    case MATCH_FORM_64:
    case MATCH_FORM_64_SIGNED:
    default:
        return match_requantize_with(finish, finish->parameters, acc);
    }
}

/* The accumulator of a channel and a pixel of a unit. */
MATCH_INLINE int32_t accumulator(const matrices_t *matrices, const sums_t *sums, const uint32_t less[], int i, int j)
{
    return (int32_t)(sums->products[i][j] - less[i] - matrices->b_zero * sums->bytes[j]);
}

/* Which outputs of a unit have accumulators that are exceptions: a bit for each channel of the first pixel, then those of
 * the second one. */
static __attribute__((noinline)) int32_t exceptions_of(const match_finish_t *finish, const matrices_t *matrices, sums_t sums,
                                                       const uint32_t less[])
{
    match_exceptions_t exceptions = match_exceptions_of(finish, 0);
    int32_t found = 0;
    for (int bit = 0; bit < MATCH_BLOCK_PIXELS * MATCH_BLOCK_CHANNELS; bit++) {
        int32_t acc = accumulator(matrices, &sums, less, bit % MATCH_BLOCK_CHANNELS, bit / MATCH_BLOCK_CHANNELS);
        found |= match_is_exception(exceptions, acc) << bit;
    }
    return found;
}

MATCH_INLINE void store(uint8_t *output, const int32_t y[], int32_t channels)
{
    if (channels >= MATCH_BLOCK_CHANNELS) {
        match_store_bytes4(&output, y);
        return;
    }
#pragma GCC unroll 3
    for (int i = 0; i < MATCH_BLOCK_CHANNELS - 1; i++) {
        if (i < channels) {
            output[i] = (uint8_t)y[i];
        }
    }
}

/* Outputs of a unit, `channels` of `pixels` pixels, of which it has two; `less` is a_zero * sum(b - b_zero) of each channel. */
MATCH_INLINE void multiply_unit(const match_finish_t *finish, const matrices_t *matrices, const rows_t *rows,
                                const uint32_t less[], uint8_t *output, int32_t output_step, int32_t channels,
                                int32_t pixels, match_form_t form)
{
    sums_t sums;
    multiply_rows(rows, matrices->length, &sums);
    int32_t y[MATCH_BLOCK_PIXELS][MATCH_BLOCK_CHANNELS];
#pragma GCC unroll 2
    for (int j = 0; j < MATCH_BLOCK_PIXELS; j++) {
#pragma GCC unroll 4
        for (int i = 0; i < MATCH_BLOCK_CHANNELS; i++) {
            y[j][i] = requantized(finish, form, accumulator(matrices, &sums, less, i, j));
        }
    }
    if (form == MATCH_FORM_64 && finish->excepted != NULL) { /* other forms are known to the compiler */
        int32_t found = exceptions_of(finish, matrices, sums, less);
#pragma GCC unroll 8
        for (int bit = 0; bit < MATCH_BLOCK_PIXELS * MATCH_BLOCK_CHANNELS; bit++) {
            y[bit / MATCH_BLOCK_CHANNELS][bit % MATCH_BLOCK_CHANNELS] -= found >> bit & 1;
        }
    }
    store(output, y[0], channels);
    if (pixels > 1) {
        store(output + output_step, y[1], channels);
    }
}

/* Cores share out units of all products: those of four rows of the second matrix, one after the other, then the next four. */
MATCH_INLINE void matmul(const match_tile_t *tile, match_finish_t finish, match_form_t form)
{
    int32_t zeros[2];
    memcpy(zeros, tile->weights, sizeof zeros);
    matrices_t matrices = {tile->channels_in, (uint32_t)zeros[0], (uint32_t)zeros[1]};
    int32_t a_step = tile->input_pixel_stride;
    int32_t output_step = tile->output_pixel_stride;
    int32_t pairs = (tile->output_width + 1) / 2;
    int32_t fours = (tile->channels_out + 3) / 4;
    match_share_t share = match_share(tile->output_height * fours * pairs);
    int32_t left = share.last - share.first;
    int32_t pair = 0;
    int32_t four = 0;
    int32_t y = 0;
    if (share.first > 0 && left > 0) {
        four = share.first / pairs;
        pair = share.first % pairs;
        y = four / fours;
        four %= fours;
    }
    while (left > 0) {
        int32_t first = 4 * four;
        int32_t channels = match_smaller(tile->channels_out - first, MATCH_BLOCK_CHANNELS);
        rows_t rows;
        uint32_t less[MATCH_BLOCK_CHANNELS];
#pragma GCC unroll 4
        for (int i = 0; i < MATCH_BLOCK_CHANNELS; i++) {
            int32_t k = first + match_smaller(i, channels - 1);
            rows.b[i] = tile->addend + y * tile->addend_row_stride + k * tile->addend_pixel_stride;
            uint32_t sum = sum_of(rows.b[i], matrices.length) - (uint32_t)matrices.length * matrices.b_zero;
            less[i] = matrices.a_zero * sum;
        }
        const uint8_t *a = match_input_pixel(tile, y, 2 * pair);
        uint8_t *output = match_output_pixel(tile, y, 2 * pair) + first;
        int32_t pixels = tile->output_width - 2 * pair;
        for (; pixels > 0 && left > 0; pixels -= 2, left--) {
            rows.a[0] = a;
            rows.a[1] = pixels > 1 ? a + a_step : a;
            multiply_unit(&finish, &matrices, &rows, less, output, output_step, channels, pixels, form);
            a += 2 * a_step;
            output += 2 * output_step;
        }
        pair = 0;
        if (++four == fours) {
            four = 0;
            y++;
        }
    }
}

/* In a form that the compiler knows, or in any. */
static __attribute__((noinline)) void matmul_split_signed(const match_tile_t *tile)
{
    matmul(tile, match_finish_of(tile, MATCH_FORM_SPLIT), MATCH_FORM_SPLIT_SIGNED);
}

static __attribute__((noinline)) void matmul_any(const match_tile_t *tile, match_form_t form)
{
    matmul(tile, match_finish_of(tile, form), MATCH_FORM_64);
}

void match_pulp_matrices(const match_tile_t *tile)
{
    matmul_any(tile, MATCH_FORM_64);
}

void match_pulp_matrices_split(const match_tile_t *tile)
{
    if (tile->excepted != NULL) {
        matmul_any(tile, MATCH_FORM_SPLIT);
    } else if (tile->negative_step == 0) {
        matmul(tile, match_finish_of(tile, MATCH_FORM_SPLIT), MATCH_FORM_SPLIT);
    } else {
        matmul_split_signed(tile);
    }
}

void match_pulp_matrices_int32(const match_tile_t *tile)
{
    matmul(tile, match_finish_of(tile, MATCH_FORM_32), MATCH_FORM_32);
}
