#include <stddef.h>
#include <string.h>

#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

/* Lay out the window that output pixel (y, x) sees as one vector, (filter_height, filter_width, channels_in). */
static void im2col(const match_tile_t *tile, int32_t y, int32_t x, uint8_t *column)
{
    size_t channels = (size_t)tile->channels_in;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        for (int32_t fx = 0; fx < tile->filter_width; fx++) {
            match_position_t seen = match_seen(tile, y, x, fy, fx);
            if (match_is_padding(tile, seen)) {
                memset(column, tile->pad_value, channels);
            } else {
                memcpy(column, match_input_pixel(tile, seen.y, seen.x), channels);
            }
            column += channels;
        }
    }
}

void match_pulp_conv2d(const match_tile_t *tile)
{
    int32_t length = tile->filter_height * tile->filter_width * tile->channels_in;
    ptrdiff_t column_bytes = ((ptrdiff_t)length + 3) / 4 * 4;
    uint8_t *first = (uint8_t *)tile->scratch + 2 * match_core_id() * column_bytes;
    uint8_t *second = first + column_bytes;
    const uint8_t *const columns[2] = {first, second};
    match_share_t rows = match_share(tile->output_height, 1);
    for (int32_t y = rows.first; y < rows.last; y++) {
        int32_t x = 0;
        for (; x + 2 <= tile->output_width; x += 2) {
            im2col(tile, y, x, first);
            im2col(tile, y, x + 1, second);
            uint8_t *const outputs[2] = {match_output_pixel(tile, y, x), match_output_pixel(tile, y, x + 1)};
            match_pulp_matmul_pixels(tile, columns, length, 0, tile->channels_out, outputs);
        }
        if (x < tile->output_width) {
            im2col(tile, y, x, first);
            match_pulp_matmul_pixel(tile, first, length, 0, tile->channels_out, match_output_pixel(tile, y, x));
        }
    }
}
