/* Products of vectors of whole words with Xpulpv2 or CORE-V instructions: all fours of channels of some pixels are one piece
 * of assembly, as its loops need all registers. What it works on is a record in memory. */
#ifndef MATCH_PULP_WORDS_H
#define MATCH_PULP_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "match_pulp_dot.h"
#include "match_pulp_matmul.h"

#if defined(MATCH_PULP_INSN)

/* Words by number; the assembly counts in some of them. */
typedef struct {
    const uint8_t *x;          /* 0: the first pixel's vector, and how far it is to those of the next pixel and the next two */
    ptrdiff_t x_step;          /* 1 */
    ptrdiff_t x_pair;          /* 2 */
    uint8_t *output;           /* 3: where the outputs begin, and how far it is to those of the next pixel, and from behind */
    ptrdiff_t output_step;     /* 4: these to those of the next two */
    ptrdiff_t output_pair;     /* 5 */
    const int8_t *weights;     /* 6: of the first channel, */
    const uint8_t *parameters; /* 7: and its parameters */
    ptrdiff_t x_back;          /* 8: what vectors step back by, and weights on to the next four channels: */
    ptrdiff_t weights_on;      /* 9: from behind the last word, or from it (MATCH_END) */
    int32_t words;             /* 10: steps of the loop over words, one or more */
    int32_t blocks;            /* 11: fours of channels */
    int32_t pairs;             /* 12: of pixels */
    int32_t most;              /* 13: the largest output, or the lanes of the uppermost bytes of two words */
    int32_t length;            /* 14: of a vector, two words or more */
    int32_t last;              /* 15: channels behind the fours, of a single pixel */
} match_words_t;

#define MATCH_WORDS_LOAD(value, word) "lw " value ", 4*" MATCH_INSN_NUMBER(word) "(a0)\n"

#define MATCH_X0 "a1"
#define MATCH_X1 "a2"
#define MATCH_OUTPUT0 "a3"
#define MATCH_OUTPUT1 "a4"
#define MATCH_PARAMETERS "a5"
#define MATCH_MOST "a6"  /* the largest output, or */
#define MATCH_LANES "a6" /* the lanes of the uppermost bytes of two words */
#define MATCH_PAIRS "a7"
#define MATCH_W0 "s1"
#define MATCH_W1 "s2"
#define MATCH_W2 "s3"
#define MATCH_W3 "s4"
#define MATCH_X_BACK "s5"
#define MATCH_WEIGHTS_ON "s6"
#define MATCH_WORDS "s7"
#define MATCH_SUM00 "s8" /* of channel 0 and pixel 0 */
#define MATCH_SUM01 "s9"
#define MATCH_SUM10 "s10"
#define MATCH_SUM11 "s11"
#define MATCH_SUM20 "t0"
#define MATCH_SUM21 "t1"
#define MATCH_SUM30 "t2"
#define MATCH_SUM31 "t3"
#define MATCH_A "t4"
#define MATCH_B "t5"
#define MATCH_C "t6"
#define MATCH_D "ra"

/* A word of each vector, 14 and 9 instructions; X and W load one of a pixel and of a channel and step on. Loads stay away
 * from what uses them, which would wait a cycle. */
#define MATCH_WORD_2(DOT4, X, W) \
    X(MATCH_A, MATCH_X0) \
    W(MATCH_C, MATCH_W0) \
    X(MATCH_B, MATCH_X1) \
    W(MATCH_D, MATCH_W1) \
    DOT4(MATCH_SUM00, MATCH_A, MATCH_C) \
    DOT4(MATCH_SUM01, MATCH_B, MATCH_C) \
    W(MATCH_C, MATCH_W2) \
    DOT4(MATCH_SUM10, MATCH_A, MATCH_D) \
    DOT4(MATCH_SUM11, MATCH_B, MATCH_D) \
    W(MATCH_D, MATCH_W3) \
    DOT4(MATCH_SUM20, MATCH_A, MATCH_C) \
    DOT4(MATCH_SUM21, MATCH_B, MATCH_C) \
    DOT4(MATCH_SUM30, MATCH_A, MATCH_D) \
    DOT4(MATCH_SUM31, MATCH_B, MATCH_D)

#define MATCH_WORD_1(DOT4, X, W) \
    X(MATCH_A, MATCH_X0) \
    W(MATCH_B, MATCH_W0) \
    W(MATCH_C, MATCH_W1) \
    W(MATCH_D, MATCH_W2) \
    DOT4(MATCH_SUM00, MATCH_A, MATCH_B) \
    W(MATCH_B, MATCH_W3) \
    DOT4(MATCH_SUM10, MATCH_A, MATCH_C) \
    DOT4(MATCH_SUM20, MATCH_A, MATCH_D) \
    DOT4(MATCH_SUM30, MATCH_A, MATCH_B)

#define MATCH_X_LAST(value, pointer) MATCH_INSN_LOAD4_STEP(value, pointer, MATCH_X_BACK)
#define MATCH_W_LAST(value, pointer) MATCH_INSN_LOAD4_STEP(value, pointer, MATCH_WEIGHTS_ON)

#define MATCH_WORD_INSTRUCTIONS_2 14
#define MATCH_WORD_INSTRUCTIONS_1 9

/* What the sums begin with: the products of the first word, or their addends. The parameters of the forms with addends
 * are counted from behind an addend. */
#define MATCH_BEGIN_32(pixels) MATCH_WORD_##pixels(MATCH_INSN_FIRST_DOT4, MATCH_INSN_LOAD4, MATCH_INSN_LOAD4)
#define MATCH_BEGIN_ADDENDS(bytes) \
    "lw " MATCH_SUM00 ", 0*" #bytes "-4(" MATCH_PARAMETERS ")\n" \
    "lw " MATCH_SUM10 ", 1*" #bytes "-4(" MATCH_PARAMETERS ")\n" \
    "lw " MATCH_SUM20 ", 2*" #bytes "-4(" MATCH_PARAMETERS ")\n" \
    "lw " MATCH_SUM30 ", 3*" #bytes "-4(" MATCH_PARAMETERS ")\n"
#define MATCH_BEGIN_OTHERS_1
#define MATCH_BEGIN_OTHERS_2 \
    "mv " MATCH_SUM01 ", " MATCH_SUM00 "\n" \
    "mv " MATCH_SUM11 ", " MATCH_SUM10 "\n" \
    "mv " MATCH_SUM21 ", " MATCH_SUM20 "\n" \
    "mv " MATCH_SUM31 ", " MATCH_SUM30 "\n"
#define MATCH_BEGIN_SPLIT(pixels) MATCH_BEGIN_ADDENDS(20) MATCH_BEGIN_OTHERS_##pixels
#define MATCH_BEGIN_SIGNED(pixels) MATCH_BEGIN_ADDENDS(28) MATCH_BEGIN_OTHERS_##pixels

#define MATCH_BEGIN_INSTRUCTIONS_32_2 14
#define MATCH_BEGIN_INSTRUCTIONS_32_1 9
#define MATCH_BEGIN_INSTRUCTIONS_SPLIT_2 8
#define MATCH_BEGIN_INSTRUCTIONS_SPLIT_1 4
#define MATCH_BEGIN_INSTRUCTIONS_SIGNED_2 8
#define MATCH_BEGIN_INSTRUCTIONS_SIGNED_1 4

/* Behind the loop the vectors begin again, and weights go on with the next four channels: by themselves, or while the last
 * word is loaded. */
#define MATCH_NEXT_1 \
    "add " MATCH_X0 ", " MATCH_X0 ", " MATCH_X_BACK "\n" \
    "add " MATCH_W0 ", " MATCH_W0 ", " MATCH_WEIGHTS_ON "\n" \
    "add " MATCH_W1 ", " MATCH_W1 ", " MATCH_WEIGHTS_ON "\n" \
    "add " MATCH_W2 ", " MATCH_W2 ", " MATCH_WEIGHTS_ON "\n" \
    "add " MATCH_W3 ", " MATCH_W3 ", " MATCH_WEIGHTS_ON "\n"
#define MATCH_NEXT_2 MATCH_NEXT_1 "add " MATCH_X1 ", " MATCH_X1 ", " MATCH_X_BACK "\n"
#define MATCH_END_32(pixels) MATCH_NEXT_##pixels
#define MATCH_END_SPLIT(pixels) MATCH_WORD_##pixels(MATCH_INSN_DOT4, MATCH_X_LAST, MATCH_W_LAST)
#define MATCH_END_SIGNED(pixels) MATCH_END_SPLIT(pixels)

#define MATCH_END_INSTRUCTIONS_32_2 6
#define MATCH_END_INSTRUCTIONS_32_1 5
#define MATCH_END_INSTRUCTIONS_SPLIT_2 14
#define MATCH_END_INSTRUCTIONS_SPLIT_1 9
#define MATCH_END_INSTRUCTIONS_SIGNED_2 14
#define MATCH_END_INSTRUCTIONS_SIGNED_1 9

/* A channel's parameters, behind which the next ones lie then, and what becomes of one of its sums. */
#define MATCH_CHANNEL_32 \
    MATCH_INSN_LOAD4(MATCH_A, MATCH_PARAMETERS) \
    MATCH_INSN_LOAD4(MATCH_B, MATCH_PARAMETERS) \
    MATCH_INSN_LOAD4(MATCH_C, MATCH_PARAMETERS)
#define MATCH_SCALE_32(sum) "mul " sum ", " sum ", " MATCH_B "\n"
#define MATCH_SHIFT_32(sum) MATCH_INSN_ADD_SHIFT(sum, MATCH_A, MATCH_C) MATCH_INSN_CLIP(sum, sum, MATCH_MOST)

#define MATCH_OUTPUTS_32_1(sum) MATCH_CHANNEL_32 MATCH_SCALE_32(sum) MATCH_SHIFT_32(sum)
#define MATCH_OUTPUTS_32_2(sum, other) \
    MATCH_CHANNEL_32 \
    MATCH_SCALE_32(sum) \
    MATCH_SCALE_32(other) \
    MATCH_SHIFT_32(sum) \
    MATCH_SHIFT_32(other)

/* Products by halves need another register than the sum's, which is free behind them: each output goes to the register of
 * the sum before. */
#define MATCH_LOAD_LARGEST \
    MATCH_INSN_LOAD4(MATCH_A, MATCH_PARAMETERS) \
    MATCH_INSN_LOAD4(MATCH_B, MATCH_PARAMETERS)
#define MATCH_SCALE_SPLIT(to, sum) MATCH_SPLIT_WORD(to, sum, MATCH_B, MATCH_A, MATCH_C)
#define MATCH_LOAD_SPLIT \
    MATCH_INSN_LOAD4(MATCH_A, MATCH_PARAMETERS) \
    MATCH_INSN_LOAD4_BY(MATCH_C, MATCH_PARAMETERS, 8)

#define MATCH_NEGATIVE_BELOW MATCH_X_BACK /* these two are loaded again when they are needed */
#define MATCH_NEGATIVE_WORD MATCH_WEIGHTS_ON
#define MATCH_SCALE_SIGNED(to, sum) \
    MATCH_SCALE_SPLIT(to, sum) \
    MATCH_SPLIT_NEGATIVE(to, sum, MATCH_NEGATIVE_BELOW, MATCH_NEGATIVE_WORD)
#define MATCH_LOAD_SIGNED \
    MATCH_INSN_LOAD4(MATCH_A, MATCH_PARAMETERS) \
    MATCH_INSN_LOAD4(MATCH_C, MATCH_PARAMETERS) \
    MATCH_INSN_LOAD4(MATCH_NEGATIVE_BELOW, MATCH_PARAMETERS) \
    MATCH_INSN_LOAD4_BY(MATCH_NEGATIVE_WORD, MATCH_PARAMETERS, 8)

#define MATCH_OUTPUTS_BY_HALVES_1(form, to, sum) \
    MATCH_LOAD_LARGEST \
    MATCH_INSN_CLIP(sum, sum, MATCH_A) \
    MATCH_LOAD_##form \
    MATCH_SCALE_##form(to, sum)
#define MATCH_OUTPUTS_BY_HALVES_2(form, to, sum, other) \
    MATCH_LOAD_LARGEST \
    MATCH_INSN_CLIP(sum, sum, MATCH_A) \
    MATCH_INSN_CLIP(other, other, MATCH_A) \
    MATCH_LOAD_##form \
    MATCH_SCALE_##form(to, sum) \
    MATCH_SCALE_##form(sum, other)

/* Four channels of each pixel become a word. */
#define MATCH_FINISH_32_1 \
    MATCH_OUTPUTS_32_1(MATCH_SUM00) \
    MATCH_OUTPUTS_32_1(MATCH_SUM10) \
    MATCH_OUTPUTS_32_1(MATCH_SUM20) \
    MATCH_OUTPUTS_32_1(MATCH_SUM30) \
    MATCH_STORE_32(MATCH_OUTPUT0, MATCH_SUM00, MATCH_SUM10, MATCH_SUM20, MATCH_SUM30)
#define MATCH_FINISH_32_2 \
    MATCH_OUTPUTS_32_2(MATCH_SUM00, MATCH_SUM01) \
    MATCH_OUTPUTS_32_2(MATCH_SUM10, MATCH_SUM11) \
    MATCH_OUTPUTS_32_2(MATCH_SUM20, MATCH_SUM21) \
    MATCH_OUTPUTS_32_2(MATCH_SUM30, MATCH_SUM31) \
    MATCH_STORE_32(MATCH_OUTPUT0, MATCH_SUM00, MATCH_SUM10, MATCH_SUM20, MATCH_SUM30) \
    MATCH_STORE_32(MATCH_OUTPUT1, MATCH_SUM01, MATCH_SUM11, MATCH_SUM21, MATCH_SUM31)
#define MATCH_STORE_32(output, a, b, c, d) \
    MATCH_INSN_PACK_LOW(MATCH_A, b, a) \
    MATCH_INSN_PACK_HIGH(MATCH_A, d, c) \
    MATCH_INSN_STORE4(MATCH_A, output)

#define MATCH_FINISH_BY_HALVES_1(form) \
    MATCH_OUTPUTS_BY_HALVES_1(form, MATCH_D, MATCH_SUM00) \
    MATCH_OUTPUTS_BY_HALVES_1(form, MATCH_SUM00, MATCH_SUM10) \
    MATCH_OUTPUTS_BY_HALVES_1(form, MATCH_SUM10, MATCH_SUM20) \
    MATCH_OUTPUTS_BY_HALVES_1(form, MATCH_SUM20, MATCH_SUM30) \
    MATCH_STORE_UPPERMOST(MATCH_OUTPUT0, MATCH_D, MATCH_SUM00, MATCH_SUM10, MATCH_SUM20)
#define MATCH_FINISH_BY_HALVES_2(form) \
    MATCH_OUTPUTS_BY_HALVES_2(form, MATCH_D, MATCH_SUM00, MATCH_SUM01) \
    MATCH_OUTPUTS_BY_HALVES_2(form, MATCH_SUM01, MATCH_SUM10, MATCH_SUM11) \
    MATCH_OUTPUTS_BY_HALVES_2(form, MATCH_SUM11, MATCH_SUM20, MATCH_SUM21) \
    MATCH_OUTPUTS_BY_HALVES_2(form, MATCH_SUM21, MATCH_SUM30, MATCH_SUM31) \
    MATCH_STORE_UPPERMOST(MATCH_OUTPUT0, MATCH_D, MATCH_SUM01, MATCH_SUM11, MATCH_SUM21) \
    MATCH_STORE_UPPERMOST(MATCH_OUTPUT1, MATCH_SUM00, MATCH_SUM10, MATCH_SUM20, MATCH_SUM30)
#define MATCH_STORE_UPPERMOST(output, a, b, c, d) \
    MATCH_INSN_LANES_OF_TWO(a, b, MATCH_LANES) \
    MATCH_INSN_LANES_OF_TWO(c, d, MATCH_LANES) \
    MATCH_INSN_PACK_HALVES(a, c, a) \
    MATCH_INSN_STORE4(a, output)
#define MATCH_FINISH_SPLIT_1 MATCH_FINISH_BY_HALVES_1(SPLIT)
#define MATCH_FINISH_SPLIT_2 MATCH_FINISH_BY_HALVES_2(SPLIT)
#define MATCH_STEPS_AGAIN MATCH_WORDS_LOAD(MATCH_X_BACK, 8) MATCH_WORDS_LOAD(MATCH_WEIGHTS_ON, 9)
#define MATCH_FINISH_SIGNED_1 MATCH_FINISH_BY_HALVES_1(SIGNED) MATCH_STEPS_AGAIN
#define MATCH_FINISH_SIGNED_2 MATCH_FINISH_BY_HALVES_2(SIGNED) MATCH_STEPS_AGAIN

#define MATCH_FINISH_INSTRUCTIONS_32_1 27
#define MATCH_FINISH_INSTRUCTIONS_32_2 42
#define MATCH_FINISH_INSTRUCTIONS_SPLIT_1 36
#define MATCH_FINISH_INSTRUCTIONS_SPLIT_2 56
#define MATCH_FINISH_INSTRUCTIONS_SIGNED_1 54
#define MATCH_FINISH_INSTRUCTIONS_SIGNED_2 82

/* All fours of channels of one pixel or two. */
#define MATCH_BLOCKS(form, pixels) \
    MATCH_WORDS_LOAD(MATCH_W0, 6) \
    MATCH_WORDS_LOAD(MATCH_B, 14) \
    MATCH_WORDS_LOAD(MATCH_PARAMETERS, 7) \
    MATCH_WORDS_LOAD(MATCH_A, 11) \
    "add " MATCH_W1 ", " MATCH_W0 ", " MATCH_B "\n" \
    "add " MATCH_W2 ", " MATCH_W1 ", " MATCH_B "\n" \
    "add " MATCH_W3 ", " MATCH_W2 ", " MATCH_B "\n" \
    MATCH_INSN_OUTER_LOOP(MATCH_A, MATCH_BEGIN_INSTRUCTIONS_##form##_##pixels + 1 + MATCH_WORD_INSTRUCTIONS_##pixels + \
                          MATCH_END_INSTRUCTIONS_##form##_##pixels + MATCH_FINISH_INSTRUCTIONS_##form##_##pixels) \
    MATCH_BEGIN_##form(pixels) \
    MATCH_INSN_LOOP(MATCH_WORDS, MATCH_WORD_INSTRUCTIONS_##pixels) \
    MATCH_WORD_##pixels(MATCH_INSN_DOT4, MATCH_INSN_LOAD4, MATCH_INSN_LOAD4) \
    MATCH_INSN_LOOP_END \
    MATCH_END_##form(pixels) \
    MATCH_FINISH_##form##_##pixels \
    MATCH_INSN_LOOP_END

#define MATCH_WORDS_BEGIN \
    MATCH_WORDS_LOAD(MATCH_X0, 0) \
    MATCH_WORDS_LOAD(MATCH_OUTPUT0, 3) \
    MATCH_WORDS_LOAD(MATCH_X_BACK, 8) \
    MATCH_WORDS_LOAD(MATCH_WEIGHTS_ON, 9) \
    MATCH_WORDS_LOAD(MATCH_WORDS, 10) \
    MATCH_WORDS_LOAD(MATCH_MOST, 13)

/* Pairs of pixels, behind which the record has the place of the next pixel. */
#define MATCH_WORDS_2(form) \
    MATCH_WORDS_BEGIN \
    MATCH_WORDS_LOAD(MATCH_A, 1) \
    MATCH_WORDS_LOAD(MATCH_B, 4) \
    MATCH_WORDS_LOAD(MATCH_PAIRS, 12) \
    "add " MATCH_X1 ", " MATCH_X0 ", " MATCH_A "\n" \
    "add " MATCH_OUTPUT1 ", " MATCH_OUTPUT0 ", " MATCH_B "\n" \
    "0:\n" \
    MATCH_BLOCKS(form, 2) \
    MATCH_WORDS_LOAD(MATCH_A, 2) \
    MATCH_WORDS_LOAD(MATCH_B, 5) \
    "addi " MATCH_PAIRS ", " MATCH_PAIRS ", -1\n" \
    "add " MATCH_X0 ", " MATCH_X0 ", " MATCH_A "\n" \
    "add " MATCH_X1 ", " MATCH_X1 ", " MATCH_A "\n" \
    "add " MATCH_OUTPUT0 ", " MATCH_OUTPUT0 ", " MATCH_B "\n" \
    "add " MATCH_OUTPUT1 ", " MATCH_OUTPUT1 ", " MATCH_B "\n" \
    "bnez " MATCH_PAIRS ", 0b\n" \
    "sw " MATCH_X0 ", 4*0(a0)\n" \
    "sw " MATCH_OUTPUT0 ", 4*3(a0)\n"

/* One pixel. */
#define MATCH_WORDS_1(form) \
    MATCH_WORDS_BEGIN \
    MATCH_BLOCKS(form, 1)

/* All channels of one pixel: fours of them, then two and one behind these. */
#define MATCH_LENGTH "s4"
#define MATCH_BEHIND "s3"

#define MATCH_BEGIN_LAST_32(sum, channel) "li " sum ", 0\n"
#define MATCH_BEGIN_LAST_SPLIT(sum, channel) "lw " sum ", 20*" #channel "-4(" MATCH_PARAMETERS ")\n"
#define MATCH_BEGIN_LAST_SIGNED(sum, channel) "lw " sum ", 28*" #channel "-4(" MATCH_PARAMETERS ")\n"

/* Store the output of a sum. */
#define MATCH_OUTPUT_LAST_32(sum) MATCH_OUTPUTS_32_1(sum) MATCH_INSN_STORE_BYTE(sum, MATCH_OUTPUT0)
#define MATCH_OUTPUT_LAST_BY_HALVES(form, sum) \
    MATCH_OUTPUTS_BY_HALVES_1(form, MATCH_D, sum) \
    "srli " MATCH_D ", " MATCH_D ", 24\n" \
    MATCH_INSN_STORE_BYTE(MATCH_D, MATCH_OUTPUT0)
#define MATCH_OUTPUT_LAST_SPLIT(sum) MATCH_OUTPUT_LAST_BY_HALVES(SPLIT, sum)
#define MATCH_OUTPUT_LAST_SIGNED(sum) MATCH_OUTPUT_LAST_BY_HALVES(SIGNED, sum)

#define MATCH_WORDS_ALL(form) \
    MATCH_WORDS_BEGIN \
    MATCH_WORDS_LOAD(MATCH_A, 11) \
    MATCH_WORDS_LOAD(MATCH_W0, 6) \
    MATCH_WORDS_LOAD(MATCH_PARAMETERS, 7) \
    "beqz " MATCH_A ", 0f\n" \
    MATCH_BLOCKS(form, 1) \
    "0:\n" \
    MATCH_WORDS_LOAD(MATCH_BEHIND, 15) \
    MATCH_WORDS_LOAD(MATCH_LENGTH, 14) \
    "andi " MATCH_A ", " MATCH_BEHIND ", 2\n" \
    "srli " MATCH_WORDS ", " MATCH_LENGTH ", 2\n" \
    "andi " MATCH_BEHIND ", " MATCH_BEHIND ", 1\n" \
    "beqz " MATCH_A ", 1f\n" \
    "add " MATCH_W1 ", " MATCH_W0 ", " MATCH_LENGTH "\n" \
    MATCH_BEGIN_LAST_##form(MATCH_SUM00, 0) \
    MATCH_BEGIN_LAST_##form(MATCH_SUM10, 1) \
    MATCH_INSN_LOOP(MATCH_WORDS, 5) \
    MATCH_INSN_LOAD4(MATCH_B, MATCH_W0) \
    MATCH_INSN_LOAD4(MATCH_A, MATCH_X0) \
    MATCH_INSN_LOAD4(MATCH_C, MATCH_W1) \
    MATCH_INSN_DOT4(MATCH_SUM00, MATCH_A, MATCH_B) \
    MATCH_INSN_DOT4(MATCH_SUM10, MATCH_A, MATCH_C) \
    MATCH_INSN_LOOP_END \
    MATCH_OUTPUT_LAST_##form(MATCH_SUM00) \
    MATCH_OUTPUT_LAST_##form(MATCH_SUM10) \
    "sub " MATCH_X0 ", " MATCH_X0 ", " MATCH_LENGTH "\n" \
    "mv " MATCH_W0 ", " MATCH_W1 "\n" \
    "1:\n" \
    "beqz " MATCH_BEHIND ", 2f\n" \
    MATCH_BEGIN_LAST_##form(MATCH_SUM00, 0) \
    MATCH_INSN_LOOP(MATCH_WORDS, 3) \
    MATCH_INSN_LOAD4(MATCH_A, MATCH_X0) \
    MATCH_INSN_LOAD4(MATCH_B, MATCH_W0) \
    MATCH_INSN_DOT4(MATCH_SUM00, MATCH_A, MATCH_B) \
    MATCH_INSN_LOOP_END \
    MATCH_OUTPUT_LAST_##form(MATCH_SUM00) \
    "2:\n"

/* All registers but s0, which may be the compiler's frame pointer. */
#define MATCH_RUN_WORDS(text) \
    __asm__ volatile(text \
                     : "+r"(record) \
                     : \
                     : "ra", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", \
                       "s9", "s10", "s11", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "memory")

/* What the record has for `most`. */
static inline int32_t match_words_most(match_form_t form, int32_t clip_high)
{
    return form == MATCH_FORM_SPLIT || form == MATCH_FORM_SPLIT_SIGNED ? 0x0703 : clip_high;
}

/* The fours of channels of all pixels in a fast form. */
MATCH_INLINE void match_words_product(const match_finish_t *finish, const match_product_t *product, match_form_t form)
{
    int32_t blocks = (product->last - product->first) >> 2;
    int32_t last = form == MATCH_FORM_32 ? 0 : 4; /* whether the last word is behind the loop, or the first before it */
    match_words_t words = {
        .x = product->x,
        .x_step = product->x_step,
        .x_pair = 2 * product->x_step,
        .output = product->output + product->first,
        .output_step = product->output_step,
        .output_pair = 2 * product->output_step - 4 * blocks,
        .weights = product->weights + (ptrdiff_t)product->first * product->length,
        .parameters = match_parameters_of(finish, form, product->first) + last,
        .x_back = last - product->length,
        .weights_on = last + 3 * product->length,
        .words = (product->length >> 2) - 1,
        .blocks = blocks,
        .pairs = product->pixels >> 1,
        .most = match_words_most(form, finish->clip_high),
        .length = product->length,
    };
    register match_words_t *record __asm__("a0") = &words;
    if (words.pairs > 0) {
        if (form == MATCH_FORM_32) {
            MATCH_RUN_WORDS(MATCH_WORDS_2(32));
        } else if (form == MATCH_FORM_SPLIT) {
            MATCH_RUN_WORDS(MATCH_WORDS_2(SPLIT));
        } else {
            MATCH_RUN_WORDS(MATCH_WORDS_2(SIGNED));
        }
    }
    if (product->pixels & 1) {
        if (form == MATCH_FORM_32) {
            MATCH_RUN_WORDS(MATCH_WORDS_1(32));
        } else if (form == MATCH_FORM_SPLIT) {
            MATCH_RUN_WORDS(MATCH_WORDS_1(SPLIT));
        } else {
            MATCH_RUN_WORDS(MATCH_WORDS_1(SIGNED));
        }
    }
}

/* Channels first .. last - 1 of the tile's only pixel, whose vector has whole words, in a fast form. */
MATCH_INLINE void match_words_pixel(const match_tile_t *tile, int32_t first, int32_t last, match_form_t form)
{
    int32_t length = tile->channels_in;
    int32_t before = form == MATCH_FORM_32 ? 0 : 4; /* as in match_words_product */
    int32_t bytes = (int32_t)match_parameter_bytes(form);
    match_words_t words;
    words.x = tile->input;
    words.output = tile->output + first;
    words.weights = (const int8_t *)tile->weights + first * length;
    words.parameters = (const uint8_t *)tile->parameters + first * bytes + before;
    words.x_back = before - length;
    words.weights_on = before + 3 * length;
    words.words = (length >> 2) - 1;
    words.blocks = (last - first) >> 2;
    words.most = match_words_most(form, tile->clip_high);
    words.length = length;
    words.last = (last - first) & 3;
    register match_words_t *record __asm__("a0") = &words;
    if (form == MATCH_FORM_32) {
        MATCH_RUN_WORDS(MATCH_WORDS_ALL(32));
    } else if (form == MATCH_FORM_SPLIT) {
        MATCH_RUN_WORDS(MATCH_WORDS_ALL(SPLIT));
    } else {
        MATCH_RUN_WORDS(MATCH_WORDS_ALL(SIGNED));
    }
}

#endif

#endif
