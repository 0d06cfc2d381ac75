#include <stdbool.h>

#include "match_pulp.h"
#include "match_pulp_level.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"

/* The input pixels inside a window, and the line of so many. */
typedef struct {
    const uint8_t *first;
    int32_t rows;
    int32_t columns;
    int32_t factor;
    int32_t bias;
} window_t;

static window_t window_of(const match_tile_t *tile, const match_float_average_t *parameters, int32_t y, int32_t x)
{
    int32_t row = y * tile->stride_y - tile->pad_top;
    int32_t column = x * tile->stride_x - tile->pad_left;
    match_range_t rows = match_range_of(row, 1, tile->filter_height, tile->input_height);
    match_range_t columns = match_range_of(column, 1, tile->filter_width, tile->input_width);
    int32_t count = match_larger(rows.inside * columns.inside, 1);
    int32_t factor = parameters->multiplier / count;
    return (window_t){
        .first = match_input_pixel(tile, row + rows.before, column + columns.before),
        .rows = rows.inside,
        .columns = columns.inside,
        .factor = factor,
        .bias = parameters->bias - rows.inside * columns.inside * parameters->input_zero * factor,
    };
}

static int32_t sum(const match_tile_t *tile, const window_t *window, int32_t channel)
{
    int32_t sum = 0;
    const uint8_t *row = window->first + channel;
    for (int32_t i = 0; i < window->rows; i++, row += tile->input_row_stride) {
        const uint8_t *pixel = row;
        for (int32_t j = 0; j < window->columns; j++, pixel += tile->input_pixel_stride) {
            sum += *pixel;
        }
    }
    return sum;
}

/* The output of a channel by the mean of its numbers, summed row by row. */
static __attribute__((noinline)) int32_t level_in_float(const match_tile_t *tile, const window_t *window,
                                                        int32_t channel)
{
    const match_float_average_t *parameters = tile->parameters;
    float sum = 0.0f;
    const uint8_t *row = window->first + channel;
    for (int32_t i = 0; i < window->rows; i++, row += tile->input_row_stride) {
        const uint8_t *pixel = row;
        for (int32_t j = 0; j < window->columns; j++, pixel += tile->input_pixel_stride) {
            sum += parameters->numbers[*pixel];
        }
    }
    union {
        float number;
        int32_t bits;
    } mean = {sum / (float)match_larger(window->rows * window->columns, 1)};
    match_level_t levels = match_level_parameters(&parameters->quantize);
    return match_level_of(&levels, mean.bits);
}

void match_pulp_float_avg_pool2d(const match_tile_t *tile)
{
    const match_float_average_t *parameters = tile->parameters;
    int32_t lowest = parameters->quantize.lowest;
    int32_t shift = parameters->shift;
    uint32_t one = UINT32_C(1) << shift;
    uint32_t near = (uint32_t)parameters->near;
    int32_t channels = tile->channels_out;
    match_share_t share = match_share(tile->output_height * tile->output_width * channels);
    int32_t pixel = share.first / channels;
    int32_t k = share.first % channels;
    int32_t y = pixel / tile->output_width;
    int32_t x = pixel % tile->output_width;
    for (int32_t left = share.last - share.first; left > 0; k = 0) {
        window_t window = window_of(tile, parameters, y, x);
        uint8_t *output = match_output_pixel(tile, y, x);
        for (; k < channels && left > 0; k++, left--) {
            int32_t number = sum(tile, &window, k) * window.factor + window.bias;
            bool far = ((uint32_t)number & (one - 1)) - near < one - 2 * near;
            int32_t level = far ? match_clip_from_0(number >> shift, 255) : level_in_float(tile, &window, k);
            output[k] = (uint8_t)(level + lowest);
        }
        x++;
        if (x == tile->output_width) {
            x = 0;
            y++;
        }
    }
}
