#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_share.h"

static const uint8_t *input_pixel(const match_tile_t *tile, int32_t pixel)
{
    return tile->input + pixel / tile->output_width * tile->input_row_stride +
           pixel % tile->output_width * tile->input_pixel_stride;
}

static uint8_t *output_pixel(const match_tile_t *tile, int32_t pixel)
{
    return tile->output + pixel / tile->output_width * tile->output_row_stride +
           pixel % tile->output_width * tile->output_pixel_stride;
}

void match_pulp_pointwise(const match_tile_t *tile)
{
    match_share_t pixels = match_share(tile->output_height * tile->output_width, 2);
    int32_t pixel = pixels.first;
    for (; pixel + 2 <= pixels.last; pixel += 2) {
        const uint8_t *const inputs[2] = {input_pixel(tile, pixel), input_pixel(tile, pixel + 1)};
        uint8_t *const outputs[2] = {output_pixel(tile, pixel), output_pixel(tile, pixel + 1)};
        match_pulp_matmul_pixels(tile, inputs, tile->channels_in, 0, tile->channels_out, outputs);
    }
    if (pixel < pixels.last) {
        match_pulp_matmul_pixel(tile, input_pixel(tile, pixel), tile->channels_in, 0, tile->channels_out,
                                output_pixel(tile, pixel));
    }
}
