#include <stdbool.h>
#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Input rows that the tile's output sees, padding included. */
static int32_t seen_rows(const match_tile_t *tile)
{
    return (tile->output_height - 1) * tile->stride_y + (tile->filter_height - 1) * tile->dilation_y + 1;
}

/* Gather what output column x sees of one channel, (seen_rows, filter_width): the windows of all its pixels, one below
 * the other. */
static void gather(const match_tile_t *restrict tile, int32_t channel, int32_t x, uint8_t *column)
{
    int32_t rows = seen_rows(tile);
    for (int32_t fx = 0; fx < tile->filter_width; fx++) {
        match_position_t seen = match_seen(tile, 0, x, 0, fx);
        bool inside = seen.x >= 0 && seen.x < tile->input_width;
        int32_t first = inside ? smaller(tile->pad_top, rows) : rows;
        int32_t last = inside ? smaller(tile->pad_top + tile->input_height, rows) : rows;
        const uint8_t *input = match_input_pixel(tile, first - tile->pad_top, seen.x) + channel;
        uint8_t *gathered = column + fx;
        for (int32_t row = 0; row < first; row++, gathered += tile->filter_width) {
            *gathered = (uint8_t)tile->pad_value;
        }
        for (int32_t row = first; row < last; row++, gathered += tile->filter_width, input += tile->input_row_stride) {
            *gathered = *input;
        }
        for (int32_t row = last; row < rows; row++, gathered += tile->filter_width) {
            *gathered = (uint8_t)tile->pad_value;
        }
    }
}

/* Accumulator of the window that starts at `column`. */
static int32_t accumulate(const match_tile_t *tile, const uint8_t *column, const int8_t *weights)
{
    if (tile->dilation_y == 1) {
        return match_pulp_dot(column, weights, tile->filter_height * tile->filter_width);
    }
    int32_t acc = 0;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        acc += match_pulp_dot(column + fy * tile->dilation_y * tile->filter_width, weights + fy * tile->filter_width,
                              tile->filter_width);
    }
    return acc;
}

void match_pulp_depthwise_conv2d(const match_tile_t *restrict tile)
{
    ptrdiff_t column_bytes = ((ptrdiff_t)tile->filter_width * seen_rows(tile) + 3) / 4 * 4;
    uint8_t *column = (uint8_t *)tile->scratch + match_core_id() * column_bytes;
    match_share_t channels = match_share(tile->channels_out, 1);
    for (int32_t k = channels.first; k < channels.last; k++) {
        const int8_t *weights = (const int8_t *)tile->weights + (ptrdiff_t)k * tile->filter_height * tile->filter_width;
        for (int32_t x = 0; x < tile->output_width; x++) {
            gather(tile, k, x, column);
            for (int32_t y = 0; y < tile->output_height; y++) {
                int32_t acc = accumulate(tile, column + y * tile->stride_y * tile->filter_width, weights);
                match_output_pixel(tile, y, x)[k] = match_requantize(tile, k, acc);
            }
        }
    }
}
