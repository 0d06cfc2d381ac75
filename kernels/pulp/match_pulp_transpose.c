#include "match_pulp.h"
#include "match_pulp_share.h"

void match_pulp_transpose(const match_tile_t *tile)
{
    int32_t width = tile->output_width;
    int32_t channels = tile->channels_out;
    int32_t stride = tile->input_channel_stride;
    match_share_t share = match_share(tile->output_height * width);
    int32_t y = share.first / width;
    int32_t x = share.first % width;
    for (int32_t left = share.last - share.first; left > 0; left--) {
        const uint8_t *input = tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride;
        uint8_t *output = tile->output + y * tile->output_row_stride + x * tile->output_pixel_stride;
#pragma GCC unroll 4
        for (int32_t k = 0; k < channels; k++) {
            output[k] = *input;
            input += stride;
        }
        x++;
        if (x == width) {
            x = 0;
            y++;
        }
    }
}
