/* What becomes of accumulators: outputs, or partial sums. */
#ifndef MATCH_PULP_REQUANTIZE_H
#define MATCH_PULP_REQUANTIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "match_pulp_simd.h"
#include "match_tile.h"

/* The arithmetic of a layer's requantization, and so the layout of its parameters. The rare ones come first. */
typedef enum {
    MATCH_FORM_64,           /* match_requant_t */
    MATCH_FORM_64_SIGNED,    /* match_requant_signed_t */
    MATCH_FORM_HIGH,         /* match_requant_high_t */
    MATCH_FORM_SPLIT,        /* match_requant_split_t */
    MATCH_FORM_SPLIT_SIGNED, /* match_requant_split_signed_t */
    MATCH_FORM_32,           /* match_requant32_t */
} match_form_t;

/* What a kernel needs of its tile to finish accumulators; a copy, so that stores to the output do not touch it. */
typedef struct {
    match_form_t form;
    const uint8_t *parameters;
    int32_t clip_low;
    int32_t clip_high;
    int64_t negative_step;
    const uint16_t *excepted; /* NULL: there are no exceptions */
    const int32_t *exceptions;
    const uint8_t *output; /* the tile's first output, whose sums are the first ones */
    const int32_t *sums_in;
    int32_t *sums_out;
} match_finish_t;

/* The form of a kernel by its name, MATCH_FORM_32, MATCH_FORM_64, MATCH_FORM_HIGH or MATCH_FORM_SPLIT, and by whether there
 * is a step. */
static inline match_form_t match_form_of(const match_tile_t *tile, match_form_t form)
{
    if (tile->negative_step == 0) {
        return form;
    }
    return form == MATCH_FORM_SPLIT ? MATCH_FORM_SPLIT_SIGNED : MATCH_FORM_64_SIGNED;
}

static inline match_finish_t match_finish_of(const match_tile_t *tile, match_form_t form)
{
    return (match_finish_t){
        .form = match_form_of(tile, form),
        .parameters = tile->parameters,
        .clip_low = tile->clip_low,
        .clip_high = tile->clip_high,
        .negative_step = tile->negative_step,
        .excepted = tile->excepted,
        .exceptions = tile->exceptions,
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

/* clip(sum >> shift). A shift of 32 or more takes the upper half alone, which 32-bit cores do in one step. */
static inline uint8_t match_shift_and_clip(const match_finish_t *finish, int64_t sum, int32_t shift)
{
    if (shift & 32) {
        return match_clip(finish, (int32_t)(sum >> 32) >> (shift & 31));
    }
    int64_t value = sum >> shift;
    int64_t low = value < finish->clip_low ? finish->clip_low : value;
    return (uint8_t)(low > finish->clip_high ? finish->clip_high : low);
}

/* Parameters lie at multiples of 4 bytes, which is less than their 64-bit member has on some machines: they are read by
 * words. */
static inline int32_t match_word(const uint8_t *parameter)
{
    int32_t word;
    memcpy(&word, __builtin_assume_aligned(parameter, 4), sizeof word);
    return word;
}

static inline int64_t match_double_word(const uint8_t *parameter)
{
    return (int64_t)((uint64_t)(uint32_t)match_word(parameter + 4) << 32 | (uint32_t)match_word(parameter));
}

#define MATCH_MEMBER(parameters, type, member) match_word((parameters) + offsetof(type, member))

/* Bytes of a channel's parameters. */
static inline ptrdiff_t match_parameter_bytes(match_form_t form)
{
    switch (form) {
    case MATCH_FORM_32:
        return (ptrdiff_t)sizeof(match_requant32_t);
    case MATCH_FORM_HIGH:
        return (ptrdiff_t)sizeof(match_requant_high_t);
    case MATCH_FORM_SPLIT:
        return (ptrdiff_t)sizeof(match_requant_split_t);
    case MATCH_FORM_SPLIT_SIGNED:
        return (ptrdiff_t)sizeof(match_requant_split_signed_t);
    case MATCH_FORM_64:
        return (ptrdiff_t)sizeof(match_requant_t);
    case MATCH_FORM_64_SIGNED:
    default:
        return (ptrdiff_t)sizeof(match_requant_signed_t);
    }
}

static inline const uint8_t *match_parameters_of(const match_finish_t *finish, match_form_t form, int32_t channel)
{
    return finish->parameters + channel * match_parameter_bytes(form);
}

static inline match_requant_t match_parameters_64(const uint8_t *parameters)
{
    return (match_requant_t){
        .bias = match_double_word(parameters),
        .multiplier = MATCH_MEMBER(parameters, match_requant_t, multiplier),
        .shift = MATCH_MEMBER(parameters, match_requant_t, shift),
    };
}

static inline match_requant_signed_t match_parameters_64_signed(const uint8_t *parameters)
{
    return (match_requant_signed_t){
        .bias = match_double_word(parameters),
        .multiplier = MATCH_MEMBER(parameters, match_requant_signed_t, multiplier),
        .shift = MATCH_MEMBER(parameters, match_requant_signed_t, shift),
        .negative_below = MATCH_MEMBER(parameters, match_requant_signed_t, negative_below),
    };
}

static inline match_requant_high_t match_parameters_high(const uint8_t *parameters)
{
    return (match_requant_high_t){
        .addend = MATCH_MEMBER(parameters, match_requant_high_t, addend),
        .multiplier = (uint32_t)MATCH_MEMBER(parameters, match_requant_high_t, multiplier),
        .bias = MATCH_MEMBER(parameters, match_requant_high_t, bias),
    };
}

static inline match_requant_split_t match_parameters_split(const uint8_t *parameters)
{
    return (match_requant_split_t){
        .addend = MATCH_MEMBER(parameters, match_requant_split_t, addend),
        .largest = MATCH_MEMBER(parameters, match_requant_split_t, largest),
        .low = (uint32_t)MATCH_MEMBER(parameters, match_requant_split_t, low),
        .bias = (uint32_t)MATCH_MEMBER(parameters, match_requant_split_t, bias),
        .high = (uint32_t)MATCH_MEMBER(parameters, match_requant_split_t, high),
    };
}

static inline match_requant_split_signed_t match_parameters_split_signed(const uint8_t *parameters)
{
    return (match_requant_split_signed_t){
        .split = match_parameters_split(parameters),
        .negative_below = MATCH_MEMBER(parameters, match_requant_split_signed_t, negative_below),
        .negative_word = (uint32_t)MATCH_MEMBER(parameters, match_requant_split_signed_t, negative_word),
    };
}

static inline match_requant32_t match_parameters_32(const uint8_t *parameters)
{
    return (match_requant32_t){
        .bias = MATCH_MEMBER(parameters, match_requant32_t, bias),
        .multiplier = MATCH_MEMBER(parameters, match_requant32_t, multiplier),
        .shift = MATCH_MEMBER(parameters, match_requant32_t, shift),
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

/* By form, in 0 .. clip_high. */
static inline int32_t match_requantize_32(const match_finish_t *finish, match_requant32_t p, int32_t acc)
{
    /* The sum fits 32 bits where the product alone need not: both wrap, which C defines for unsigned numbers only. */
    int32_t product = (int32_t)((uint32_t)acc * (uint32_t)p.multiplier);
    return match_clip_from_0(match_add_shift(product, p.bias, p.shift), finish->clip_high);
}

static inline int32_t match_requantize_high(const match_finish_t *finish, match_requant_high_t p, int32_t acc)
{
    int32_t word = match_multiply_high(acc + p.addend, p.multiplier);
    return match_clip_from_0(match_add_shift(word, p.bias, p.bias), finish->clip_high);
}

#if defined(MATCH_PULP_INSN)

/* Instructions that make a word, whose uppermost byte is the output, of a clipped sum with its channel's constants, and that
 * correct the word of a negative sum, which is lost. All are registers. */
#define MATCH_SPLIT_WORD(word, sum, low, bias, high) \
    "mul " word ", " sum ", " low "\n" \
    MATCH_INSN_ADD_SHIFT_UNSIGNED(word, bias, bias) \
    MATCH_INSN_MULTIPLY_ADD(word, sum, high)
#define MATCH_SPLIT_NEGATIVE(word, sum, negative_below, negative_word) \
    "slt " sum ", " sum ", " negative_below "\n" \
    MATCH_INSN_MULTIPLY_ADD(word, sum, negative_word)

#endif

/* By halves of the multiplier; words wrap, as instructions without signs do. */
static inline uint32_t match_split_product(match_requant_split_t p, int32_t sum)
{
    uint32_t word = match_add_shift_unsigned((uint32_t)sum * p.low, p.bias, p.bias);
    return (uint32_t)match_multiply_add((int32_t)word, sum, (int32_t)p.high);
}

static inline int32_t match_requantize_split(match_requant_split_t p, int32_t acc)
{
    return (int32_t)(match_split_product(p, match_clip_from_0(acc + p.addend, p.largest)) >> 24);
}

static inline int32_t match_requantize_split_signed(match_requant_split_signed_t p, int32_t acc)
{
    int32_t sum = match_clip_from_0(acc + p.split.addend, p.split.largest);
    int32_t word = (int32_t)match_split_product(p.split, sum);
    return (int32_t)((uint32_t)match_multiply_add(word, sum < p.negative_below, (int32_t)p.negative_word) >> 24);
}

/* The output for the accumulator `acc` of the channel with these parameters, exceptions aside. */
static inline uint8_t match_requantize_with(const match_finish_t *finish, const uint8_t *parameters, int32_t acc)
{
    switch (finish->form) {
    case MATCH_FORM_32:
        return (uint8_t)match_requantize_32(finish, match_parameters_32(parameters), acc);
    case MATCH_FORM_HIGH:
        return (uint8_t)match_requantize_high(finish, match_parameters_high(parameters), acc);
    case MATCH_FORM_SPLIT:
        return (uint8_t)match_requantize_split(match_parameters_split(parameters), acc);
    case MATCH_FORM_SPLIT_SIGNED:
        return (uint8_t)match_requantize_split_signed(match_parameters_split_signed(parameters), acc);
    case MATCH_FORM_64: {
        match_requant_t p = match_parameters_64(parameters);
        return match_shift_and_clip(finish, match_sum_64(p, acc), p.shift);
    }
    case MATCH_FORM_64_SIGNED:
    default: {
        match_requant_signed_t p = match_parameters_64_signed(parameters);
        return match_shift_and_clip(finish, match_sum_64_signed(finish, p, acc), p.shift);
    }
    }
}

/* Whether a channel has exceptions. */
static inline bool match_has_exceptions(const match_finish_t *finish, int32_t channel)
{
    return finish->excepted[channel] != 0;
}

/* The exceptions of a channel, which rise. */
typedef struct {
    const int32_t *first;
    const int32_t *end;
} match_exceptions_t;

/* Of a tile that has some. */
static inline match_exceptions_t match_exceptions_of(const match_finish_t *finish, int32_t channel)
{
    const int32_t *count = finish->exceptions + finish->excepted[channel];
    return (match_exceptions_t){count + 1, count + 1 + *count};
}

/* 1 for one of the exceptions, else 0: most channels have one or two, a few more than a hundred. */
static inline int32_t match_is_exception(match_exceptions_t exceptions, int32_t acc)
{
    const int32_t *first = exceptions.first;
    ptrdiff_t left = exceptions.end - first;
    while (left > 1) {
        ptrdiff_t half = left >> 1;
        if (first[half] <= acc) {
            first += half;
            left -= half;
        } else {
            left = half;
        }
    }
    return left > 0 && *first == acc;
}

/* The output for the accumulator `acc` of channel `channel`. */
static inline uint8_t match_requantize(const match_finish_t *finish, int32_t channel, int32_t acc)
{
    uint8_t output = match_requantize_with(finish, match_parameters_of(finish, finish->form, channel), acc);
    if (finish->excepted == NULL) {
        return output;
    }
    return (uint8_t)(output - match_is_exception(match_exceptions_of(finish, channel), acc));
}

#endif
