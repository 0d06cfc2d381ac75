/* What becomes of an accumulator: an output, or a partial sum. */
#ifndef MATCH_PULP_REQUANTIZE_H
#define MATCH_PULP_REQUANTIZE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "match_tile.h"

static inline uint8_t match_clip(const match_tile_t *tile, int32_t value)
{
    int32_t low = value < tile->clip_low ? tile->clip_low : value;
    return (uint8_t)(low > tile->clip_high ? tile->clip_high : low);
}

/* clip(sum >> shift). A shift of 32 or more, as nearly all are, takes the upper half alone: 32-bit cores do it in one
 * step. */
static inline uint8_t match_shift_and_clip(const match_tile_t *tile, int64_t sum, int32_t shift)
{
    if (shift >= 32) {
        return match_clip(tile, (int32_t)(sum >> 32) >> (shift - 32));
    }
    int64_t value = sum >> shift;
    int64_t low = value < tile->clip_low ? tile->clip_low : value;
    return (uint8_t)(low > tile->clip_high ? tile->clip_high : low);
}

/* The output of channel `channel` for the accumulator `acc`. Parameters lie at multiples of 4 bytes, which is less than
 * their 64-bit member has on some machines: they are copied, as words. */
static inline uint8_t match_requantize(const match_tile_t *tile, int32_t channel, int32_t acc)
{
    const uint8_t *parameters = __builtin_assume_aligned(tile->parameters, 4);
    if (tile->negative_step == 0) {
        match_requant_t p;
        memcpy(&p, parameters + (size_t)channel * sizeof p, sizeof p);
        return match_shift_and_clip(tile, (int64_t)acc * p.multiplier + p.bias, p.shift);
    }
    match_requant_signed_t p;
    memcpy(&p, parameters + (size_t)channel * sizeof p, sizeof p);
    int64_t sum = (int64_t)acc * p.multiplier + p.bias;
    if (acc < p.negative_below) {
        sum -= tile->negative_step;
    }
    return match_shift_and_clip(tile, sum, p.shift);
}

/* Take `acc`, the sum over the tile's input channels, for channel `channel` of an output pixel. */
static inline void match_finish(const match_tile_t *tile, uint8_t *pixel, int32_t channel, int32_t acc)
{
    ptrdiff_t place = pixel - tile->output + channel;
    if (tile->sums_in != NULL) {
        acc += tile->sums_in[place];
    }
    if (tile->sums_out != NULL) {
        tile->sums_out[place] = acc;
    } else {
        pixel[channel] = match_requantize(tile, channel, acc);
    }
}

#endif
