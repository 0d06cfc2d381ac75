#include <stdbool.h>
#include <string.h>

#include "match_pulp.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

enum { LOW_BITS = 16 };

/* A requantization of sums whose upper and lower parts fit 32 bits each: with all multipliers and the bias cut into a
 * part of 16 bits and the rest, (high + (low >> 16)) >> shift is the same integer. */
typedef struct {
    int32_t high[2];
    int32_t low[2];
    int32_t high_bias;
    int32_t low_bias;
    int32_t shift;
} parts_t;

static bool has_parts(const match_requant_add_t *p)
{
    int64_t high_bias = p->bias >> LOW_BITS;
    return p->shift >= LOW_BITS && high_bias > -(1 << 30) && high_bias < 1 << 30;
}

static parts_t parts_of(const match_requant_add_t *p)
{
    int32_t shift = p->shift - LOW_BITS;
    return (parts_t){
        .high = {p->input_multiplier >> LOW_BITS, p->addend_multiplier >> LOW_BITS},
        .low = {p->input_multiplier & 0xffff, p->addend_multiplier & 0xffff},
        .high_bias = (int32_t)(p->bias >> LOW_BITS),
        .low_bias = (int32_t)(p->bias & 0xffff),
        .shift = shift < 31 ? shift : 31,
    };
}

static inline uint8_t add_parts(const match_finish_t *finish, const parts_t *p, int32_t a, int32_t b)
{
    int32_t low = match_multiply_add(match_multiply_add(p->low_bias, a, p->low[0]), b, p->low[1]);
    int32_t high = match_multiply_add(match_multiply_add(p->high_bias, a, p->high[0]), b, p->high[1]);
    return match_clip(finish, (high + (low >> LOW_BITS)) >> p->shift);
}

void match_pulp_add(const match_tile_t *tile)
{
    match_requant_add_t p;
    memcpy(&p, tile->parameters, sizeof p);
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_64);
    bool in_parts = has_parts(&p);
    parts_t parts = parts_of(&p);
    int32_t channels = tile->channels_out;
    match_share_t pixels = match_share(tile->output_height * tile->output_width);
    int32_t y = pixels.first / tile->output_width;
    int32_t x = pixels.first % tile->output_width;
    for (int32_t pixel = pixels.first; pixel < pixels.last; pixel++) {
        const uint8_t *input = match_input_pixel(tile, y, x);
        const uint8_t *addend = tile->addend + y * tile->addend_row_stride + x * tile->addend_pixel_stride;
        uint8_t *output = match_output_pixel(tile, y, x);
        if (in_parts) {
            for (int32_t k = 0; k < channels; k++) {
                output[k] = add_parts(&finish, &parts, input[k], addend[k]);
            }
        } else {
            for (int32_t k = 0; k < channels; k++) {
                int64_t sum =
                    (int64_t)input[k] * p.input_multiplier + (int64_t)addend[k] * p.addend_multiplier + p.bias;
                output[k] = match_shift_and_clip(&finish, sum, p.shift);
            }
        }
        if (++x == tile->output_width) {
            x = 0;
            y++;
        }
    }
}
