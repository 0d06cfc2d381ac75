#include "match_pulp_requantize.h"

#include "match_pulp.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

/* The channels of one pixel, in a loop of their own for each kind of parameters. */
static void requantize_pixel(const match_finish_t *given, const int32_t *accumulators, int32_t channels,
                             uint8_t *output)
{
    match_finish_t finish = *given;
    const uint8_t *parameters = finish.parameters;
    if (finish.form == MATCH_FORM_64) {
        for (int32_t k = 0; k < channels; k++, parameters += sizeof(match_requant_t)) {
            match_requant_t p = match_parameters_64(parameters);
            output[k] = match_shift_and_clip(&finish, match_sum_64(p, accumulators[k]), p.shift);
        }
    } else {
        for (int32_t k = 0; k < channels; k++, parameters += sizeof(match_requant_signed_t)) {
            match_requant_signed_t p = match_parameters_64_signed(parameters);
            output[k] = match_shift_and_clip(&finish, match_sum_64_signed(&finish, p, accumulators[k]), p.shift);
        }
    }
}

void match_pulp_requantize(const match_tile_t *tile)
{
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_64);
    const int32_t *accumulators = tile->scratch;
    int32_t channels = tile->channels_out;
    match_share_t pixels = match_share(tile->output_height * tile->output_width);
    for (int32_t pixel = pixels.first; pixel < pixels.last; pixel++) {
        uint8_t *output = match_output_pixel(tile, pixel / tile->output_width, pixel % tile->output_width);
        requantize_pixel(&finish, accumulators + (ptrdiff_t)pixel * channels, channels, output);
    }
}
