/* Functions of the gates of recurrent cells, in TFLite Micro's fixed point. */
#ifndef MATCH_PULP_GATES_H
#define MATCH_PULP_GATES_H

#include <stdint.h>

#include "match_pulp_fixed_point.h"
#include "match_tile.h"

/* Numbers of the table, and bits of a position between two of them: of the logistic function and of the hyperbolic
 * tangent, which is twice as steep. */
enum { MATCH_CURVE_LAST = 255, MATCH_LOGISTIC_BITS = 9, MATCH_TANH_BITS = 8 };

/* The logistic function's table at a magnitude, with as many more bits behind the point as its position has. */
static inline int32_t match_interpolated(const uint16_t *logistic, int32_t magnitude, int32_t bits, int32_t most)
{
    int32_t index = magnitude >> bits;
    if (index >= MATCH_CURVE_LAST) {
        return most;
    }
    int32_t low = logistic[index];
    return (low << bits) + (magnitude & ((1 << bits) - 1)) * (logistic[index + 1] - low);
}

/* Both functions, of steps of the table's, give 15 bits behind the point. */
static inline int32_t match_logistic_at(const uint16_t *logistic, int32_t x)
{
    int32_t positive = match_interpolated(logistic, x < 0 ? -x : x, MATCH_LOGISTIC_BITS, 0x7fff << 10);
    int32_t half = 1 << 9;
    return (x < 0 ? (1 << 25) + half - 1 - positive : positive + half) >> 10;
}

/* Of a sum of 16 bits, 12 of them behind the point, which is 3 times as many steps. */
static inline int32_t match_logistic_of(const uint16_t *logistic, int32_t sum)
{
    return match_logistic_at(logistic, 3 * sum);
}

static inline int32_t match_tanh_of(const uint16_t *logistic, int32_t x)
{
    int32_t positive = match_interpolated(logistic, x < 0 ? -x : x, MATCH_TANH_BITS, 0xffff << 8);
    int32_t one = 1 << 23;
    int32_t half = 1 << 7;
    return (x < 0 ? one + half - 1 - positive : positive - one + half) >> 8;
}

#endif
