#include "match_pulp.h"
#include "match_pulp_fixed_point.h"
#include "match_pulp_int16.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"

/* Bits of a number behind its place in a table. */
enum { BETWEEN_BITS = 7 };

/* Between two entries of a table, the number clipped to 16 bits. */
static inline int32_t interpolated(const int16_t *table, int32_t x)
{
    int32_t number = match_narrow(x) - INT16_MIN;
    const int16_t *base = table + (number >> BETWEEN_BITS);
    int32_t rest = number & ((1 << BETWEEN_BITS) - 1);
    return base[0] + (((base[1] - base[0]) * rest + (1 << (BETWEEN_BITS - 1))) >> BETWEEN_BITS);
}

/* How often a sum, at least 2^14, may be doubled so that it still has 31 bits. */
static inline int32_t doublings(int32_t total)
{
    int32_t count = 16;
    while (total >> (31 - count) > 0) {
        count--;
    }
    return count;
}

/* One pixel's channels; outputs are exponentials until their sum is known. */
static void softmax_row(const match_softmax_int16_t *softmax, const match_half_t *x, match_half_t *output, int32_t count)
{
    int32_t largest = INT16_MIN;
    for (int32_t k = 0; k < count; k++) {
        largest = match_larger(largest, x[k]);
    }
    match_scaling_t distances = softmax->distances; /* not loaded again behind each store */
    int32_t total = 0;
    for (int32_t k = 0; k < count; k++) {
        int32_t exponential = interpolated(softmax->exponentials, match_scaled(x[k] - largest, &distances) + INT16_MAX);
        output[k] = (int16_t)exponential;
        total += exponential;
    }
    int32_t left = doublings(total), bits = 31 - left;
    uint32_t mantissa = ((uint32_t)total << left) + (1 << 13);
    int32_t reciprocal = interpolated(softmax->reciprocals, (int32_t)(mantissa >> 14) - (3 << 15));
    int32_t half = 1 << (bits - 2);
    for (int32_t k = 0; k < count; k++) {
        output[k] = (int16_t)match_smaller((output[k] * reciprocal + half) >> (bits - 1), INT16_MAX);
    }
}

void match_pulp_softmax_int16(const match_tile_t *tile)
{
    match_pixels_t at = match_share_pixels(tile->output_height, tile->output_width);
    for (; at.left > 0; match_next_pixel(&at)) {
        softmax_row(tile->parameters, match_input_half(tile, at.y, at.x), match_output_half(tile, at.y, at.x),
                    tile->channels_out);
    }
}
