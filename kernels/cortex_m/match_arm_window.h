/* What an output pixel sees of the input, run by run. */
#ifndef MATCH_ARM_WINDOW_H
#define MATCH_ARM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "match_tile.h"

static inline int32_t match_arm_least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Of positions at + i * step, i < count: how many come before 0, and how many are behind them and before size. */
typedef struct {
    int32_t before;
    int32_t inside;
} match_arm_range_t;

static inline match_arm_range_t match_arm_range(int32_t at, int32_t step, int32_t count, int32_t size)
{
    match_arm_range_t range = {0, count};
    if (at < 0) {
        range.before = match_arm_least(step == 1 ? -at : (step - 1 - at) / step, count);
    }
    if (at + (count - 1) * step >= size) {
        int32_t end = at >= size ? 0 : step == 1 ? size - at : (size - at + step - 1) / step;
        range.inside = end < 0 ? 0 : end;
    }
    range.inside = range.inside > range.before ? range.inside - range.before : 0;
    return range;
}

/* Bytes of a run, from `bytes` on, or NULL: padding. */
typedef void (*match_arm_run_t)(void *target, const uint8_t *bytes, int32_t count);

/* Hand over what output pixel (y, x) sees, channels of each pixel of the window, row by row. */
static inline __attribute__((always_inline)) void match_arm_runs(const match_tile_t *tile, int32_t y, int32_t x,
                                                                 void *target, match_arm_run_t run)
{
    int32_t channels = tile->channels_in;
    int32_t row = y * tile->stride_y - tile->pad_top;
    int32_t column = x * tile->stride_x - tile->pad_left;
    match_arm_range_t columns = match_arm_range(column, tile->dilation_x, tile->filter_width, tile->input_width);
    int32_t after = tile->filter_width - columns.before - columns.inside;
    ptrdiff_t step = (ptrdiff_t)tile->dilation_x * tile->input_pixel_stride;
    const uint8_t *first = tile->input + (column + columns.before * tile->dilation_x) * tile->input_pixel_stride;
    bool dense = step == channels || columns.inside == 1;
    for (int32_t fy = 0; fy < tile->filter_height; fy++, row += tile->dilation_y) {
        if (row < 0 || row >= tile->input_height || columns.inside == 0) {
            run(target, NULL, tile->filter_width * channels);
            continue;
        }
        const uint8_t *bytes = first + row * tile->input_row_stride;
        if (columns.before > 0) {
            run(target, NULL, columns.before * channels);
        }
        if (dense) {
            run(target, bytes, columns.inside * channels);
        } else {
            for (int32_t fx = 0; fx < columns.inside; fx++, bytes += step) {
                run(target, bytes, channels);
            }
        }
        if (after > 0) {
            run(target, NULL, after * channels);
        }
    }
}

#endif
