/* float32 to 8 bits in integers. */
#ifndef MATCH_PULP_LEVEL_H
#define MATCH_PULP_LEVEL_H

#include <stdint.h>

#include "match_pulp_simd.h"

/* What outputs for numbers are computed from, see match_quantize_t. */
typedef struct {
    const int32_t *steps;
    int32_t multiplier;
    int32_t exponent;
    int32_t zero;
} match_level_t;

static inline match_level_t match_level_parameters(const match_quantize_t *p)
{
    return (match_level_t){p->steps, p->multiplier, p->exponent, p->zero};
}

/* The output for a number by its bits, counted from the lowest. */
static inline int32_t match_level_of(const match_level_t *p, int32_t bits)
{
    enum { LEADING = 0x8000, BEHIND_LEADING = 0x7fff, LARGEST_SHIFT = 31, LAST = 255 };
    int32_t negative = bits >> 31;
    uint32_t digits = ((uint32_t)bits >> 8 & BEHIND_LEADING) | LEADING;
    int32_t shift = match_clip_from_0(p->exponent - (int32_t)((uint32_t)bits << 1 >> 24), LARGEST_SHIFT);
    int32_t level = (int32_t)(digits * (uint32_t)p->multiplier >> shift);
    int32_t at = match_clip_from_0((level ^ negative) + p->zero, LAST);
    int32_t order = bits ^ (int32_t)((uint32_t)negative >> 1);
    return at + (order > p->steps[at]);
}

#endif
