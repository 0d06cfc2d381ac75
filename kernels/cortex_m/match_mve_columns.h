/* Bytes of activations as signed bytes: less by 128. */
#ifndef MATCH_MVE_COLUMNS_H
#define MATCH_MVE_COLUMNS_H

#include "match_arm_simd.h"

enum { MATCH_MVE_BYTES = 16, MATCH_MVE_SIGN = 0x80 };

/* The bytes of a column of so many values. */
static inline int32_t match_mve_rounded(int32_t count)
{
    return (count + MATCH_MVE_BYTES - 1) & -MATCH_MVE_BYTES;
}

/* Write `count` signed bytes to where there is room for 16 at a time, and return what is behind them. */
static inline int8_t *match_mve_sign(int8_t *column, const uint8_t *bytes, int32_t count)
{
    int8_t *end = column + count;
#if MATCH_ARM_MVE
    for (; count > 0; count -= MATCH_MVE_BYTES, bytes += MATCH_MVE_BYTES, column += MATCH_MVE_BYTES) {
        uint8x16_t some = vldrbq_z_u8(bytes, vctp8q((uint32_t)count));
        vstrbq_u8((uint8_t *)column, veorq_u8(some, vdupq_n_u8(MATCH_MVE_SIGN)));
    }
#else
    while (column != end) {
        *column++ = (int8_t)(*bytes++ ^ MATCH_MVE_SIGN);
    }
#endif
    return end;
}

#endif
