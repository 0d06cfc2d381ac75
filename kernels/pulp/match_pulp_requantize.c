#include "match_pulp_requantize.h"

#include "match_pulp.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

void match_pulp_requantize(const match_tile_t *tile)
{
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_64);
    const int32_t *accumulators = tile->scratch;
    match_share_t pixels = match_share(tile->output_height * tile->output_width);
    for (int32_t pixel = pixels.first; pixel < pixels.last; pixel++) {
        int32_t y = pixel / tile->output_width;
        int32_t x = pixel % tile->output_width;
        uint8_t *output = match_output_pixel(tile, y, x);
        for (int32_t k = 0; k < tile->channels_out; k++) {
            output[k] = match_requantize(&finish, k, accumulators[pixel * tile->channels_out + k]);
        }
    }
}
