/* Dot products of weight rows with vectors of activations, in blocks: up to 4 rows x 2 vectors share their loads. */
#ifndef MATCH_PULP_DOT_H
#define MATCH_PULP_DOT_H

#include <stddef.h>
#include <stdint.h>

#include "match_pulp_simd.h"

/* Output channels and pixels of one block of accumulators, held in registers: 6 loads feed 8 dot products. */
enum { MATCH_BLOCK_CHANNELS = 4, MATCH_BLOCK_PIXELS = 2 };

/* Accumulators of a block of any size; the others are not used. */
typedef struct {
    int32_t acc[MATCH_BLOCK_CHANNELS][MATCH_BLOCK_PIXELS];
} match_block_t;

/* Where the vectors of a block continue. */
typedef struct {
    const uint8_t *x[MATCH_BLOCK_PIXELS];
    const int8_t *w[MATCH_BLOCK_CHANNELS];
} match_vectors_t;

#define MATCH_INLINE static inline __attribute__((always_inline))

/* The vectors of a block: `channels` rows of weights, `length` bytes apart, and `pixels` vectors of activations. */
MATCH_INLINE match_vectors_t match_vectors_of(const uint8_t *const x[], const int8_t *w, int32_t length, int channels,
                                              int pixels)
{
    match_vectors_t v;
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
        v.x[j] = x[j];
    }
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
        v.w[i] = w + (ptrdiff_t)i * length;
    }
    return v;
}

MATCH_INLINE void match_start(int channels, int pixels, match_block_t *block)
{
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            block->acc[i][j] = 0;
        }
    }
}

/* Byte number `at` of every vector. */
MATCH_INLINE void match_byte(const match_vectors_t *v, int32_t at, int channels, int pixels, match_block_t *block)
{
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            block->acc[i][j] += v->x[j][at] * v->w[i][at];
        }
    }
}

#if defined(MATCH_PULP_INSN)

/* One step of each kind of block, 4 bytes of every vector; DOT4 is what the products are added up by. Loads stay away
 * from what uses them, which would wait a cycle. */
#define MATCH_STEP_4X2(DOT4) \
    MATCH_INSN_LOAD4("%14", "%8") \
    MATCH_INSN_LOAD4("%16", "%10") \
    MATCH_INSN_LOAD4("%15", "%9") \
    MATCH_INSN_LOAD4("%17", "%11") \
    DOT4("%0", "%14", "%16") \
    DOT4("%1", "%15", "%16") \
    MATCH_INSN_LOAD4("%16", "%12") \
    DOT4("%2", "%14", "%17") \
    DOT4("%3", "%15", "%17") \
    MATCH_INSN_LOAD4("%17", "%13") \
    DOT4("%4", "%14", "%16") \
    DOT4("%5", "%15", "%16") \
    DOT4("%6", "%14", "%17") \
    DOT4("%7", "%15", "%17")

#define MATCH_STEP_4X1(DOT4) \
    MATCH_INSN_LOAD4("%9", "%4") \
    MATCH_INSN_LOAD4("%10", "%5") \
    MATCH_INSN_LOAD4("%11", "%6") \
    MATCH_INSN_LOAD4("%12", "%7") \
    DOT4("%0", "%9", "%10") \
    MATCH_INSN_LOAD4("%10", "%8") \
    DOT4("%1", "%9", "%11") \
    DOT4("%2", "%9", "%12") \
    DOT4("%3", "%9", "%10")

#define MATCH_STEP_1X2(DOT4) \
    MATCH_INSN_LOAD4("%7", "%4") \
    MATCH_INSN_LOAD4("%5", "%2") \
    MATCH_INSN_LOAD4("%6", "%3") \
    DOT4("%0", "%5", "%7") \
    DOT4("%1", "%6", "%7")

#define MATCH_STEP_1X1(DOT4) \
    MATCH_INSN_LOAD4("%3", "%1") \
    MATCH_INSN_LOAD4("%4", "%2") \
    DOT4("%0", "%3", "%4")

/* All steps, `words` > 0 of them: the first one starts the sums. */
#define MATCH_STEPS(step, instructions, words) \
    step(MATCH_INSN_FIRST_DOT4) \
    "beqz " words ", 1f\n" \
    MATCH_INSN_LOOP(words, instructions) \
    step(MATCH_INSN_DOT4) \
    MATCH_INSN_LOOP_END \
    "1:\n"

MATCH_INLINE void match_words_4x2(match_vectors_t *v, int32_t words, match_block_t *block)
{
    uint32_t p, q, k, l;
    __asm__ volatile(MATCH_STEPS(MATCH_STEP_4X2, 14, "%18")
                     : "=&r"(block->acc[0][0]), "=&r"(block->acc[0][1]), "=&r"(block->acc[1][0]),
                       "=&r"(block->acc[1][1]), "=&r"(block->acc[2][0]), "=&r"(block->acc[2][1]),
                       "=&r"(block->acc[3][0]), "=&r"(block->acc[3][1]), "+r"(v->x[0]), "+r"(v->x[1]), "+r"(v->w[0]),
                       "+r"(v->w[1]), "+r"(v->w[2]), "+r"(v->w[3]), "=&r"(p), "=&r"(q), "=&r"(k), "=&r"(l)
                     : "r"(words - 1)
                     : "memory");
}

MATCH_INLINE void match_words_4x1(match_vectors_t *v, int32_t words, match_block_t *block)
{
    uint32_t p, k, l, m;
    __asm__ volatile(MATCH_STEPS(MATCH_STEP_4X1, 9, "%13")
                     : "=&r"(block->acc[0][0]), "=&r"(block->acc[1][0]), "=&r"(block->acc[2][0]),
                       "=&r"(block->acc[3][0]), "+r"(v->x[0]), "+r"(v->w[0]), "+r"(v->w[1]), "+r"(v->w[2]),
                       "+r"(v->w[3]), "=&r"(p), "=&r"(k), "=&r"(l), "=&r"(m)
                     : "r"(words - 1)
                     : "memory");
}

MATCH_INLINE void match_words_1x2(match_vectors_t *v, int32_t words, match_block_t *block)
{
    uint32_t p, q, k;
    __asm__ volatile(MATCH_STEPS(MATCH_STEP_1X2, 5, "%8")
                     : "=&r"(block->acc[0][0]), "=&r"(block->acc[0][1]), "+r"(v->x[0]), "+r"(v->x[1]), "+r"(v->w[0]),
                       "=&r"(p), "=&r"(q), "=&r"(k)
                     : "r"(words - 1)
                     : "memory");
}

MATCH_INLINE void match_words_1x1(match_vectors_t *v, int32_t words, match_block_t *block)
{
    uint32_t p, k;
    __asm__ volatile(MATCH_STEPS(MATCH_STEP_1X1, 3, "%5")
                     : "=&r"(block->acc[0][0]), "+r"(v->x[0]), "+r"(v->w[0]), "=&r"(p), "=&r"(k)
                     : "r"(words - 1)
                     : "memory");
}

MATCH_INLINE void match_words(match_vectors_t *v, int32_t words, int channels, int pixels, match_block_t *block)
{
    if (channels == MATCH_BLOCK_CHANNELS && pixels == MATCH_BLOCK_PIXELS) {
        match_words_4x2(v, words, block);
    } else if (channels == MATCH_BLOCK_CHANNELS) {
        match_words_4x1(v, words, block);
    } else if (pixels == MATCH_BLOCK_PIXELS) {
        match_words_1x2(v, words, block);
    } else {
        match_words_1x1(v, words, block);
    }
}

#else

/* All vectors move on. */
MATCH_INLINE void match_advance(match_vectors_t *v, int32_t bytes, int channels, int pixels)
{
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
        v->x[j] += bytes;
    }
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
        v->w[i] += bytes;
    }
}

#if defined(MATCH_PULP_ISA_GAP)

/* The next 4 bytes of every vector. */
MATCH_INLINE void match_step(const match_vectors_t *v, int channels, int pixels, match_block_t *block)
{
    match_bytes4_t x[MATCH_BLOCK_PIXELS];
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
        x[j] = match_load4(v->x[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
        match_bytes4_t w = match_load4(v->w[i]);
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            block->acc[i][j] = match_dot4(x[j], w, block->acc[i][j]);
        }
    }
}

#else

/* The next 4 bytes of every vector, one by one: taking words apart costs more than loading bytes. */
MATCH_INLINE void match_step(const match_vectors_t *v, int channels, int pixels, match_block_t *block)
{
#pragma GCC unroll 4
    for (int32_t at = 0; at < 4; at++) {
        match_byte(v, at, channels, pixels, block);
    }
}

#endif

MATCH_INLINE void match_words(match_vectors_t *v, int32_t words, int channels, int pixels, match_block_t *block)
{
    match_start(channels, pixels, block);
    for (int32_t word = 0; word < words; word++) {
        match_step(v, channels, pixels, block);
        match_advance(v, 4, channels, pixels);
    }
}

#endif

#if defined(MATCH_PULP_SIMD)

/* The last length % 4 bytes, where `length` is at least 4: the last 4 again, with those left out that were counted. */
MATCH_INLINE void match_rest(const match_vectors_t *v, int32_t rest, int channels, int pixels, match_block_t *block)
{
    match_bytes4_t x[MATCH_BLOCK_PIXELS];
    match_bytes4_t mask = 0xffffffffu << (32 - 8 * rest);
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
        x[j] = match_load4(v->x[j] + rest - 4) & mask;
    }
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
        match_bytes4_t w = match_load4(v->w[i] + rest - 4);
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            block->acc[i][j] = match_dot4(x[j], w, block->acc[i][j]);
        }
    }
}

#else

/* The last length % 4 bytes. */
MATCH_INLINE void match_rest(const match_vectors_t *v, int32_t rest, int channels, int pixels, match_block_t *block)
{
    for (int32_t at = 0; at < rest; at++) {
        match_byte(v, at, channels, pixels, block);
    }
}

#endif

/* Accumulators of `channels` (4 or 1) rows of weights, `length` bytes apart, and `pixels` (2 or 1) vectors of
 * activations, all of `length` bytes, at least 4, from any address. */
MATCH_INLINE match_block_t match_dot_block(const uint8_t *const x[], const int8_t *w, int32_t length, int channels,
                                           int pixels)
{
    match_vectors_t v = match_vectors_of(x, w, length, channels, pixels);
    match_block_t block;
    match_words(&v, length >> 2, channels, pixels, &block);
    if (__builtin_expect(length & 3, 0)) {
        match_rest(&v, length & 3, channels, pixels, &block);
    }
    return block;
}

/* The same for vectors of fewer than 4 bytes, a byte at a time. */
MATCH_INLINE match_block_t match_short_dot_block(const uint8_t *const x[], const int8_t *w, int32_t length,
                                                 int channels, int pixels)
{
    match_vectors_t v = match_vectors_of(x, w, length, channels, pixels);
    match_block_t block;
    match_start(channels, pixels, &block);
    for (int32_t at = 0; at < length; at++) {
        match_byte(&v, at, channels, pixels, &block);
    }
    return block;
}

/* One of these products. */
static inline int32_t match_short_dot(const uint8_t *x, const int8_t *w, int32_t length)
{
    int32_t acc = 0;
    for (int32_t i = 0; i < length; i++) {
        acc += x[i] * w[i];
    }
    return acc;
}

#endif
