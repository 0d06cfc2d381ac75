#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_int16.h"
#include "match_pulp_simd.h"

/* The least value, in both halves. */
static const match_bytes4_t LEAST = 0x80008000;

/* Largest values of four channels of a window, or of one, from one on. */
MATCH_INLINE void largest_of(const match_tile_t *tile, const match_finish_int16_t *finish,
                             const match_window_int16_t *window, int32_t channel, int channels, match_half_t *output)
{
    (void)finish;
    match_bytes4_t low = LEAST, high = LEAST;
    const match_half_t *row = window->first + channel;
    for (int32_t rows = window->rows.inside; rows > 0; rows--, row += tile->dilation_y * tile->input_row_stride) {
        const match_half_t *x = row;
        for (int32_t left = window->columns.inside; left > 0; left--, x += tile->dilation_x * tile->input_pixel_stride) {
            if (channels == MATCH_HALVES) {
                low = match_max2(low, match_load4(x));
                high = match_max2(high, match_load4(x + 2));
            } else {
                low = match_max2(low, (uint16_t)*x);
            }
        }
    }
    output[channel] = (int16_t)(uint16_t)low;
    if (channels == MATCH_HALVES) {
        output[channel + 1] = (int16_t)(uint16_t)(low >> 16);
        output[channel + 2] = (int16_t)(uint16_t)high;
        output[channel + 3] = (int16_t)(uint16_t)(high >> 16);
    }
}

void match_pulp_max_pool2d_int16(const match_tile_t *tile)
{
    match_compute_int16(tile, largest_of);
}

/* Ones over the lower halves of words, and over the upper halves. */
static const match_bytes4_t LOWER = 0x00000001, UPPER = 0x00010000;

/* Averages of four channels of a window, or of one, from one on. */
MATCH_INLINE void average_of(const match_tile_t *tile, const match_finish_int16_t *finish,
                             const match_window_int16_t *window, int32_t channel, int channels, match_half_t *output)
{
    int32_t sums[MATCH_HALVES] = {0};
    const match_half_t *row = window->first + channel;
    for (int32_t rows = window->rows.inside; rows > 0; rows--, row += tile->dilation_y * tile->input_row_stride) {
        const match_half_t *x = row;
        for (int32_t left = window->columns.inside; left > 0; left--, x += tile->dilation_x * tile->input_pixel_stride) {
            if (channels == MATCH_HALVES) {
                match_bytes4_t low = match_load4(x), high = match_load4(x + 2);
                sums[0] = match_dot2(low, LOWER, sums[0]);
                sums[1] = match_dot2(low, UPPER, sums[1]);
                sums[2] = match_dot2(high, LOWER, sums[2]);
                sums[3] = match_dot2(high, UPPER, sums[3]);
            } else {
                sums[0] += *x;
            }
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < channels; k++) {
        output[channel + k] = match_finish_half(finish, channel + k, sums[k]);
    }
}

void match_pulp_avg_pool2d_int16(const match_tile_t *tile)
{
    match_compute_int16(tile, average_of);
}
