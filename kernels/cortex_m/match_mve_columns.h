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

/* Write `count` signed bytes and return what is behind them. */
static inline int8_t *match_mve_sign(int8_t *column, const uint8_t *bytes, int32_t count)
{
    int8_t *end = column + count;
#if MATCH_ARM_MVE
    __asm__ volatile("vmov.i8 q1, #0x80\n"
                     "wlstp.8 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%[bytes]], #16\n"
                     "veor q0, q0, q1\n"
                     "vstrb.8 q0, [%[column]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [bytes] "+r"(bytes), [column] "+r"(column)
                     : [count] "r"(count)
                     : "q0", "q1", "lr", "memory");
#else
    while (column != end) {
        *column++ = (int8_t)(*bytes++ ^ MATCH_MVE_SIGN);
    }
#endif
    return end;
}

/* The same of `count` times one value. */
static inline int8_t *match_mve_fill(int8_t *column, int8_t value, int32_t count)
{
    int8_t *end = column + count;
#if MATCH_ARM_MVE
    __asm__ volatile("vdup.8 q0, %[value]\n"
                     "wlstp.8 lr, %[count], 2f\n"
                     "1:\n"
                     "vstrb.8 q0, [%[column]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [column] "+r"(column)
                     : [count] "r"(count), [value] "r"(value)
                     : "q0", "lr", "memory");
#else
    memset(column, value, (size_t)count);
#endif
    return end;
}

#endif
