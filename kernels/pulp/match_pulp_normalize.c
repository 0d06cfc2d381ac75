#include <stdbool.h>

#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_fixed_point.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_pulp_share.h"

/* Bits behind the point of a pixel's spread, of a distance in deviations and of half the inverse of a root. */
enum { SPREAD_FRACTION = 8, DEVIATION_FRACTION = 12, INVERSE_FRACTION = 30 };

/* Half the inverse root of x is near 1.1033 - 2/3 * x, with 30 bits behind the point. */
enum { ROOT_CONSTANT = 1184659354, ROOT_SLOPE = -715827883, ROOT_STEPS = 3 };

/* By how many powers of 4 a spread, at least 1, is above 1. */
static inline int32_t powers_of_4(int64_t spread)
{
    return (63 - __builtin_clzll((unsigned long long)spread)) >> 1;
}

/* 1 / (2 * sqrt(x)) with 30 bits behind the point of a number from 1/4 to 1 with 31, by Newton and Raphson. */
static int32_t half_inverse_root(int32_t x)
{
    int32_t result = match_fixed_product(x, ROOT_SLOPE) + ROOT_CONSTANT;
    for (int32_t step = 0; step < ROOT_STEPS; step++) {
        int32_t error = ((int32_t)1 << 27) - match_fixed_product(x, match_fixed_product(result, result));
        result += 8 * match_fixed_product(result, error);
    }
    return result;
}

/* What the channels of a pixel are computed with: their number, as many times what distances are from, half the inverse
 * root of their spread, how far distances are shifted to fill a word, and the upper word of the product back. */
typedef struct {
    int32_t channels;
    int32_t from;
    int32_t inverse;
    int32_t left;
    int32_t right;
} row_t;

static inline row_t row_of(const uint8_t *input, int32_t channels, int64_t epsilon, int32_t centre)
{
    int32_t total = 0;
    int32_t squares = 0;
    for (int32_t k = 0; k < channels; k++) {
        total += input[k];
        squares += input[k] * input[k];
    }
    int32_t from = centre < 0 ? total : centre * channels;
    int64_t variance = (int64_t)squares * channels + (int64_t)from * (from - 2 * total);
    int64_t spread = (variance << SPREAD_FRACTION) + epsilon;
    int32_t powers = powers_of_4(spread);
    int32_t root = (32 - __builtin_clz(2 * (unsigned)channels - 1)) >> 1; /* bits of a distance in deviations */
    return (row_t){
        .channels = channels,
        .from = from,
        .inverse = half_inverse_root((int32_t)((spread << (60 - 2 * powers)) >> 31)),
        .left = 33 - root - powers,
        .right = 33 + INVERSE_FRACTION - 32 - SPREAD_FRACTION / 2 - DEVIATION_FRACTION - root,
    };
}

/* Outputs of some channels of a pixel in this form. */
MATCH_INLINE void outputs(const match_finish_t *finish, row_t row, match_share_t channels, const int16_t *gains,
                          const uint8_t *input, uint8_t *output, match_form_t form)
{
    match_finish_t own = *finish;
    own.form = form; /* known to the compiler, which leaves the other forms out of the loop */
    const uint8_t *parameters = match_parameters_of(finish, form, channels.first);
    int32_t half = 1 << (row.right - 1);
    for (int32_t k = channels.first; k < channels.last; k++) {
        int32_t distance = (int32_t)((uint32_t)(input[k] * row.channels - row.from) << row.left);
        int32_t deviations = ((int32_t)((int64_t)distance * row.inverse >> 32) + half) >> row.right;
        output[k] = match_requantize_with(&own, parameters, deviations * gains[k]);
        parameters += match_parameter_bytes(form);
    }
}

static inline void normalize_row(const match_finish_t *finish, row_t row, match_share_t channels, const int16_t *gains,
                                 const uint8_t *input, uint8_t *output)
{
    switch (finish->form) {
    case MATCH_FORM_32:
        outputs(finish, row, channels, gains, input, output, MATCH_FORM_32);
        break;
    case MATCH_FORM_HIGH:
        outputs(finish, row, channels, gains, input, output, MATCH_FORM_HIGH);
        break;
    case MATCH_FORM_SPLIT:
    case MATCH_FORM_SPLIT_SIGNED:
    case MATCH_FORM_64:
    case MATCH_FORM_64_SIGNED:
    default:
        outputs(finish, row, channels, gains, input, output, finish->form);
        break;
    }
}

/* Whether cores share out the channels of each pixel, of which every core then has the sums, a fifth of the work. */
static inline bool is_few(int32_t pixels)
{
    return pixels == 1 || 3 * pixels <= match_core_count();
}

static inline void normalize(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    const uint8_t *constants = tile->weights;
    const int16_t *gains = (const int16_t *)(const void *)(constants + offsetof(match_normalize_t, gains));
    int64_t epsilon = match_double_word(constants + offsetof(match_normalize_t, spread));
    int32_t centre = match_word(constants + offsetof(match_normalize_t, centre));
    int32_t pixels = tile->output_height * tile->output_width;
    match_pixels_t at = {tile->output_width, 0, 0, pixels};
    match_share_t channels = {0, tile->channels_out};
    if (is_few(pixels)) {
        channels = match_share(tile->channels_out);
    } else {
        at = match_share_pixels(tile->output_height, tile->output_width);
    }
    for (; at.left > 0; match_next_pixel(&at)) {
        const uint8_t *input = match_input_pixel(tile, at.y, at.x);
        row_t row = row_of(input, tile->channels_out, epsilon, centre);
        normalize_row(&finish, row, channels, gains, input, match_output_pixel(tile, at.y, at.x));
    }
}

void match_pulp_normalize(const match_tile_t *tile)
{
    normalize(tile, MATCH_FORM_64);
}

void match_pulp_normalize_high(const match_tile_t *tile)
{
    normalize(tile, MATCH_FORM_HIGH);
}

void match_pulp_normalize_int32(const match_tile_t *tile)
{
    normalize(tile, MATCH_FORM_32);
}
