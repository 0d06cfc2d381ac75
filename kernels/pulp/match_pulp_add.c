#include <string.h>

#include "match_pulp.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

void match_pulp_add(const match_tile_t *restrict tile)
{
    match_requant_add_t p;
    memcpy(&p, tile->parameters, sizeof p);
    match_share_t pixels = match_share(tile->output_height * tile->output_width, 1);
    for (int32_t pixel = pixels.first; pixel < pixels.last; pixel++) {
        int32_t y = pixel / tile->output_width;
        int32_t x = pixel % tile->output_width;
        const uint8_t *input = match_input_pixel(tile, y, x);
        const uint8_t *addend = tile->addend + y * tile->addend_row_stride + x * tile->addend_pixel_stride;
        uint8_t *output = match_output_pixel(tile, y, x);
        for (int32_t k = 0; k < tile->channels_out; k++) {
            int64_t sum = (int64_t)input[k] * p.input_multiplier + (int64_t)addend[k] * p.addend_multiplier + p.bias;
            output[k] = match_shift_and_clip(tile, sum, p.shift);
        }
    }
}
