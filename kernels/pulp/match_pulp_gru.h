/* What the kernels of both kinds of GRU have in common. */
#ifndef MATCH_PULP_GRU_H
#define MATCH_PULP_GRU_H

#include <stdint.h>

#include "match_pulp_gates.h"
#include "match_pulp_simd.h"
#include "match_tile.h"

enum { MATCH_GRU_UPDATE, MATCH_GRU_RESET, MATCH_GRU_CANDIDATE, MATCH_GRU_GATES };

/* Bytes of three rows of weights, whole words. */
static inline int32_t match_gru_bytes(int32_t length)
{
    return (MATCH_GRU_GATES * length + 3) & ~3;
}

/* x / 2^15, rounded half up. */
static inline int32_t match_gru_of_one(int32_t x)
{
    return (x + (1 << 14)) >> 15;
}

/* A unit's state after a step, 15 bits behind the point, from its candidate's sums and its update gate. */
static inline int32_t match_gru_state(const match_gru_t *gru, int32_t candidate, int32_t keep, int32_t state)
{
    int32_t fresh = match_tanh_of(gru->logistic, 3 * match_narrow(candidate));
    return fresh + match_gru_of_one(keep * (state - fresh));
}

/* A state as an output. */
static inline uint8_t match_gru_output(const match_tile_t *tile, const match_gru_t *gru, int32_t state)
{
    int32_t level = match_scaled(state, &gru->shown) + gru->zero;
    return (uint8_t)match_smaller(match_larger(level, tile->clip_low), tile->clip_high);
}

#endif
