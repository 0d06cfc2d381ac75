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

static inline bool match_is_padding(const match_tile_t *tile, match_position_t position)
{
    return position.y < 0 || position.y >= tile->input_height || position.x < 0 || position.x >= tile->input_width;
}

#endif
