#include "match_pulp.h"
#include "match_pulp_matmul.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

static const uint8_t *input_at(const match_tile_t *tile, int32_t pixel)
{
    return match_input_pixel(tile, pixel / tile->output_width, pixel % tile->output_width);
}

static uint8_t *output_at(const match_tile_t *tile, int32_t pixel)
{
    return match_output_pixel(tile, pixel / tile->output_width, pixel % tile->output_width);
}

void match_pulp_pointwise(const match_tile_t *tile)
{
    match_share_t pixels = match_share(tile->output_height * tile->output_width, 2);
    int32_t pixel = pixels.first;
    for (; pixel + 2 <= pixels.last; pixel += 2) {
        const uint8_t *const inputs[2] = {input_at(tile, pixel), input_at(tile, pixel + 1)};
        uint8_t *const outputs[2] = {output_at(tile, pixel), output_at(tile, pixel + 1)};
        match_pulp_matmul_pixels(tile, inputs, tile->channels_in, 0, tile->channels_out, outputs);
    }
    if (pixel < pixels.last) {
        match_pulp_matmul_pixel(tile, input_at(tile, pixel), tile->channels_in, 0, tile->channels_out,
                                output_at(tile, pixel));
    }
}
