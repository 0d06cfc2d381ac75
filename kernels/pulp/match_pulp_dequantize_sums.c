#include "match_pulp.h"
#include "match_pulp_runs.h"

/* Words and numbers of tensors. */
typedef int32_t __attribute__((may_alias)) word_t;
typedef float __attribute__((may_alias)) number_t;

/* `count` sums of as many channels. */
static void dequantize(const match_dequantize_t *restrict channels, const word_t *restrict sums,
                       number_t *restrict numbers, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t sum = (int32_t)((uint32_t)sums[i] + (uint32_t)channels[i].offset);
        float product = (float)sum * channels[i].scale;
        numbers[i] = product + channels[i].bias;
    }
}

void match_pulp_dequantize_sums(const match_tile_t *tile)
{
    const match_dequantize_t *channels = tile->parameters;
    const word_t *sums = (const word_t *)(const void *)tile->input;
    number_t *numbers = (number_t *)(void *)tile->output;
    match_run_t run = match_first_run(tile, 1); /* a run is of one pixel, so that it begins at channel `first` */
    for (; run.count > 0; match_next_run(tile, &run)) {
        dequantize(channels + run.first,
                   sums + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride),
                   numbers + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride), run.count);
    }
}
