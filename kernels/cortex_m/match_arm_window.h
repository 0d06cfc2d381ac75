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

/* Takes `count` bytes, or padding where there are none. */
typedef void (*match_arm_run_t)(void *target, const uint8_t *bytes, int32_t count);

/* Hand over what output pixel (y, x) sees, channels of each pixel of the window, row by row. */
void match_arm_runs(const match_tile_t *tile, int32_t y, int32_t x, match_arm_run_t run, void *target);

/* The first byte of what output pixel (y, x) sees where all is inside the input and the pixels of its rows lie side by
 * side, else NULL. */
static inline const uint8_t *match_arm_inside(const match_tile_t *tile, int32_t y, int32_t x)
{
    int32_t row = y * tile->stride_y - tile->pad_top;
    int32_t column = x * tile->stride_x - tile->pad_left;
    if (row < 0 || column < 0 || row + (tile->filter_height - 1) * tile->dilation_y >= tile->input_height ||
        column + (tile->filter_width - 1) * tile->dilation_x >= tile->input_width ||
        (tile->dilation_x * tile->input_pixel_stride != tile->channels_in && tile->filter_width > 1)) {
        return NULL;
    }
    return tile->input + row * tile->input_row_stride + column * tile->input_pixel_stride;
}

/* Whether an output pixel sees one input pixel, and always one: number (y * stride_y, x * stride_x). */
static inline bool match_arm_sees_pixels(const match_tile_t *tile)
{
    return tile->filter_height * tile->filter_width == 1 &&
           (tile->pad_top | tile->pad_left | tile->pad_bottom | tile->pad_right) == 0;
}

#endif
