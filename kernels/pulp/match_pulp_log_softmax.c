#include "match_pulp.h"
#include "match_pulp_fixed_point.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"

/* Bits behind the point of exponentials, their sum and the numbers below. */
enum { FRACTION = 31, LOG_OF_2 = 1488522236, TERMS = 10 };

/* Of a float32: bits behind the leading one, and what its exponent is counted from. */
enum { MANTISSA = 23, EXPONENT_BIAS = 127 };

/* Words of tensors of float32. */
typedef int32_t __attribute__((may_alias)) word_t;

/* The natural logarithm of a row's sum, at least 1, with `fraction` bits behind the point: of the sum's half to its
 * `halvings`-th part, which lies between 1/2 and 1, by a series, and of what is left. */
static int32_t logarithm(const int32_t series[TERMS], uint64_t total, int32_t fraction)
{
    int32_t halvings = 0;
    for (uint32_t above = (uint32_t)(total >> FRACTION); above != 0; above >>= 1) {
        halvings++;
    }
    int32_t half = (int32_t)(total >> halvings);
    int32_t place = (half - ((int32_t)3 << (FRACTION - 2))) * 4;
    int32_t result = series[0];
    for (int32_t term = 1; term < TERMS; term++) {
        result = match_fixed_product(result, place) + series[term];
    }
    int32_t bits = FRACTION - fraction;
    int64_t wide = (int64_t)(halvings - 1) * LOG_OF_2 + result;
    return (int32_t)((wide + ((int64_t)1 << (bits - 1))) >> bits);
}

/* The bits of the float32 next to steps / 2^fraction, of two the even one. Few of these cores have an FPU, and eight that
 * call a library's functions for it wait for their instructions. */
static int32_t float_bits(int32_t steps, int32_t fraction)
{
    uint32_t size = steps < 0 ? 0u - (uint32_t)steps : (uint32_t)steps;
    if (size == 0) {
        return 0;
    }
    int32_t place = 31 - __builtin_clz(size); /* of the leading bit */
    int32_t dropped = place - MANTISSA;
    uint32_t mantissa = size << (MANTISSA - match_smaller(place, MANTISSA));
    if (dropped > 0) {
        uint32_t odd = size >> dropped & 1;
        mantissa = (size + (1u << (dropped - 1)) - 1 + odd) >> dropped;
    }
    /* The leading bit is not stored; it and what rounding carries count in the exponent. */
    uint32_t bits = ((uint32_t)(EXPONENT_BIAS - 1 + place - fraction) << MANTISSA) + mantissa;
    return (int32_t)(steps < 0 ? bits | 1u << 31 : bits);
}

/* One pixel's channels. */
static void log_softmax_row(const match_tile_t *tile, const int32_t series[TERMS], const uint8_t *input,
                            word_t *output)
{
    const match_log_softmax_t *parameters = tile->parameters;
    const int32_t *exponentials = parameters->exponentials;
    const int32_t *distances = parameters->distances;
    int32_t count = tile->channels_out;
    int32_t largest = 0;
    for (int32_t k = 0; k < count; k++) {
        largest = match_larger(largest, input[k]);
    }
    uint64_t total = 0;
    for (int32_t k = 0; k < count; k++) {
        total += (uint32_t)exponentials[largest - input[k]];
    }
    int32_t fraction = parameters->fraction;
    int32_t taken = logarithm(series, total, fraction);
    for (int32_t k = 0; k < count; k++) {
        output[k] = float_bits(distances[largest - input[k]] - taken, fraction);
    }
}

void match_pulp_log_softmax(const match_tile_t *tile)
{
    /* Polynomial of u from -1 to 1 for log(3/2 + u/2), highest power first; on the stack, as rows read it. */
    const int32_t series[TERMS] = {
        15361, -51572, 137299, -481174, 1768563, -6631610, 26512007, -119304196, 715827885, 870729680,
    };
    word_t *output = (word_t *)(void *)tile->output;
    match_pixels_t at = match_share_pixels(tile->output_height, tile->output_width);
    for (; at.left > 0; match_next_pixel(&at)) {
        int32_t first = at.y * tile->output_row_stride + at.x * tile->output_pixel_stride;
        log_softmax_row(tile, series, match_input_pixel(tile, at.y, at.x), output + first);
    }
}
