#include <stddef.h>
#include <string.h>

#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_share.h"

static ptrdiff_t align4(ptrdiff_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

/* Lay out the window that output pixel (y, x) sees as one vector, (filter_height, filter_width, channels_in). */
static void im2col(const match_tile_t *tile, int32_t y, int32_t x, uint8_t *column)
{
    size_t channels = (size_t)tile->channels_in;
    for (int32_t fy = 0; fy < tile->filter_height; fy++) {
        int32_t iy = y * tile->stride_y - tile->pad_top + fy * tile->dilation_y;
        for (int32_t fx = 0; fx < tile->filter_width; fx++) {
            int32_t ix = x * tile->stride_x - tile->pad_left + fx * tile->dilation_x;
            if (iy < 0 || iy >= tile->input_height || ix < 0 || ix >= tile->input_width) {
                memset(column, tile->pad_value, channels);
            } else {
                memcpy(column, tile->input + iy * tile->input_row_stride + ix * tile->input_pixel_stride, channels);
            }
            column += channels;
        }
    }
}

void match_pulp_conv2d(const match_tile_t *tile)
{
    int32_t length = tile->filter_height * tile->filter_width * tile->channels_in;
    uint8_t *scratch = tile->scratch;
    uint8_t *columns[2];
    columns[0] = scratch + 2 * match_core_id() * align4(length);
    columns[1] = columns[0] + align4(length);
    match_share_t rows = match_share(tile->output_height, 1);
    for (int32_t y = rows.first; y < rows.last; y++) {
        uint8_t *output = tile->output + y * tile->output_row_stride;
        int32_t x = 0;
        for (; x + 2 <= tile->output_width; x += 2) {
            im2col(tile, y, x, columns[0]);
            im2col(tile, y, x + 1, columns[1]);
            const uint8_t *const pixels[2] = {columns[0], columns[1]};
            uint8_t *const outputs[2] = {output + x * tile->output_pixel_stride, output + (x + 1) * tile->output_pixel_stride};
            match_pulp_matmul_pixels(tile, pixels, length, 0, tile->channels_out, outputs);
        }
        if (x < tile->output_width) {
            im2col(tile, y, x, columns[0]);
            match_pulp_matmul_pixel(tile, columns[0], length, 0, tile->channels_out, output + x * tile->output_pixel_stride);
        }
    }
}
