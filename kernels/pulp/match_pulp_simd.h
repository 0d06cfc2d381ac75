/* Instructions that a core of a PULP cluster has beyond RV32IM, and what stands in for them elsewhere.
 *
 * A macro of the build says what the core executes; without one this is portable C:
 *
 *     MATCH_PULP_ISA_GAP     the built-in functions of the GAP SDK's compiler (__builtin_pulp_...), which makes
 *                            hardware loops and stepping loads of plain C by itself
 *     MATCH_PULP_ISA_XPULP2  Xpulpv2 (RI5CY: GAP8, pulp-open), as `.insn` of any RISC-V GCC
 *     MATCH_PULP_ISA_COREV   CORE-V (CV32E40P), likewise
 *     MATCH_PULP_ISA_AUTO    GAP with a compiler that has these functions, XPULP2 with any other; beside one of the
 *                            others it says nothing
 *
 * XPULP2 and COREV define MATCH_PULP_INSN, and match_pulp_insn.h has their encodings. */
#ifndef MATCH_PULP_SIMD_H
#define MATCH_PULP_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The SDK's compiler is older than __has_builtin, or knows its own functions. */
#if !defined(__riscv)
#define MATCH_PULP_BUILTINS 0
#elif !defined(__has_builtin)
#define MATCH_PULP_BUILTINS 1
#else
#define MATCH_PULP_BUILTINS __has_builtin(__builtin_pulp_sdotusp4)
#endif

#if defined(MATCH_PULP_ISA_XPULP2) + defined(MATCH_PULP_ISA_COREV) + defined(MATCH_PULP_ISA_GAP) > 1
#error "MATCH_PULP_ISA_GAP, MATCH_PULP_ISA_XPULP2 and MATCH_PULP_ISA_COREV exclude each other"
#elif defined(MATCH_PULP_ISA_XPULP2) || defined(MATCH_PULP_ISA_COREV) || defined(MATCH_PULP_ISA_GAP)
#elif defined(MATCH_PULP_ISA_AUTO) && MATCH_PULP_BUILTINS
#define MATCH_PULP_ISA_GAP
#elif defined(MATCH_PULP_ISA_AUTO)
#define MATCH_PULP_ISA_XPULP2
#endif

#if defined(MATCH_PULP_ISA_XPULP2) || defined(MATCH_PULP_ISA_COREV)
#define MATCH_PULP_INSN
/* Loops of .insn take the registers of hardware loops, and no compiler knows: one that makes such loops itself must not. */
#if MATCH_PULP_BUILTINS && !defined(MATCH_PULP_NO_HWLOOP)
#error "this compiler makes hardware loops of its own: take MATCH_PULP_ISA_GAP, or -mnohwloop and MATCH_PULP_NO_HWLOOP"
#endif
#include "match_pulp_insn.h"
#endif

/* Whether four bytes in a word are quicker than each in a register of its own. */
#if defined(MATCH_PULP_INSN) || defined(MATCH_PULP_ISA_GAP)
#define MATCH_PULP_SIMD
#endif

/* Four consecutive bytes, the first one in the lowest bits; the same at any address, among bytes of any type. */
typedef uint32_t match_bytes4_t;
typedef uint32_t match_anywhere4_t __attribute__((aligned(1), may_alias));

#if defined(MATCH_PULP_ISA_GAP)
typedef unsigned char match_unsigned4_t __attribute__((vector_size(4)));
typedef signed char match_signed4_t __attribute__((vector_size(4)));
typedef short match_signed2_t __attribute__((vector_size(4)));
#endif

/* From any address: these cores load and store words across a word's border, in two cycles. */
static inline match_bytes4_t match_load4(const void *bytes)
{
#if defined(MATCH_PULP_INSN)
    match_bytes4_t value;
    __asm__("lw %0, %1" : "=r"(value) : "m"(*(const match_anywhere4_t *)bytes));
    return value;
#elif defined(MATCH_PULP_ISA_GAP)
    return *(const match_anywhere4_t *)bytes;
#else
    match_bytes4_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
#endif
}

/* To any address. */
static inline void match_store4(void *bytes, match_bytes4_t value)
{
#if defined(MATCH_PULP_INSN)
    __asm__("sw %1, %0" : "=m"(*(match_anywhere4_t *)bytes) : "r"(value));
#elif defined(MATCH_PULP_ISA_GAP)
    *(match_anywhere4_t *)bytes = value;
#else
    memcpy(bytes, &value, sizeof value);
#endif
}

/* acc + the sum of the four products of unsigned (activation) and signed (weight) bytes. */
static inline int32_t match_dot4(match_bytes4_t activations, match_bytes4_t weights, int32_t acc)
{
#if defined(MATCH_PULP_INSN)
    __asm__(MATCH_INSN_DOT4("%0", "%1", "%2") : "+r"(acc) : "r"(activations), "r"(weights));
    return acc;
#elif defined(MATCH_PULP_ISA_GAP)
    return __builtin_pulp_sdotusp4((match_unsigned4_t)activations, (match_signed4_t)weights, acc);
#else
    for (uint32_t bit = 0; bit < 32; bit += 8) {
        acc += (int32_t)(uint8_t)(activations >> bit) * (int8_t)(uint8_t)(weights >> bit);
    }
    return acc;
#endif
}

/* acc + the sum of the two products of signed halves. */
static inline int32_t match_dot2(match_bytes4_t a, match_bytes4_t b, int32_t acc)
{
#if defined(MATCH_PULP_INSN)
    __asm__(MATCH_INSN_DOT2("%0", "%1", "%2") : "+r"(acc) : "r"(a), "r"(b));
    return acc;
#elif defined(MATCH_PULP_ISA_GAP)
    return __builtin_pulp_sdotsp2((match_signed2_t)a, (match_signed2_t)b, acc);
#else
    int32_t low = (int16_t)(uint16_t)a * (int16_t)(uint16_t)b;
    int32_t high = (int16_t)(uint16_t)(a >> 16) * (int16_t)(uint16_t)(b >> 16);
    return (int32_t)((uint32_t)acc + (uint32_t)low + (uint32_t)high);
#endif
}

/* acc + the sum of four products as in match_dot4, without acc. */
static inline int32_t match_first_dot4(match_bytes4_t activations, match_bytes4_t weights)
{
#if defined(MATCH_PULP_INSN)
    int32_t acc;
    __asm__(MATCH_INSN_FIRST_DOT4("%0", "%1", "%2") : "=r"(acc) : "r"(activations), "r"(weights));
    return acc;
#else
    return match_dot4(activations, weights, 0);
#endif
}

#if defined(MATCH_PULP_SIMD)

/* acc + the sum of the four products of unsigned bytes. */
static inline uint32_t match_unsigned_dot4(match_bytes4_t a, match_bytes4_t b, uint32_t acc)
{
#if defined(MATCH_PULP_INSN)
    __asm__(MATCH_INSN_UNSIGNED_DOT4("%0", "%1", "%2") : "+r"(acc) : "r"(a), "r"(b));
    return acc;
#else
    return (uint32_t)__builtin_pulp_sdotup4((match_unsigned4_t)a, (match_unsigned4_t)b, acc);
#endif
}

#endif

/* Add four consecutive bytes to four sums. */
static inline void match_add4(int32_t acc[4], const uint8_t *bytes)
{
#if defined(MATCH_PULP_SIMD)
    match_bytes4_t word = match_load4(bytes);
    acc[0] = match_dot4(word, 0x00000001u, acc[0]);
    acc[1] = match_dot4(word, 0x00000100u, acc[1]);
    acc[2] = match_dot4(word, 0x00010000u, acc[2]);
    acc[3] = match_dot4(word, 0x01000000u, acc[3]);
#else
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        acc[i] += bytes[i];
    }
#endif
}

/* The lowest bytes of a, b, c, d as one word, a in its lowest bits. */
static inline match_bytes4_t match_pack4(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
#if defined(MATCH_PULP_INSN)
    match_bytes4_t word;
    __asm__(MATCH_INSN_PACK_LOW("%0", "%1", "%2") : "=r"(word) : "r"(b), "r"(a));
    __asm__(MATCH_INSN_PACK_HIGH("%0", "%1", "%2") : "+r"(word) : "r"(d), "r"(c));
    return word;
#elif defined(MATCH_PULP_ISA_GAP)
    return (match_bytes4_t)__builtin_pulp_pack4((signed char)a, (signed char)b, (signed char)c, (signed char)d);
#else
    return (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | d << 24;
#endif
}

/* Store the lowest bytes of four values side by side, as a word where packing one is quicker, after which *bytes is
 * behind them. */
static inline void match_store_bytes4(uint8_t **bytes, const int32_t values[4])
{
#if defined(MATCH_PULP_SIMD)
    match_bytes4_t word = match_pack4((uint32_t)values[0], (uint32_t)values[1], (uint32_t)values[2],
                                      (uint32_t)values[3]);
#if defined(MATCH_PULP_INSN)
    __asm__ volatile(MATCH_INSN_STORE4("%1", "%0") : "+r"(*bytes) : "r"(word) : "memory");
#else
    match_store4(*bytes, word);
    *bytes += 4;
#endif
#else
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        (*bytes)[i] = (uint8_t)values[i];
    }
    *bytes += 4;
#endif
}

/* acc + a * b, which must fit 32 bits; the product alone need not. */
static inline int32_t match_multiply_add(int32_t acc, int32_t a, int32_t b)
{
#if defined(MATCH_PULP_INSN)
    __asm__(MATCH_INSN_MULTIPLY_ADD("%0", "%1", "%2") : "+r"(acc) : "r"(a), "r"(b));
    return acc;
#else
    return (int32_t)((uint32_t)acc + (uint32_t)a * (uint32_t)b);
#endif
}

static inline int32_t match_larger(int32_t a, int32_t b)
{
#if defined(MATCH_PULP_INSN)
    int32_t larger;
    __asm__(MATCH_INSN_MAX("%0", "%1", "%2") : "=r"(larger) : "r"(a), "r"(b));
    return larger;
#else
    return a > b ? a : b;
#endif
}

static inline int32_t match_smaller(int32_t a, int32_t b)
{
#if defined(MATCH_PULP_INSN)
    int32_t smaller;
    __asm__(MATCH_INSN_MIN("%0", "%1", "%2") : "=r"(smaller) : "r"(a), "r"(b));
    return smaller;
#else
    return a < b ? a : b;
#endif
}

/* The upper word of a * b. */
static inline int32_t match_multiply_high(int32_t a, uint32_t b)
{
    return (int32_t)((int64_t)a * b >> 32);
}

/* (a + b) >> shift, where the sum fits 32 bits, by the lowest five bits of `shift`. */
static inline int32_t match_add_shift(int32_t a, int32_t b, int32_t shift)
{
#if defined(MATCH_PULP_INSN)
    __asm__(MATCH_INSN_ADD_SHIFT("%0", "%1", "%2") : "+r"(a) : "r"(b), "r"(shift));
    return a;
#else
    return (int32_t)((uint32_t)a + (uint32_t)b) >> (shift & 31);
#endif
}

/* The same of words without signs. */
static inline uint32_t match_add_shift_unsigned(uint32_t a, uint32_t b, uint32_t shift)
{
#if defined(MATCH_PULP_INSN)
    __asm__(MATCH_INSN_ADD_SHIFT_UNSIGNED("%0", "%1", "%2") : "+r"(a) : "r"(b), "r"(shift));
    return a;
#else
    return (a + b) >> (shift & 31);
#endif
}

/* The nearest of 0 .. most. */
static inline int32_t match_clip_from_0(int32_t value, int32_t most)
{
#if defined(MATCH_PULP_INSN)
    int32_t clipped;
    __asm__(MATCH_INSN_CLIP("%0", "%1", "%2") : "=r"(clipped) : "r"(value), "r"(most));
    return clipped;
#elif defined(MATCH_PULP_ISA_GAP)
    return (int32_t)__builtin_pulp_clipu_r(value, most);
#else
    return match_smaller(match_larger(value, 0), most);
#endif
}

/* Four bytes that largest ones are collected in. */
#if defined(MATCH_PULP_SIMD)
typedef match_bytes4_t match_largest4_t;
#else
typedef struct {
    int32_t bytes[4];
} match_largest4_t;
#endif

/* The larger byte of each of the four pairs. */
static inline match_largest4_t match_max4(match_largest4_t largest, const uint8_t *bytes)
{
#if defined(MATCH_PULP_INSN)
    __asm__(MATCH_INSN_MAX4("%0", "%1", "%2") : "=r"(largest) : "r"(largest), "r"(match_load4(bytes)));
    return largest;
#elif defined(MATCH_PULP_ISA_GAP)
    return (match_bytes4_t)__builtin_pulp_maxu4((match_unsigned4_t)largest, (match_unsigned4_t)match_load4(bytes));
#else
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        largest.bytes[i] = match_larger(largest.bytes[i], bytes[i]);
    }
    return largest;
#endif
}

/* The larger signed half of both pairs. */
static inline match_bytes4_t match_max2(match_bytes4_t a, match_bytes4_t b)
{
#if defined(MATCH_PULP_INSN)
    match_bytes4_t largest;
    __asm__(MATCH_INSN_MAX2("%0", "%1", "%2") : "=r"(largest) : "r"(a), "r"(b));
    return largest;
#elif defined(MATCH_PULP_ISA_GAP)
    return (match_bytes4_t)__builtin_pulp_max2((match_signed2_t)a, (match_signed2_t)b);
#else
    int32_t low = match_larger((int16_t)(uint16_t)a, (int16_t)(uint16_t)b);
    int32_t high = match_larger((int16_t)(uint16_t)(a >> 16), (int16_t)(uint16_t)(b >> 16));
    return ((uint32_t)high << 16) | (uint16_t)low;
#endif
}

/* The first byte, after which the others have moved up. */
static inline int32_t match_take_byte(match_largest4_t *largest)
{
#if defined(MATCH_PULP_SIMD)
    int32_t first = (uint8_t)*largest;
    *largest >>= 8;
#else
    int32_t first = largest->bytes[0];
    largest->bytes[0] = largest->bytes[1];
    largest->bytes[1] = largest->bytes[2];
    largest->bytes[2] = largest->bytes[3];
#endif
    return first;
}

/* The byte at *bytes, after which *bytes is `step` bytes further. */
static inline uint32_t match_load_step(const uint8_t **bytes, ptrdiff_t step)
{
#if defined(MATCH_PULP_INSN)
    uint32_t value;
    __asm__ volatile(MATCH_INSN_LOAD_BYTE_STEP("%0", "%1", "%2") : "=&r"(value), "+r"(*bytes) : "r"(step) : "memory");
    return value;
#else
    uint32_t value = **bytes;
    *bytes += step;
    return value;
#endif
}

/* Store the lowest byte to *bytes, after which *bytes is `step` bytes further. */
static inline void match_store_step(uint8_t **bytes, ptrdiff_t step, uint32_t value)
{
#if defined(MATCH_PULP_INSN)
    __asm__ volatile(MATCH_INSN_STORE_BYTE_STEP("%1", "%0", "%2") : "+r"(*bytes) : "r"(value), "r"(step) : "memory");
#else
    **bytes = (uint8_t)value;
    *bytes += step;
#endif
}

#endif
