/* Dot products of weight rows with vectors of activations, in blocks: up to 4 rows x 2 vectors share their loads. */
#ifndef MATCH_PULP_DOT_H
#define MATCH_PULP_DOT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* The vectors of a block: `channels` rows of weights, `w_step` bytes apart, and `pixels` vectors of activations. */
MATCH_INLINE match_vectors_t match_vectors_of(const uint8_t *const x[], const int8_t *w, int32_t w_step, int channels,
                                              int pixels)
{
    match_vectors_t v;
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
        v.x[j] = x[j];
    }
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
        v.w[i] = w + (ptrdiff_t)i * w_step;
    }
    return v;
}

/* What the sums of a block of four channels begin with: words `step` bytes apart, 12 or 16, or nothing where that is
 * 0, as they do for fewer channels. */
typedef struct {
    const uint8_t *words;
    int step;
} match_begin_t;

#define MATCH_FROM_0 ((match_begin_t){NULL, 0})

MATCH_INLINE void match_start(match_begin_t begin, int channels, int pixels, match_block_t *block)
{
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
        int32_t first = 0;
        if (begin.step != 0) {
            memcpy(&first, __builtin_assume_aligned(begin.words + i * begin.step, 4), sizeof first);
        }
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            block->acc[i][j] = first;
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

#define MATCH_STEP_2X1(DOT4) \
    MATCH_INSN_LOAD4("%5", "%2") \
    MATCH_INSN_LOAD4("%6", "%3") \
    MATCH_INSN_LOAD4("%7", "%4") \
    DOT4("%0", "%5", "%6") \
    DOT4("%1", "%5", "%7")

#define MATCH_STEP_1X1(DOT4) \
    MATCH_INSN_LOAD4("%3", "%1") \
    MATCH_INSN_LOAD4("%4", "%2") \
    DOT4("%0", "%3", "%4")

/* All steps, `words` > 0 of them, onto sums that are there. */
#define MATCH_STEPS(step, instructions, words) \
    MATCH_INSN_LOOP(words, instructions) \
    step(MATCH_INSN_DOT4) \
    MATCH_INSN_LOOP_END

/* What the sums of four channels begin with: words that lie as far apart as the addends do of match_requant_split_t or
 * match_requant_split_signed_t. */
#define MATCH_BEGIN_20_4X1(a, b, c, d, words) \
    "lw " a ", (" words ")\nlw " b ", 20(" words ")\nlw " c ", 40(" words ")\nlw " d ", 60(" words ")\n"
#define MATCH_BEGIN_28_4X1(a, b, c, d, words) \
    "lw " a ", (" words ")\nlw " b ", 28(" words ")\nlw " c ", 56(" words ")\nlw " d ", 84(" words ")\n"

#define MATCH_SAME_4X2 "mv %1, %0\nmv %3, %2\nmv %5, %4\nmv %7, %6\n"
#define MATCH_BEGIN_20_4X2(words) MATCH_BEGIN_20_4X1("%0", "%2", "%4", "%6", words) MATCH_SAME_4X2
#define MATCH_BEGIN_28_4X2(words) MATCH_BEGIN_28_4X1("%0", "%2", "%4", "%6", words) MATCH_SAME_4X2

/* One step more than `more_words`: the first one starts the sums. */
#define MATCH_FIRST_STEPS(step, instructions, more_words) \
    step(MATCH_INSN_FIRST_DOT4) \
    "beqz " more_words ", 1f\n" \
    MATCH_STEPS(step, instructions, more_words) \
    "1:\n"

/* The operands of a block: its sums, then its vectors, then registers for words of these. */
#define MATCH_OPERANDS_4X2 \
    "=&r"(block->acc[0][0]), "=&r"(block->acc[0][1]), "=&r"(block->acc[1][0]), "=&r"(block->acc[1][1]), \
        "=&r"(block->acc[2][0]), "=&r"(block->acc[2][1]), "=&r"(block->acc[3][0]), "=&r"(block->acc[3][1]), \
        "+r"(v->x[0]), "+r"(v->x[1]), "+r"(v->w[0]), "+r"(v->w[1]), "+r"(v->w[2]), "+r"(v->w[3]), "=&r"(a), \
        "=&r"(b), "=&r"(c), "=&r"(d)

#define MATCH_OPERANDS_4X1 \
    "=&r"(block->acc[0][0]), "=&r"(block->acc[1][0]), "=&r"(block->acc[2][0]), "=&r"(block->acc[3][0]), \
        "+r"(v->x[0]), "+r"(v->w[0]), "+r"(v->w[1]), "+r"(v->w[2]), "+r"(v->w[3]), "=&r"(a), "=&r"(b), "=&r"(c), \
        "=&r"(d)

MATCH_INLINE void match_words_4x2(match_vectors_t *v, int32_t words, match_begin_t begin, match_block_t *block)
{
    uint32_t a, b, c, d;
    if (begin.step == 20) {
        __asm__ volatile(MATCH_BEGIN_20_4X2("%19") MATCH_STEPS(MATCH_STEP_4X2, 14, "%18")
                         : MATCH_OPERANDS_4X2
                         : "r"(words), "r"(begin.words)
                         : "memory");
    } else if (begin.step == 28) {
        __asm__ volatile(MATCH_BEGIN_28_4X2("%19") MATCH_STEPS(MATCH_STEP_4X2, 14, "%18")
                         : MATCH_OPERANDS_4X2
                         : "r"(words), "r"(begin.words)
                         : "memory");
    } else {
        __asm__ volatile(MATCH_FIRST_STEPS(MATCH_STEP_4X2, 14, "%18")
                         : MATCH_OPERANDS_4X2
                         : "r"(words - 1)
                         : "memory");
    }
}

MATCH_INLINE void match_words_4x1(match_vectors_t *v, int32_t words, match_begin_t begin, match_block_t *block)
{
    uint32_t a, b, c, d;
    if (begin.step == 20) {
        __asm__ volatile(MATCH_BEGIN_20_4X1("%0", "%1", "%2", "%3", "%14") MATCH_STEPS(MATCH_STEP_4X1, 9, "%13")
                         : MATCH_OPERANDS_4X1
                         : "r"(words), "r"(begin.words)
                         : "memory");
    } else if (begin.step == 28) {
        __asm__ volatile(MATCH_BEGIN_28_4X1("%0", "%1", "%2", "%3", "%14") MATCH_STEPS(MATCH_STEP_4X1, 9, "%13")
                         : MATCH_OPERANDS_4X1
                         : "r"(words), "r"(begin.words)
                         : "memory");
    } else {
        __asm__ volatile(MATCH_FIRST_STEPS(MATCH_STEP_4X1, 9, "%13")
                         : MATCH_OPERANDS_4X1
                         : "r"(words - 1)
                         : "memory");
    }
}

MATCH_INLINE void match_words_2x1(match_vectors_t *v, int32_t words, match_block_t *block)
{
    uint32_t a, b, c;
    __asm__ volatile(MATCH_FIRST_STEPS(MATCH_STEP_2X1, 5, "%8")
                     : "=&r"(block->acc[0][0]), "=&r"(block->acc[1][0]), "+r"(v->x[0]), "+r"(v->w[0]), "+r"(v->w[1]),
                       "=&r"(a), "=&r"(b), "=&r"(c)
                     : "r"(words - 1)
                     : "memory");
}

MATCH_INLINE void match_words_1x1(match_vectors_t *v, int32_t words, match_block_t *block)
{
    uint32_t a, b;
    __asm__ volatile(MATCH_FIRST_STEPS(MATCH_STEP_1X1, 3, "%5")
                     : "=&r"(block->acc[0][0]), "+r"(v->x[0]), "+r"(v->w[0]), "=&r"(a), "=&r"(b)
                     : "r"(words - 1)
                     : "memory");
}

/* Blocks of two channels and of one begin by themselves. */
MATCH_INLINE void match_words(match_vectors_t *v, int32_t words, int channels, int pixels, match_begin_t begin,
                              match_block_t *block)
{
    if (channels == MATCH_BLOCK_CHANNELS && pixels == MATCH_BLOCK_PIXELS) {
        match_words_4x2(v, words, begin, block);
    } else if (channels == MATCH_BLOCK_CHANNELS) {
        match_words_4x1(v, words, begin, block);
    } else if (channels == 2) {
        match_words_2x1(v, words, block);
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

/* The next 4 bytes of every vector, one by one: taking words apart costs more than loading bytes. No byte is loaded
 * before the products of the last one, as more of them than there are registers would be. */
MATCH_INLINE void match_step(const match_vectors_t *v, int channels, int pixels, match_block_t *block)
{
#pragma GCC unroll 4
    for (int32_t at = 0; at < 4; at++) {
        match_byte(v, at, channels, pixels, block);
        __asm__ volatile("" : : : "memory");
    }
}

#endif

MATCH_INLINE void match_words(match_vectors_t *v, int32_t words, int channels, int pixels, match_begin_t begin,
                              match_block_t *block)
{
    match_start(begin, channels, pixels, block);
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

/* Accumulators of `channels` rows of weights, `length` bytes apart, and `pixels` vectors of activations, all of `length`
 * bytes, at least 4, from any address: 4 rows and 2 vectors, or 4, 2 or 1 rows and a vector. Returns the
 * weights behind them. */
MATCH_INLINE const int8_t *match_dot_bytes(const uint8_t *const x[], const int8_t *w, int32_t length, int channels,
                                           int pixels, match_begin_t begin, match_block_t *block)
{
    match_vectors_t v = match_vectors_of(x, w, length, channels, pixels);
    match_words(&v, length >> 2, channels, pixels, begin, block);
    if (__builtin_expect(length & 3, 0)) {
        match_rest(&v, length & 3, channels, pixels, block);
    }
    return v.w[channels - 1] + (length & 3);
}

/* The same of whole words. */
MATCH_INLINE const int8_t *match_dot_words(const uint8_t *const x[], const int8_t *w, int32_t length, int channels,
                                           int pixels, match_begin_t begin, match_block_t *block)
{
    match_vectors_t v = match_vectors_of(x, w, length, channels, pixels);
    match_words(&v, length >> 2, channels, pixels, begin, block);
    return v.w[channels - 1];
}

/* The same of vectors of fewer than 4 bytes, a byte at a time. */
MATCH_INLINE const int8_t *match_dot_short(const uint8_t *const x[], const int8_t *w, int32_t length, int channels,
                                           int pixels, match_block_t *block)
{
    match_vectors_t v = match_vectors_of(x, w, length, channels, pixels);
    match_start(MATCH_FROM_0, channels, pixels, block);
    for (int32_t at = 0; at < length; at++) {
        match_byte(&v, at, channels, pixels, block);
    }
    return v.w[channels - 1] + length;
}

/* The accumulators of words and bytes by themselves. */
MATCH_INLINE match_block_t match_dot_block(const uint8_t *const x[], const int8_t *w, int32_t length, int channels,
                                           int pixels)
{
    match_block_t block;
    match_dot_bytes(x, w, length, channels, pixels, MATCH_FROM_0, &block);
    return block;
}

/* One product, of any length. */
static inline int32_t match_dot(const uint8_t *x, const int8_t *w, int32_t length)
{
    const uint8_t *const vectors[] = {x};
    if (length >= 4) {
        return match_dot_block(vectors, w, length, 1, 1).acc[0][0];
    }
    int32_t acc = 0;
    for (int32_t i = 0; i < length; i++) {
        acc += x[i] * w[i];
    }
    return acc;
}

#endif
