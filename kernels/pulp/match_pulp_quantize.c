#include "match_pulp.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

/* Words of tensors of float32. */
typedef int32_t __attribute__((may_alias)) word_t;

enum { LEADING = 0x8000, BEHIND_LEADING = 0x7fff, LARGEST_SHIFT = 31, LAST = 255 };

/* The output for a number by its bits, counted from the lowest. */
static inline int32_t level_of(const match_quantize_t *p, int32_t multiplier, int32_t exponent, int32_t zero,
                               int32_t bits)
{
    int32_t negative = bits >> 31;
    uint32_t digits = ((uint32_t)bits >> 8 & BEHIND_LEADING) | LEADING;
    int32_t shift = match_clip_from_0(exponent - ((int32_t)((uint32_t)bits << 1 >> 24)), LARGEST_SHIFT);
    int32_t level = (int32_t)(digits * (uint32_t)multiplier >> shift);
    int32_t at = match_clip_from_0((level ^ negative) + zero, LAST);
    int32_t order = bits ^ (int32_t)((uint32_t)negative >> 1);
    return at + (order > p->steps[at]);
}

static void quantize(const match_quantize_t *restrict p, const word_t *restrict input, uint8_t *restrict output,
                     int32_t count)
{
    int32_t multiplier = p->multiplier;
    int32_t exponent = p->exponent;
    int32_t zero = p->zero;
    int32_t lowest = p->lowest;
#pragma GCC unroll 4
    for (int32_t i = 0; i < count; i++) {
        output[i] = (uint8_t)(level_of(p, multiplier, exponent, zero, input[i]) + lowest);
    }
}

void match_pulp_quantize(const match_tile_t *tile)
{
    const word_t *numbers = (const word_t *)tile->input;
    int32_t input_pixels = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t output_pixels = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    match_run_t run = match_first_run(tile, match_smaller(input_pixels, output_pixels));
    for (; run.count > 0; match_next_run(tile, &run)) {
        quantize(tile->parameters,
                 numbers + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride),
                 tile->output + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride),
                 run.count);
    }
}

static void dequantize(const word_t *restrict table, const uint8_t *restrict input, word_t *restrict output,
                       int32_t count)
{
#pragma GCC unroll 4
    for (int32_t i = 0; i < count; i++) {
        output[i] = table[input[i]];
    }
}

void match_pulp_dequantize(const match_tile_t *tile)
{
    word_t *numbers = (word_t *)tile->output;
    int32_t input_pixels = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t output_pixels = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    match_run_t run = match_first_run(tile, match_smaller(input_pixels, output_pixels));
    for (; run.count > 0; match_next_run(tile, &run)) {
        dequantize(tile->parameters,
                   tile->input + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride),
                   numbers + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride), run.count);
    }
}
