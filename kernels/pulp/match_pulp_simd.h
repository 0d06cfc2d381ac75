/* Four 8-bit operations at a time, in portable C. This is the one place that a core with SIMD instructions replaces. */
#ifndef MATCH_PULP_SIMD_H
#define MATCH_PULP_SIMD_H

#include <stdint.h>
#include <string.h>

/* Four consecutive bytes, from any address. */
typedef uint32_t match_bytes4_t;

static inline match_bytes4_t match_load4(const void *bytes)
{
    match_bytes4_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* acc + the sum of the four products of unsigned (activation) and signed (weight) bytes. */
static inline int32_t match_dot4(match_bytes4_t activations, match_bytes4_t weights, int32_t acc)
{
    for (uint32_t bit = 0; bit < 32; bit += 8) {
        acc += (int32_t)(uint8_t)(activations >> bit) * (int8_t)(uint8_t)(weights >> bit);
    }
    return acc;
}

#endif
