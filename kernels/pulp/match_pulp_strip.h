/* Depthwise filters that move down strips of outputs, with Xpulpv2 or CORE-V instructions: what strips of all filters
 * have in common.
 *
 * The same strip of many channels is one piece of assembly, as its loops need all registers; what it works on is a
 * record in memory. No instruction of a loop waits for a load. Columns in the padding are not read: a strip reads the
 * columns inside the input that are next to them, the weights move to the lanes of their columns, and those of padding
 * fall out. What the padding adds to a sum, the same for all rows, is added to the constants of the requantization. */
#ifndef MATCH_PULP_STRIP_H
#define MATCH_PULP_STRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_pulp_dot.h"
#include "match_pulp_pixel.h"
#include "match_pulp_requantize.h"
#include "match_team.h"

/* What becomes of sums in a loop. */
typedef enum {
    MATCH_STRIP_32,     /* MATCH_FORM_32 */
    MATCH_STRIP_SPLIT,  /* MATCH_FORM_SPLIT */
    MATCH_STRIP_SIGNED, /* MATCH_FORM_SPLIT_SIGNED */
    MATCH_STRIP_SUMS,   /* they are kept, and requantized by a call for each: all other forms */
} match_strip_kind_t;

/* Outputs of a column whose sums are kept at a time. */
enum { MATCH_STRIP_KEPT = 8 };

static inline match_strip_kind_t match_strip_kind(match_form_t form)
{
    return form == MATCH_FORM_32             ? MATCH_STRIP_32
           : form == MATCH_FORM_SPLIT        ? MATCH_STRIP_SPLIT
           : form == MATCH_FORM_SPLIT_SIGNED ? MATCH_STRIP_SIGNED
                                             : MATCH_STRIP_SUMS;
}

static __attribute__((noinline, unused)) uint8_t match_requantize_apart(const match_finish_t *finish,
                                                                        const uint8_t *parameters, int32_t sum)
{
    return match_requantize_with(finish, parameters, sum);
}

/* Some outputs of a strip, from the top on. */
typedef struct {
    int32_t row;    /* input row that they begin with, 0 where that lies in the padding */
    int32_t read;   /* rows inside the input before those of the first output, at the end of these */
    int32_t inside; /* outputs whose further rows all lie inside the input */
    int32_t below;  /* outputs behind these, which see padding below */
} match_strip_rows_t;

/* Outputs y .. y + count - 1 for a filter of `size` rows, which has passed size - stride rows before its first output. */
static inline match_strip_rows_t match_strip_rows(const match_tile_t *tile, int32_t y, int32_t count, int32_t size,
                                                  int32_t stride)
{
    int32_t before = size - stride;
    int32_t row = y * stride - tile->pad_top;
    int32_t further = tile->input_height - row - before;
    int32_t inside = match_smaller(count, match_larger(stride == 1 ? further : further / 2, 0));
    return (match_strip_rows_t){
        .row = match_larger(row, 0),
        .read = before + match_smaller(row, 0),
        .inside = inside,
        .below = count - inside,
    };
}

/* Whether a filter is one of size x size without holes, at the same stride of 1 or 2 both ways, whose rows of padding
 * above lie before the first output, and no row before that lies below the input. */
static inline bool match_is_strip_filter(const match_tile_t *tile, int32_t size)
{
    int32_t before = size - tile->stride_y;
    return tile->filter_height == size && tile->filter_width == size && tile->dilation_y == 1 &&
           tile->dilation_x == 1 && tile->stride_x == tile->stride_y && tile->stride_y <= 2 &&
           tile->pad_top <= before && tile->pad_top + tile->input_height >= before;
}

/* L1 begins with the same bank again after so many bytes, 16 words; and how far cores begin from each other, two words. */
enum { MATCH_BANKS = 64, MATCH_APART = 8 };

/* The strip that this core begins with, of first .. last - 1, all channels of a column of outputs and then those of the
 * next; behind the last one it goes on with the first. Where pixels are multiples of all banks, a channel lies in one bank
 * for all of them: cores that begin with channels of the same bank would wait for each other at each load. */
static inline int32_t match_strip_begin(const match_tile_t *tile, int32_t first, int32_t last)
{
    bool alike = ((tile->input_pixel_stride | first | (last - first)) & (MATCH_BANKS - 1)) == 0;
    return alike ? first + MATCH_APART * match_core_id() % MATCH_BANKS : first;
}

/* Around the assembly: all instructions are words, so that no jump leads to one that lies in two. */
#define MATCH_STRIP_BEGIN ".balign 4\n.option push\n.option norvc\n"
#define MATCH_STRIP_END ".option pop\n"

/* Instruction that loads a register from word number `word` of the record, whose address is in a0. */
#define MATCH_STRIP_LOAD(value, word) "lw " value ", 4*" MATCH_INSN_NUMBER(word) "(a0)\n"

/* Registers with the constants of the requantization, of which the offset is the sum's: clip((sum * multiplier + offset) >>
 * shift), where the clip is that of the tile, or that of match_requant_split_t with the offset for its addend. */
#define MATCH_STRIP_MULTIPLIER "a5"
#define MATCH_STRIP_LOW "a5"
#define MATCH_STRIP_SHIFT "a6"
#define MATCH_STRIP_BIAS "a6"
#define MATCH_STRIP_MOST "a7"
#define MATCH_STRIP_LARGEST "a7"
#define MATCH_STRIP_HIGH "s0"

/* Those of match_requant32_t, match_requant_split_t and match_requant_split_signed_t, behind which `from` is then, and nothing
 * for sums. The last two words of the third one, for which no registers are left, go to the words BELOW_WORD and
 * NEGATIVE_WORD of the record, by a register that a channel sets behind these. */
#define MATCH_STRIP_PARAMETERS_32(from, offset) \
    MATCH_INSN_LOAD4(offset, from) \
    MATCH_INSN_LOAD4(MATCH_STRIP_MULTIPLIER, from) \
    MATCH_INSN_LOAD4(MATCH_STRIP_SHIFT, from)
#define MATCH_STRIP_PARAMETERS_SPLIT(from, offset) \
    MATCH_INSN_LOAD4(offset, from) \
    MATCH_INSN_LOAD4(MATCH_STRIP_LARGEST, from) \
    MATCH_INSN_LOAD4(MATCH_STRIP_LOW, from) \
    MATCH_INSN_LOAD4(MATCH_STRIP_BIAS, from) \
    MATCH_INSN_LOAD4(MATCH_STRIP_HIGH, from)
#define MATCH_STRIP_PARAMETERS_SIGNED(from, offset) \
    MATCH_STRIP_PARAMETERS_SPLIT(from, offset) \
    MATCH_INSN_LOAD4("s10", from) \
    "sw s10, 4*" MATCH_INSN_NUMBER(BELOW_WORD) "(a0)\n" \
    MATCH_INSN_LOAD4("s10", from) \
    "sw s10, 4*" MATCH_INSN_NUMBER(NEGATIVE_WORD) "(a0)\n"
#define MATCH_STRIP_PARAMETERS_SUMS(from, offset) "li " offset ", 0\n"

/* Add `missing` to the sums of an offset. */
#define MATCH_STRIP_ADD_32(offset, missing) MATCH_INSN_MULTIPLY_ADD(offset, missing, MATCH_STRIP_MULTIPLIER)
#define MATCH_STRIP_ADD_SPLIT(offset, missing) "add " offset ", " offset ", " missing "\n"
#define MATCH_STRIP_ADD_SIGNED(offset, missing) MATCH_STRIP_ADD_SPLIT(offset, missing)
#define MATCH_STRIP_ADD_SUMS(offset, missing) MATCH_STRIP_ADD_SPLIT(offset, missing)

/* Instructions that make an output of a sum, three, six and ten: one, five and nine that multiply, five with another register
 * and nine with three, and two and one behind them. */
#define MATCH_STRIP_SCALE_32(to, sum, offset, other) "mul " to ", " sum ", " MATCH_STRIP_MULTIPLIER "\n"
#define MATCH_STRIP_SCALE_SPLIT(to, sum, offset, other) \
    "add " other ", " sum ", " offset "\n" \
    MATCH_INSN_CLIP(other, other, MATCH_STRIP_LARGEST) \
    MATCH_SPLIT_WORD(to, other, MATCH_STRIP_LOW, MATCH_STRIP_BIAS, MATCH_STRIP_HIGH)
#define MATCH_STRIP_SCALE_SIGNED(to, sum, offset, other, below, negative) \
    "add " other ", " sum ", " offset "\n" \
    MATCH_INSN_CLIP(other, other, MATCH_STRIP_LARGEST) \
    MATCH_STRIP_LOAD(below, BELOW_WORD) \
    MATCH_STRIP_LOAD(negative, NEGATIVE_WORD) \
    MATCH_SPLIT_WORD(to, other, MATCH_STRIP_LOW, MATCH_STRIP_BIAS, MATCH_STRIP_HIGH) \
    MATCH_SPLIT_NEGATIVE(to, other, below, negative)
#define MATCH_STRIP_SHIFT_32(sum, offset) \
    MATCH_INSN_ADD_SHIFT(sum, offset, MATCH_STRIP_SHIFT) \
    MATCH_INSN_CLIP(sum, sum, MATCH_STRIP_MOST)
#define MATCH_STRIP_SHIFT_SPLIT(sum, offset) "srli " sum ", " sum ", 24\n"

/* All registers but s0, which may be the compiler's frame pointer: the record keeps it meanwhile. */
#define MATCH_STRIP_CLOBBERS \
    "ra", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", \
        "s11", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "memory"

#endif
