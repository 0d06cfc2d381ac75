#include "match_pulp_requantize.h"

#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"

/* Pixels beside each other, `channels` accumulators apart. */
typedef struct {
    const int32_t *accumulators;
    uint8_t *output;
    ptrdiff_t output_step;
    int32_t count;
} pixels_t;

/* Four channels of these pixels, or one, in such a form. Their parameters stay in registers. */
MATCH_INLINE void some_channels(int32_t clip_high, const uint8_t *parameters, pixels_t pixels, int32_t channels, int some,
                                match_form_t form)
{
    match_finish_t finish = {.clip_high = clip_high};
    match_requant_high_t p[4];
    match_requant_high_signed_t p_signed[4];
#pragma GCC unroll 4
    for (int i = 0; i < some; i++) {
        const uint8_t *own = parameters + i * match_parameter_bytes(form);
        if (form == MATCH_FORM_HIGH) {
            p[i] = match_parameters_high(own);
        } else {
            p_signed[i] = match_parameters_high_signed(own);
        }
    }
    for (; pixels.count > 0; pixels.count--) {
        int32_t y[4];
#pragma GCC unroll 4
        for (int i = 0; i < some; i++) {
            int32_t acc = pixels.accumulators[i];
            y[i] = form == MATCH_FORM_HIGH ? match_requantize_high(&finish, p[i], acc)
                                           : match_requantize_high_signed(&finish, p_signed[i], acc);
        }
        uint8_t *output = pixels.output;
        if (some == 4) {
            match_store_bytes4(&output, y);
        } else {
            *output = (uint8_t)y[0];
        }
        pixels.accumulators += channels;
        pixels.output += pixels.output_step;
    }
}

/* All channels of these pixels. */
MATCH_INLINE void by_upper_words(const match_finish_t *finish, pixels_t pixels, int32_t channels, match_form_t form)
{
    const uint8_t *parameters = finish->parameters;
    int32_t k = 0;
    for (; k + 4 <= channels; k += 4, parameters += 4 * match_parameter_bytes(form)) {
        some_channels(finish->clip_high, parameters, pixels, channels, 4, form);
        pixels.accumulators += 4;
        pixels.output += 4;
    }
    for (; k < channels; k++, parameters += match_parameter_bytes(form)) {
        some_channels(finish->clip_high, parameters, pixels, channels, 1, form);
        pixels.accumulators++;
        pixels.output++;
    }
}

/* The same in 64 bits, in a loop for each kind of parameters. */
static void by_64_bits(const match_finish_t *given, pixels_t pixels, int32_t channels)
{
    match_finish_t finish = *given;
    for (; pixels.count > 0; pixels.count--, pixels.accumulators += channels, pixels.output += pixels.output_step) {
        const uint8_t *parameters = finish.parameters;
        if (finish.form == MATCH_FORM_64) {
            for (int32_t k = 0; k < channels; k++, parameters += sizeof(match_requant_t)) {
                match_requant_t p = match_parameters_64(parameters);
                pixels.output[k] = match_shift_and_clip(&finish, match_sum_64(p, pixels.accumulators[k]), p.shift);
            }
        } else {
            for (int32_t k = 0; k < channels; k++, parameters += sizeof(match_requant_signed_t)) {
                match_requant_signed_t p = match_parameters_64_signed(parameters);
                int64_t sum = match_sum_64_signed(&finish, p, pixels.accumulators[k]);
                pixels.output[k] = match_shift_and_clip(&finish, sum, p.shift);
            }
        }
    }
}

static void requantize(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    int32_t channels = tile->channels_out;
    match_share_t share = match_share(tile->output_height * tile->output_width);
    int32_t y = share.first / tile->output_width;
    int32_t x = share.first % tile->output_width;
    pixels_t pixels = {
        .accumulators = (const int32_t *)tile->scratch + (ptrdiff_t)share.first * channels,
        .output_step = tile->output_pixel_stride,
    };
    for (int32_t left = share.last - share.first; left > 0; left -= pixels.count, y++, x = 0) {
        pixels.count = match_smaller(left, tile->output_width - x);
        pixels.output = match_output_pixel(tile, y, x);
        if (finish.form == MATCH_FORM_HIGH) {
            by_upper_words(&finish, pixels, channels, MATCH_FORM_HIGH);
        } else if (finish.form == MATCH_FORM_HIGH_SIGNED) {
            by_upper_words(&finish, pixels, channels, MATCH_FORM_HIGH_SIGNED);
        } else {
            by_64_bits(&finish, pixels, channels);
        }
        pixels.accumulators += pixels.count * channels;
    }
}

void match_pulp_requantize(const match_tile_t *tile)
{
    requantize(tile, MATCH_FORM_64);
}

void match_pulp_requantize_high(const match_tile_t *tile)
{
    requantize(tile, MATCH_FORM_HIGH);
}
