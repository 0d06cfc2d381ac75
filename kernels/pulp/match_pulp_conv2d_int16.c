#include <stdbool.h>

#include "match_pulp.h"
#include "match_pulp_dot_int16.h"
#include "match_pulp_int16.h"
#include "match_pulp_simd.h"

/* Add `count` products of elements from x on to a channel. */
MATCH_INLINE void add_to_one(int32_t accs[MATCH_HALVES], const match_half_t *x, const match_half_t *filter,
                             int32_t count)
{
    for (int32_t pairs = count >> 1; pairs > 0; pairs--, x += 2, filter += 2) {
        accs[0] = match_dot2(match_load4(x), match_load4(filter), accs[0]);
    }
    if (count & 1) {
        accs[0] = match_multiply_add(accs[0], *x, *filter);
    }
}

/* Four channels of a pixel, or one, from one on. */
MATCH_INLINE void convolve(const match_tile_t *tile, const match_finish_int16_t *finish,
                           const match_window_int16_t *window, int32_t channel, int channels, match_half_t *output)
{
    int32_t row = tile->filter_width * tile->channels_in, length = tile->filter_height * row;
    bool joined = tile->dilation_x == 1 && tile->input_pixel_stride == tile->channels_in;
    int32_t runs = joined ? 1 : window->columns.inside;
    int32_t count = joined ? window->columns.inside * tile->channels_in : tile->channels_in;
    const match_half_t *filters = (const match_half_t *)tile->weights + channel * length;
    filters += window->before * tile->channels_in;
    const match_half_t *pixels = window->first;
    int32_t accs[MATCH_HALVES] = {0};
    for (int32_t left = window->rows.inside; left > 0; left--) {
        const match_half_t *x = pixels, *filter = filters;
        for (int32_t run = runs; run > 0; run--, x += tile->dilation_x * tile->input_pixel_stride, filter += count) {
            if (channels == MATCH_HALVES) {
                match_add_to_four(accs, x, filter, length, count);
            } else {
                add_to_one(accs, x, filter, count);
            }
        }
        pixels += tile->dilation_y * tile->input_row_stride;
        filters += row;
    }
#pragma GCC unroll 4
    for (int k = 0; k < channels; k++) {
        output[channel + k] = match_finish_half(finish, channel + k, accs[k]);
    }
}

void match_pulp_conv2d_int16(const match_tile_t *tile)
{
    match_compute_int16(tile, convolve);
}

void match_pulp_dense_int16(const match_tile_t *tile)
{
    match_tile_t pointwise = *tile;
    pointwise.filter_height = pointwise.filter_width = 1;
    pointwise.stride_y = pointwise.stride_x = 1;
    pointwise.dilation_y = pointwise.dilation_x = 1;
    match_pulp_conv2d_int16(&pointwise);
}

void match_pulp_grouped_conv2d_int16(const match_tile_t *tile)
{
    match_tile_t group = *tile;
    int32_t length = tile->filter_height * tile->filter_width * tile->channels_in;
    ptrdiff_t parameters = match_finish_int16_of(tile).bytes;
    for (int32_t g = 0; g < tile->groups; g++) {
        match_pulp_conv2d_int16(&group);
        group.input += tile->channels_in * (ptrdiff_t)sizeof(match_half_t);
        group.output += tile->channels_out * (ptrdiff_t)sizeof(match_half_t);
        group.weights = (const match_half_t *)group.weights + tile->channels_out * length;
        group.parameters = (const uint8_t *)group.parameters + tile->channels_out * parameters;
    }
}
