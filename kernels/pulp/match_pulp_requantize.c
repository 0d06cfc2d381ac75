#include "match_pulp_requantize.h"

#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"
#include "match_team.h"

/* Pixels beside each other. */
typedef struct {
    const int32_t *accumulators;
    uint8_t *output;
    ptrdiff_t output_step;
    int32_t count;
} pixels_t;

/* Four channels of these pixels, or one, in such a form, with accumulators `stride` apart. Their parameters stay in
 * registers. */
MATCH_INLINE void some_channels(int32_t clip_high, const uint8_t *parameters, pixels_t pixels, int32_t stride, int some,
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
        pixels.accumulators += stride;
        pixels.output += pixels.output_step;
    }
}

/* So many channels of these pixels, whose accumulators are `stride` apart. */
MATCH_INLINE void by_upper_words(const match_finish_t *finish, pixels_t pixels, int32_t channels, int32_t stride,
                                 match_form_t form)
{
    const uint8_t *parameters = finish->parameters;
    int32_t k = 0;
    for (; k + 4 <= channels; k += 4, parameters += 4 * match_parameter_bytes(form)) {
        some_channels(finish->clip_high, parameters, pixels, stride, 4, form);
        pixels.accumulators += 4;
        pixels.output += 4;
    }
    for (; k < channels; k++, parameters += match_parameter_bytes(form)) {
        some_channels(finish->clip_high, parameters, pixels, stride, 1, form);
        pixels.accumulators++;
        pixels.output++;
    }
}

/* The same in 64 bits, in a loop for each kind of parameters. */
static void by_64_bits(const match_finish_t *given, pixels_t pixels, int32_t channels, int32_t stride)
{
    match_finish_t finish = *given;
    for (; pixels.count > 0; pixels.count--, pixels.accumulators += stride, pixels.output += pixels.output_step) {
        const uint8_t *parameters = finish.parameters;
        if (finish.form == MATCH_FORM_64) {
            for (int32_t k = 0; k < channels; k++, parameters += sizeof(match_requant_t)) {
                match_requant_t p = match_parameters_64(parameters);
                pixels.output[k] = match_shift_and_clip(&finish, match_sum_64(p, pixels.accumulators[k]), p.shift, 0);
            }
        } else if (finish.form == MATCH_FORM_64_EXCEPT) {
            ptrdiff_t bytes = match_channel_bytes(finish.exceptions, MATCH_FORM_64_EXCEPT);
            for (int32_t k = 0; k < channels; k++, parameters += bytes) {
                match_requant_t p = match_parameters_64(parameters);
                int32_t acc = pixels.accumulators[k];
                int32_t less = match_is_exception(&finish, parameters, acc);
                pixels.output[k] = match_shift_and_clip(&finish, match_sum_64(p, acc), p.shift, less);
            }
        } else {
            for (int32_t k = 0; k < channels; k++, parameters += sizeof(match_requant_signed_t)) {
                match_requant_signed_t p = match_parameters_64_signed(parameters);
                int64_t sum = match_sum_64_signed(&finish, p, pixels.accumulators[k]);
                pixels.output[k] = match_shift_and_clip(&finish, sum, p.shift, 0);
            }
        }
    }
}

/* How many cores share out the channels of a pixel, by fours, so that all have as many: two to the power of this. */
static int32_t log2_cores_along_channels(int32_t channels)
{
    int32_t both = match_core_count() | channels >> 2 | (channels & 3 ? 1 : 0);
    int32_t bits = 0;
    while ((both >> bits & 1) == 0) {
        bits++;
    }
    return bits;
}

/* Cores share out channels first, as a core loads the parameters of its channels for each row of its pixels. */
static void requantize(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    int32_t stride = tile->channels_out;
    int32_t bits = log2_cores_along_channels(stride);
    int32_t channels = stride >> bits;
    int32_t first_channel = (match_core_id() & ((1 << bits) - 1)) * channels;
    finish.parameters = match_parameters_of(&finish, finish.form, first_channel);
    int32_t across = match_core_count() >> bits;
    int32_t total = tile->output_height * tile->output_width;
    int32_t each = (total + across - 1) / across;
    int32_t first = match_smaller((match_core_id() >> bits) * each, total);
    int32_t last = match_smaller(first + each, total);
    /* Rows without a gap between them are one. */
    int32_t row = tile->output_row_stride == tile->output_width * tile->output_pixel_stride ? total : tile->output_width;
    int32_t y = first < row ? 0 : first / row; /* a division takes 30 cycles */
    int32_t x = first - y * row;
    pixels_t pixels = {
        .accumulators = (const int32_t *)tile->scratch + (ptrdiff_t)first * stride + first_channel,
        .output_step = tile->output_pixel_stride,
    };
    for (int32_t left = last - first; left > 0; left -= pixels.count, y++, x = 0) {
        pixels.count = match_smaller(left, row - x);
        pixels.output = match_output_pixel(tile, y, x) + first_channel;
        if (finish.form == MATCH_FORM_HIGH) {
            by_upper_words(&finish, pixels, channels, stride, MATCH_FORM_HIGH);
        } else if (finish.form == MATCH_FORM_HIGH_SIGNED) {
            by_upper_words(&finish, pixels, channels, stride, MATCH_FORM_HIGH_SIGNED);
        } else {
            by_64_bits(&finish, pixels, channels, stride);
        }
        pixels.accumulators += pixels.count * stride;
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
