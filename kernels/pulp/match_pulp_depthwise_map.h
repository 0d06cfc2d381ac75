/* Depthwise filters of 5x5 on small maps, with Xpulpv2 or CORE-V instructions: what maps of one word in a row and of two have in
 * common. Rows of a channel become words, which all columns of outputs read; the weights of each row move to the lanes of the
 * columns that they lie over. */
#ifndef MATCH_PULP_DEPTHWISE_MAP_H
#define MATCH_PULP_DEPTHWISE_MAP_H

#include "match_pulp_depthwise.h"
#include "match_pulp_strip.h"

#define INPUT "a1"
#define OUTPUT "a2"
#define BELOW "a3"
#define STRIDE "a4"
#define OFFSET "s1"
#define CHANNEL_OFFSET "s2"
#define WEIGHTS0 "s3"
#define WEIGHTS1 "s4"
#define WEIGHTS2 "s5"
#define WEIGHTS3 "s6"
#define WEIGHTS4 "s7"
#define PLACE "s8"
#define COLUMN "s9"
#define MISSING "s10"
#define WEIGHTS "s11"

/* Words of the rows of a channel, t0 of them, 7 instructions each: steps from column to column, from the last one to the next
 * row. */
#define GATHER(to_second, to_third, to_fourth, to_row) \
    MATCH_INSN_LOOP("t0", 7) \
    MATCH_INSN_LOAD_BYTE_STEP("t3", INPUT, to_second) \
    MATCH_INSN_LOAD_BYTE_STEP("t4", INPUT, to_third) \
    MATCH_INSN_LOAD_BYTE_STEP("t5", INPUT, to_fourth) \
    MATCH_INSN_LOAD_BYTE_STEP("t6", INPUT, to_row) \
    MATCH_INSN_PACK_LOW("t3", "t4", "t3") \
    MATCH_INSN_PACK_HIGH("t3", "t6", "t5") \
    MATCH_INSN_STORE4("t3", PLACE) \
    MATCH_INSN_LOOP_END

/* A row of weights, moved to its lanes by t0; what it misses is added up. */
#define LOAD_WEIGHTS(weights, at, missing) \
    "lw " weights ", " MATCH_INSN_NUMBER(at) "(" WEIGHTS ")\n" \
    "lbu t5, 4+" MATCH_INSN_NUMBER(at) "(" WEIGHTS ")\n" \
    MATCH_INSN_DOT4(missing, "t1", weights) \
    MATCH_INSN_DOT4(missing, "t2", "t5") \
    MATCH_INSN_LANES_OF_TWO(weights, "t5", "t0")

/* An output, 10 instructions and those that finish. */
#define OUTPUT_OF_ONE(FINISH) \
    "lw t0, 4(" PLACE ")\n" \
    "lw t1, 8(" PLACE ")\n" \
    "lw t2, 12(" PLACE ")\n" \
    "lw t3, 16(" PLACE ")\n" \
    MATCH_INSN_LOAD4_STEP("t4", PLACE, STRIDE) \
    MATCH_INSN_FIRST_DOT4("t5", "t0", WEIGHTS1) \
    MATCH_INSN_DOT4("t5", "t1", WEIGHTS2) \
    MATCH_INSN_DOT4("t5", "t2", WEIGHTS3) \
    MATCH_INSN_DOT4("t5", "t3", WEIGHTS4) \
    MATCH_INSN_DOT4("t5", "t4", WEIGHTS0) \
    FINISH("t5", OFFSET)

#define FINISH_32(sum, offset) \
    MATCH_STRIP_SCALE_32(sum, sum, offset, "t6") \
    MATCH_STRIP_SHIFT_32(sum, offset) \
    MATCH_INSN_STORE_BYTE_STEP(sum, OUTPUT, BELOW)
#define FINISH_SPLIT(sum, offset) \
    MATCH_STRIP_SCALE_SPLIT(sum, sum, offset, "t6") \
    MATCH_STRIP_SHIFT_SPLIT(sum, offset) \
    MATCH_INSN_STORE_BYTE_STEP(sum, OUTPUT, BELOW)
#define FINISH_SIGNED(sum, offset) \
    MATCH_STRIP_SCALE_SIGNED(sum, sum, offset, "t6", "t0", "t1") \
    MATCH_STRIP_SHIFT_SPLIT(sum, offset) \
    MATCH_INSN_STORE_BYTE_STEP(sum, OUTPUT, BELOW)

/* The instructions of these. */
#define INSTRUCTIONS_32 4
#define INSTRUCTIONS_SPLIT 7
#define INSTRUCTIONS_SIGNED 11

/* The assembly MAP by form, each in a function of a record map_t. */
#define RUN_FUNCTION(name, form) \
    static __attribute__((noinline)) void name(map_t *map) \
    { \
        register map_t *record __asm__("a0") = map; \
        __asm__ volatile(MAP(form) : "+r"(record) : : MATCH_STRIP_CLOBBERS); \
    }
#define RUN_FUNCTIONS RUN_FUNCTION(run_32, 32) RUN_FUNCTION(run_split, SPLIT) RUN_FUNCTION(run_signed, SIGNED)

/* Whether a tile has a filter of 5x5 and a map of at most so many columns and rows, whose padding leaves something to see. */
static inline bool match_is_map_of_5x5(const match_tile_t *tile, const match_finish_t *finish, int32_t columns, int32_t rows)
{
    int32_t seen = match_seen_rows(tile);
    return tile->filter_height == 5 && tile->filter_width == 5 && tile->dilation_y == 1 && tile->dilation_x == 1 &&
           tile->input_width <= columns && tile->output_width <= columns && seen <= rows && tile->pad_top < seen &&
           tile->pad_left < 5 && match_strip_kind(finish->form) != MATCH_STRIP_SUMS;
}

/* The first column that the last outputs see. */
static inline int32_t match_last_seen(const match_tile_t *tile)
{
    return (tile->output_width - 1) * tile->stride_x - tile->pad_left;
}

/* The first `count` lanes of a word, or all. */
static inline match_bytes4_t match_first_lanes(int32_t count)
{
    return count >= 4 ? 0xffffffffu : (1u << 8 * match_larger(count, 0)) - 1;
}

/* The weights over the lanes of a word of which the first lies over number -from; from is more than -8 and less than 4. */
static inline match_bytes4_t match_weights_over(int32_t from)
{
    return (0x0b0a0908u - (uint32_t)from * 0x01010101u) & 0x07070707u;
}

#endif
