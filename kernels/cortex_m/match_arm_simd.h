/* Instructions of the DSP extension by name, and the same in C where there is none. */
#ifndef MATCH_ARM_SIMD_H
#define MATCH_ARM_SIMD_H

#include <stdint.h>
#include <string.h>

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32) && __ARM_FEATURE_SIMD32
#define MATCH_ARM_DSP 1
#include <arm_acle.h>
#endif

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#define MATCH_ARM_MVE 1
#include <arm_mve.h>
#endif

/* A loop that steps this pointer stays a loop: GCC unrolls those that copy, and checks for overlaps in front of them. */
#define MATCH_ARM_KEEP(pointer) __asm__("" : "+r"(pointer))

/* Four bytes from any address, the first one lowest. */
static inline uint32_t match_arm_load4(const void *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Of a word's four bytes, the even ones and the odd ones as pairs of uint16_t. */
static inline uint32_t match_arm_even(uint32_t word)
{
#if MATCH_ARM_DSP
    return __uxtb16(word);
#else
    return word & 0x00ff00ff;
#endif
}

static inline uint32_t match_arm_odd(uint32_t word)
{
#if MATCH_ARM_DSP
    uint32_t pair;
    __asm__("uxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
    return pair;
#else
    return word >> 8 & 0x00ff00ff;
#endif
}

/* The same as pairs of int16_t. */
static inline uint32_t match_arm_signed_even(uint32_t word)
{
#if MATCH_ARM_DSP
    return (uint32_t)__sxtb16(word);
#else
    return (uint32_t)(uint16_t)(int8_t)(uint8_t)word | (uint32_t)(uint16_t)(int8_t)(uint8_t)(word >> 16) << 16;
#endif
}

static inline uint32_t match_arm_signed_odd(uint32_t word)
{
    return match_arm_signed_even(word >> 8 | word << 24);
}

/* A pair of the lower, or of the upper, halves of two words, the first one's below. */
static inline uint32_t match_arm_lower(uint32_t low, uint32_t high)
{
#if MATCH_ARM_DSP
    uint32_t pair;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(pair) : "r"(low), "r"(high));
    return pair;
#else
    return (low & 0xffff) | high << 16;
#endif
}

static inline uint32_t match_arm_upper(uint32_t low, uint32_t high)
{
#if MATCH_ARM_DSP
    uint32_t pair;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(pair) : "r"(high), "r"(low));
    return pair;
#else
    return low >> 16 | (high & 0xffff0000);
#endif
}

/* sum + the products of two pairs of int16_t. */
static inline int32_t match_arm_pair(uint32_t a, uint32_t b, int32_t sum)
{
#if MATCH_ARM_DSP
    return __smlad((int16x2_t)a, (int16x2_t)b, sum);
#else
    return sum + (int16_t)a * (int16_t)b + (int16_t)(a >> 16) * (int16_t)(b >> 16);
#endif
}

/* The upper word of a product of signed words, added to a word; sums wrap. */
static inline int32_t match_arm_add_upper(int32_t sum, int32_t a, int32_t b)
{
#if MATCH_ARM_DSP
    __asm__("smmla %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
#else
    return (int32_t)((uint32_t)sum + (uint32_t)(((int64_t)a * b) >> 32));
#endif
}

/* The products of four bytes and of the weights of two channels (match_arm_dot.h), added to two sums. */
static inline void match_arm_add_four(uint32_t bytes, const int8_t *weights, int32_t *sums)
{
    for (int32_t half = 0; half < 2; half++, weights += 4) {
        uint32_t pair = half == 0 ? match_arm_even(bytes) : match_arm_odd(bytes), word = match_arm_load4(weights);
        sums[0] = match_arm_pair(pair, match_arm_signed_even(word), sums[0]);
        sums[1] = match_arm_pair(pair, match_arm_signed_odd(word), sums[1]);
    }
}

static inline int32_t match_arm_clip(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Clip to 0 .. 255. */
static inline uint8_t match_arm_clip_to_byte(int32_t value)
{
#if MATCH_ARM_DSP
    return (uint8_t)__usat(value, 8);
#else
    return (uint8_t)match_arm_clip(value, 0, 255);
#endif
}

#endif
