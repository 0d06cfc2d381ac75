#include "match_pulp.h"
#include "match_pulp_level.h"
#include "match_pulp_runs.h"

/* Words of tensors of float32. */
typedef int32_t __attribute__((may_alias)) word_t;

static void quantize(const match_quantize_t *restrict p, const word_t *restrict input, uint8_t *restrict output,
                     int32_t count)
{
    match_level_t levels = match_level_parameters(p);
    int32_t lowest = p->lowest;
#pragma GCC unroll 4
    for (int32_t i = 0; i < count; i++) {
        output[i] = (uint8_t)(match_level_of(&levels, input[i]) + lowest);
    }
}

void match_pulp_quantize(const match_tile_t *tile)
{
    const word_t *numbers = (const word_t *)(const void *)tile->input;
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
    word_t *numbers = (word_t *)(void *)tile->output;
    int32_t input_pixels = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t output_pixels = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    match_run_t run = match_first_run(tile, match_smaller(input_pixels, output_pixels));
    for (; run.count > 0; match_next_run(tile, &run)) {
        dequantize(tile->parameters,
                   tile->input + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride),
                   numbers + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride), run.count);
    }
}
