/* Arithmetic in fixed point, as TFLite Micro rounds it. */
#ifndef MATCH_PULP_FIXED_POINT_H
#define MATCH_PULP_FIXED_POINT_H

#include <stdint.h>

#include "match_pulp_simd.h"
#include "match_tile.h"

/* The product of numbers between -1 and 1 with 31 bits behind the point, rounded half up. */
static inline int32_t match_fixed_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* x clipped to 16 bits. */
static inline int32_t match_narrow(int32_t x)
{
    return match_smaller(match_larger(x, INT16_MIN), INT16_MAX);
}

/* x / 2^bits, rounded half away from zero, half being 2^bits / 2: a negative x lacks one where there is a half. */
static inline int32_t match_rounded_shift(int32_t x, int32_t bits, int32_t half)
{
    return (x + half + ((x & -half) >> 31)) >> bits;
}

/* The upper word of the product, rounded by the lower word's first bit, and shifted. */
static inline int32_t match_scaled(int32_t x, const match_scaling_t *by)
{
    int64_t product = (int64_t)(int32_t)((uint32_t)x << by->left) * by->mantissa;
    int32_t upper = (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
    return match_rounded_shift(upper, by->right, by->half);
}

/* The same of a number of 32 bits, where `left` is 1. */
static inline int32_t match_scaled_once(int32_t x, const match_scaling_t *by)
{
    return match_rounded_shift(match_fixed_product(x, by->mantissa), by->right, by->half);
}

#endif
