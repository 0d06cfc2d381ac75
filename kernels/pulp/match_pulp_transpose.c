#include "match_pulp.h"
#include "match_pulp_im2col.h"
#include "match_pulp_share.h"

static void turn(const uint8_t *input, int32_t stride, uint8_t *output, int32_t count)
{
#pragma GCC unroll 4
    for (int32_t k = 0; k < count; k++) {
        output[k] = *input;
        input += stride;
    }
}

void match_pulp_transpose(const match_tile_t *tile)
{
    int32_t unit = tile->channels_in;
    int32_t stride = tile->input_channel_stride * unit;
    match_pixels_t at = match_share_pixels(tile->output_height, tile->output_width);
    for (; at.left > 0; match_next_pixel(&at)) {
        const uint8_t *input = tile->input + (at.y * tile->input_row_stride + at.x * tile->input_pixel_stride) * unit;
        uint8_t *output = tile->output + (at.y * tile->output_row_stride + at.x * tile->output_pixel_stride) * unit;
        if (unit == 1) {
            turn(input, stride, output, tile->channels_out);
        } else {
            match_copy_rows(output, unit, input, stride, tile->channels_out, unit);
        }
    }
}
