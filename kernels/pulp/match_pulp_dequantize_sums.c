#include "match_pulp.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

/* Words and numbers of tensors. */
typedef int32_t __attribute__((may_alias)) word_t;
typedef float __attribute__((may_alias)) number_t;

/* `count` sums, each with the line of a channel. */
static void dequantize(const match_number_line_t *restrict lines, const word_t *restrict sums,
                       number_t *restrict numbers, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t sum = (int32_t)((uint32_t)sums[i] + (uint32_t)lines[i].offset);
        float product = (float)sum * lines[i].scale;
        numbers[i] = product + lines[i].bias;
    }
}

void match_pulp_dequantize_sums(const match_tile_t *tile)
{
    const word_t *sums = (const word_t *)(const void *)tile->input;
    number_t *numbers = (number_t *)(void *)tile->output;
    int32_t input_pixels = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t output_pixels = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    match_run_t run = match_first_run(tile, match_smaller(input_pixels, output_pixels));
    for (; run.count > 0; match_next_run(tile, &run)) {
        const word_t *input = sums + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride);
        number_t *output = numbers + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride);
        int32_t channel = run.first % tile->channels_out;
        for (int32_t left = run.count, count; left > 0; left -= count) {
            count = match_smaller(tile->channels_out - channel, left);
            dequantize((const match_number_line_t *)tile->parameters + channel, input, output, count);
            input += count;
            output += count;
            channel = 0;
        }
    }
}
