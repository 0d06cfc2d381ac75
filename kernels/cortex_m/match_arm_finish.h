/* What becomes of accumulators: outputs, by one of two forms of requantization. */
#ifndef MATCH_ARM_FINISH_H
#define MATCH_ARM_FINISH_H

#include <stdbool.h>
#include <stddef.h>

#include "match_arm.h"
#include "match_arm_simd.h"

typedef enum {
    MATCH_ARM_WORDS, /* match_arm_requant_t */
    MATCH_ARM_LONG,  /* match_arm_requant_long_t */
} match_arm_form_t;

/* What is needed of a tile to finish accumulators. */
typedef struct {
    match_arm_form_t form;
    bool bytes; /* outputs are clipped to 0 .. 255 */
    bool upper; /* of the longer form, all channels shift by a word at least */
    const uint8_t *parameters;
    int32_t low;
    int32_t high;
} match_arm_finish_t;

match_arm_finish_t match_arm_finish_of(const match_tile_t *tile, match_arm_form_t form);

/* Bytes of a channel's parameters. */
static inline int32_t match_arm_parameter_bytes(match_arm_form_t form)
{
    return (int32_t)(form == MATCH_ARM_WORDS ? sizeof(match_arm_requant_t) : sizeof(match_arm_requant_long_t));
}

/* The parameters of a channel; the first word is the addend in all forms. */
static inline const void *match_arm_parameters(const match_arm_finish_t *finish, int32_t channel)
{
    return finish->parameters + channel * match_arm_parameter_bytes(finish->form);
}

static inline int32_t match_arm_addend(const match_arm_finish_t *finish, int32_t channel)
{
    return *(const int32_t *)match_arm_parameters(finish, channel);
}

/* The output before the clip of an accumulator with its addend. */
static inline int32_t match_arm_level(match_arm_requant_t p, int32_t sum)
{
    int32_t word = (int32_t)((uint32_t)sum * (uint32_t)p.times + (uint32_t)p.bias);
    return match_arm_add_upper(word, sum, p.multiplier) >> p.shift;
}

/* The same of outputs that are bytes without a clip of their own. */
static inline uint8_t match_arm_byte(match_arm_requant_t p, int32_t sum)
{
    return match_arm_clip_to_byte(match_arm_level(p, sum));
}

/* Outputs of a channel for sums with its addend: of `count` pixels at `outputs`, or of the `rows` output rows from y on,
 * whose sums begin `step` apart. */
void match_arm_finish(const match_arm_finish_t *finish, int32_t channel, const int32_t *sums, uint8_t *const *outputs,
                      int32_t count);
void match_arm_finish_rows(const match_arm_finish_t *finish, int32_t channel, const int32_t *sums, int32_t step,
                           const match_tile_t *tile, int32_t y, int32_t rows);

#endif
