#include "match_pulp.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

void match_pulp_transpose(const match_tile_t *tile)
{
    int32_t channels = tile->channels_out;
    int32_t stride = tile->input_channel_stride;
    match_pixels_t at = match_share_pixels(tile->output_height, tile->output_width);
    for (; at.left > 0; match_next_pixel(&at)) {
        const uint8_t *input = match_input_pixel(tile, at.y, at.x);
        uint8_t *output = match_output_pixel(tile, at.y, at.x);
#pragma GCC unroll 4
        for (int32_t k = 0; k < channels; k++) {
            output[k] = *input;
            input += stride;
        }
    }
}
