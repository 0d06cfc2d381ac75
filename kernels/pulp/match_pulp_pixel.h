/* Addresses of a tile's pixels. */
#ifndef MATCH_PULP_PIXEL_H
#define MATCH_PULP_PIXEL_H

#include <stdbool.h>
#include <stdint.h>

#include "match_tile.h"

static inline const uint8_t *match_input_pixel(const match_tile_t *tile, int32_t y, int32_t x)
{
    return tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride;
}

static inline uint8_t *match_output_pixel(const match_tile_t *tile, int32_t y, int32_t x)
{
    return tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride;
}

/* Of the rows or columns that a window sees: how many lie before the input, and how many in it. */
typedef struct {
    int32_t before;
    int32_t inside;
} match_range_t;

/* Steps that cover a distance. */
static inline int32_t match_steps(int32_t distance, int32_t step)
{
    return step == 1 ? distance : (distance + step - 1) / step;
}

/* `count` of them, `step` apart from `first` on, in an input of `size`. */
static inline match_range_t match_range_of(int32_t first, int32_t step, int32_t count, int32_t size)
{
    int32_t before = first < 0 ? match_steps(-first, step) : 0;
    int32_t end = first < size ? match_steps(size - first, step) : 0;
    before = before < count ? before : count;
    end = end < count ? end : count;
    return (match_range_t){before, end > before ? end - before : 0};
}

/* An input pixel under a window: its row and column, negative or too large where they lie in the padding. */
typedef struct {
    int32_t y;
    int32_t x;
} match_position_t;

/* What output pixel (y, x) sees at filter position (fy, fx). */
static inline match_position_t match_seen(const match_tile_t *tile, int32_t y, int32_t x, int32_t fy, int32_t fx)
{
    return (match_position_t){
        .y = y * tile->stride_y - tile->pad_top + fy * tile->dilation_y,
        .x = x * tile->stride_x - tile->pad_left + fx * tile->dilation_x,
    };
}

#endif
