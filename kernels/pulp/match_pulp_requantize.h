/* What becomes of accumulators: outputs, or partial sums. */
#ifndef MATCH_PULP_REQUANTIZE_H
#define MATCH_PULP_REQUANTIZE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "match_pulp_simd.h"
#include "match_tile.h"

/* The arithmetic of a layer's requantization, and so the layout of its parameters. */
typedef enum {
    MATCH_FORM_64,        /* match_requant_t */
    MATCH_FORM_64_SIGNED, /* match_requant_signed_t */
    MATCH_FORM_32,        /* match_requant32_t */
} match_form_t;

/* What a kernel needs of its tile to finish accumulators; a copy, so that stores to the output do not touch it. */
typedef struct {
    match_form_t form;
    const uint8_t *parameters;
    int32_t clip_low;
    int32_t clip_high;
    int64_t negative_step;
    const uint8_t *output; /* the tile's first output, whose sums are the first ones */
    const int32_t *sums_in;
    int32_t *sums_out;
} match_finish_t;

/* `form` as the kernel's name has it: MATCH_FORM_32, or MATCH_FORM_64 with or without a negative step. */
static inline match_finish_t match_finish_of(const match_tile_t *tile, match_form_t form)
{
    return (match_finish_t){
        .form = form == MATCH_FORM_64 && tile->negative_step != 0 ? MATCH_FORM_64_SIGNED : form,
        .parameters = tile->parameters,
        .clip_low = tile->clip_low,
        .clip_high = tile->clip_high,
        .negative_step = tile->negative_step,
        .output = tile->output,
        .sums_in = tile->sums_in,
        .sums_out = tile->sums_out,
    };
}

/* The low 8 bits are what is stored. */
static inline uint8_t match_clip(const match_finish_t *finish, int32_t value)
{
    return (uint8_t)match_smaller(match_larger(value, finish->clip_low), finish->clip_high);
}

/* clip(sum >> shift), for any shift. */
static inline uint8_t match_shift_and_clip(const match_finish_t *finish, int64_t sum, int32_t shift)
{
    int64_t value = sum >> shift;
    int64_t low = value < finish->clip_low ? finish->clip_low : value;
    return (uint8_t)(low > finish->clip_high ? finish->clip_high : low);
}

/* A shift of 32 or more, as nearly all are, takes the upper half alone, which 32-bit cores do in one step. */
static inline uint8_t match_shift_and_clip_high(const match_finish_t *finish, int64_t sum, int32_t shift)
{
    return match_clip(finish, (int32_t)(sum >> 32) >> (shift & 31));
}

enum { MATCH_HIGH_SHIFT = 32 }; /* the bit of a shift from 0 to 63 that tells */

/* A 32-bit member of channel `channel`'s parameters. They lie at multiples of 4 bytes, which is less than their 64-bit
 * member has on some machines. */
#define MATCH_PARAMETER(finish, type, channel, member) \
    match_word((finish)->parameters + (ptrdiff_t)(channel) * (ptrdiff_t)sizeof(type) + offsetof(type, member))

static inline int32_t match_word(const uint8_t *parameter)
{
    int32_t word;
    memcpy(&word, __builtin_assume_aligned(parameter, 4), sizeof word);
    return word;
}

static inline int64_t match_bias_64(const uint8_t *parameters)
{
    uint32_t low = (uint32_t)match_word(parameters);
    return (int64_t)((uint64_t)(uint32_t)match_word(parameters + 4) << 32 | low);
}

static inline match_requant_t match_parameters_64(const match_finish_t *finish, int32_t channel)
{
    return (match_requant_t){
        .bias = match_bias_64(finish->parameters + (ptrdiff_t)channel * (ptrdiff_t)sizeof(match_requant_t)),
        .multiplier = MATCH_PARAMETER(finish, match_requant_t, channel, multiplier),
        .shift = MATCH_PARAMETER(finish, match_requant_t, channel, shift),
    };
}

static inline match_requant_signed_t match_parameters_64_signed(const match_finish_t *finish, int32_t channel)
{
    return (match_requant_signed_t){
        .bias = match_bias_64(finish->parameters + (ptrdiff_t)channel * (ptrdiff_t)sizeof(match_requant_signed_t)),
        .multiplier = MATCH_PARAMETER(finish, match_requant_signed_t, channel, multiplier),
        .shift = MATCH_PARAMETER(finish, match_requant_signed_t, channel, shift),
        .negative_below = MATCH_PARAMETER(finish, match_requant_signed_t, channel, negative_below),
    };
}

static inline match_requant32_t match_parameters_32(const match_finish_t *finish, int32_t channel)
{
    return (match_requant32_t){
        .bias = MATCH_PARAMETER(finish, match_requant32_t, channel, bias),
        .multiplier = MATCH_PARAMETER(finish, match_requant32_t, channel, multiplier),
        .shift = MATCH_PARAMETER(finish, match_requant32_t, channel, shift),
    };
}

/* The sum that is shifted, by form. */
static inline int64_t match_sum_64(match_requant_t p, int32_t acc)
{
    return (int64_t)acc * p.multiplier + p.bias;
}

static inline int64_t match_sum_64_signed(const match_finish_t *finish, match_requant_signed_t p, int32_t acc)
{
    int64_t below = -(int64_t)(acc < p.negative_below);
    return (int64_t)acc * p.multiplier + p.bias - (finish->negative_step & below);
}

static inline uint8_t match_requantize_32(const match_finish_t *finish, match_requant32_t p, int32_t acc)
{
    return match_clip(finish, match_multiply_add(p.bias, acc, p.multiplier) >> p.shift);
}

/* The output of channel `channel` for the accumulator `acc`. */
static inline uint8_t match_requantize(const match_finish_t *finish, int32_t channel, int32_t acc)
{
    if (finish->form == MATCH_FORM_32) {
        return match_requantize_32(finish, match_parameters_32(finish, channel), acc);
    }
    if (finish->form == MATCH_FORM_64) {
        match_requant_t p = match_parameters_64(finish, channel);
        return match_shift_and_clip(finish, match_sum_64(p, acc), p.shift);
    }
    match_requant_signed_t p = match_parameters_64_signed(finish, channel);
    return match_shift_and_clip(finish, match_sum_64_signed(finish, p, acc), p.shift);
}

#endif
