/* Bytes of activations as columns of match_arm_dot.h. */
#ifndef MATCH_ARM_COLUMNS_H
#define MATCH_ARM_COLUMNS_H

#include "match_arm_simd.h"

/* Write `count` bytes, which end the column unless they are a multiple of 4, as pairs, `stride` words from one to the
 * next. What a last word lacks becomes 0. Returns where the next pair lies. */
static inline __attribute__((always_inline)) uint32_t *match_arm_widen(uint32_t *column, int32_t stride,
                                                                       const uint8_t *bytes, int32_t count)
{
    if (count & 4) {
        uint32_t word = match_arm_load4(bytes);
        column[0] = match_arm_even(word);
        column[stride] = match_arm_odd(word);
        bytes += 4;
        column += 2 * stride;
    }
    for (const uint8_t *end = bytes + (count & ~7); bytes != end; bytes += 8, column += 4 * stride) {
        uint32_t first = match_arm_load4(bytes), second = match_arm_load4(bytes + 4);
        column[0] = match_arm_even(first);
        column[stride] = match_arm_odd(first);
        column[2 * stride] = match_arm_even(second);
        column[3 * stride] = match_arm_odd(second);
        MATCH_ARM_KEEP(bytes);
    }
    if (count & 3) {
        column[0] = bytes[0] | (uint32_t)((count & 3) == 3 ? bytes[2] : 0) << 16;
        column[stride] = (count & 3) > 1 ? bytes[1] : 0;
        column += 2 * stride;
    }
    return column;
}

/* The same of `count` times one value. */
static inline __attribute__((always_inline)) uint32_t *match_arm_widen_fill(uint32_t *column, int32_t stride,
                                                                            uint32_t value, int32_t count)
{
    for (; count > 0; count -= 4, column += 2 * stride) {
        column[0] = column[stride] = value | value << 16;
    }
    return column;
}

#endif
