#include "match_pulp.h"
#include "match_pulp_fixed_point.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

/* Bits behind the point of a row's sum, which has 12 in front of it, of numbers without any in front of it, and of the
 * outputs' factor. */
enum { SUM_FRACTION = 19, FRACTION = 31, FACTOR_FRACTION = 30 };

/* 48/17 and -32/17 with 29 bits behind the point: the line from which a reciprocal is approached. */
enum { RECIPROCAL_CONSTANT = 1515870810, RECIPROCAL_SLOPE = -1010580540, RECIPROCAL_STEPS = 3 };

/* x / 2^bits of a number that is not negative, rounded half up. */
static inline int32_t rounded_shift(int32_t x, int32_t bits)
{
    return (int32_t)(((uint32_t)x + (1u << (bits - 1))) >> bits);
}

/* How often a row's sum, at least 1, has to be halved until it is below 2. */
static inline int32_t doublings(int32_t total)
{
    int32_t bits = 0;
    while (total >> (bits + 1) >= 1 << SUM_FRACTION) {
        bits++;
    }
    return bits;
}

/* The reciprocal of a number in 1/2 .. 1, twice of it, by Newton and Raphson. */
static int32_t reciprocal(int32_t half)
{
    int32_t result = RECIPROCAL_CONSTANT + match_fixed_product(half, RECIPROCAL_SLOPE);
    for (int32_t step = 0; step < RECIPROCAL_STEPS; step++) {
        int32_t error = ((int32_t)1 << 29) - match_fixed_product(half, result);
        result += 4 * match_fixed_product(result, error);
    }
    return match_smaller(result, INT32_MAX >> 1) + match_smaller(result, (int32_t)1 << 30);
}

/* A reciprocal times the outputs' factor, which is at most 1. */
static int32_t scaled(int32_t x, int32_t factor)
{
    return (int32_t)(((int64_t)x * factor + ((int64_t)1 << (FACTOR_FRACTION - 1))) >> FACTOR_FRACTION);
}

/* One pixel's channels. */
static void softmax_row(const match_tile_t *tile, const uint8_t *input, uint8_t *output)
{
    const match_softmax_t *parameters = tile->parameters;
    const int32_t *exponentials = parameters->exponentials;
    int32_t count = tile->channels_out;
    int32_t largest = 0;
#pragma GCC unroll 2
    for (int32_t k = 0; k < count; k++) {
        largest = match_larger(largest, input[k]);
    }
    const int32_t *of_zero = exponentials + largest; /* of an input of 0; those of others lie in front of it */
    int32_t total = 0;
#pragma GCC unroll 2
    for (int32_t k = 0; k < count; k++) {
        total += rounded_shift(*(of_zero - input[k]), FRACTION - SUM_FRACTION);
    }
    int32_t halvings = doublings(total);
    int32_t inverse = scaled(reciprocal(total << (FRACTION - 1 - SUM_FRACTION - halvings)), parameters->factor);
    int32_t shift = match_smaller(halvings + parameters->shift, 31);
    int32_t zero = parameters->zero; /* not loaded again behind each store, as the output may be anything */
    int32_t clip_high = tile->clip_high;
    /* A product with 62 bits behind the point is rounded to 31, and that to 31 - shift - 1: floors of floors are one. */
    int64_t half = ((int64_t)1 << (FRACTION - 1)) + ((int64_t)1 << (FRACTION + shift));
    for (int32_t k = 0; k < count; k++) {
        int64_t probability = (int64_t)*(of_zero - input[k]) * inverse + half;
        int32_t level = ((int32_t)(probability >> 32) >> shift) + zero;
        output[k] = (uint8_t)match_smaller(level, clip_high);
    }
}

void match_pulp_softmax(const match_tile_t *tile)
{
    match_pixels_t at = match_share_pixels(tile->output_height, tile->output_width);
    for (; at.left > 0; match_next_pixel(&at)) {
        softmax_row(tile, match_input_pixel(tile, at.y, at.x), match_output_pixel(tile, at.y, at.x));
    }
}
