#include <stdbool.h>
#include <stddef.h>

#include "match_pulp.h"
#include "match_pulp_im2col.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

/* `runs` of `count` bytes, from one of which to the next it is so far in the input and in the output. */
typedef struct {
    const uint8_t *input;
    uint8_t *output;
    int32_t count;
    int32_t runs;
    ptrdiff_t input_stride;
    ptrdiff_t output_stride;
} runs_t;

/* `count` bytes through the table, four at a time. */
static void look_up(const uint8_t *table, const uint8_t *input, uint8_t *output, int32_t count)
{
    int32_t left = count;
#if defined(MATCH_PULP_INSN)
    if (count >= 4) {
        uint32_t a, b, c, d;
        __asm__ volatile(MATCH_INSN_LOOP("%7", 12)
                         MATCH_INSN_LOAD_BYTE("%2", "%0")
                         MATCH_INSN_LOAD_BYTE("%3", "%0")
                         MATCH_INSN_LOAD_BYTE("%4", "%0")
                         MATCH_INSN_LOAD_BYTE("%5", "%0")
                         MATCH_INSN_LOAD_BYTE_AT("%2", "%2", "%6")
                         MATCH_INSN_LOAD_BYTE_AT("%3", "%3", "%6")
                         MATCH_INSN_LOAD_BYTE_AT("%4", "%4", "%6")
                         MATCH_INSN_LOAD_BYTE_AT("%5", "%5", "%6")
                         MATCH_INSN_STORE_BYTE("%2", "%1")
                         MATCH_INSN_STORE_BYTE("%3", "%1")
                         MATCH_INSN_STORE_BYTE("%4", "%1")
                         MATCH_INSN_STORE_BYTE("%5", "%1")
                         MATCH_INSN_LOOP_END
                         : "+r"(input), "+r"(output), "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d)
                         : "r"(table), "r"(count >> 2)
                         : "memory");
        left = count & 3;
    }
#endif
#pragma GCC unroll 4
    for (int32_t i = 0; i < left; i++) {
        output[i] = table[input[i]];
    }
}

#if defined(MATCH_PULP_INSN)

#define BYTES(LOAD) LOAD("%[a]") LOAD("%[b]") LOAD("%[c]") LOAD("%[d]")
#define INPUT(value) MATCH_INSN_LOAD_BYTE(value, "%[input]")
#define TAKE(value) MATCH_INSN_LOAD_BYTE_AT(value, value, "%[table]")
#define OUTPUT(value) MATCH_INSN_STORE_BYTE(value, "%[output]")
#define NEXT_RUN "add %[input], %[input], %[input_on]\n" "add %[output], %[output], %[output_on]\n"
#define WORDS(text) MATCH_INSN_LOOP("%[pairs]", 4) MATCH_INSN_LOAD4("%[a]", "%[input]")                             \
    MATCH_INSN_LOAD4("%[b]", "%[input]") MATCH_INSN_STORE4("%[a]", "%[output]")                                     \
    MATCH_INSN_STORE4("%[b]", "%[output]") MATCH_INSN_LOOP_END text
#define RUN(text)                                                                                                   \
    __asm__ volatile(text                                                                                           \
                     : [input] "+r"(runs.input), [output] "+r"(runs.output), [a] "=&r"(a), [b] "=&r"(b),            \
                       [c] "=&r"(c), [d] "=&r"(d)                                                                   \
                     : [table] "r"(table), [fours] "r"(fours), [pairs] "r"(fours >> 1), [runs] "r"(runs.runs),      \
                       [input_on] "r"(runs.input_stride - runs.count), [output_on] "r"(runs.output_stride - runs.count) \
                     : "memory")

/* A word, or a byte, moves while the addresses of the next run are computed: what was loaded is at hand then. */
#define MOVE(LOAD, STORE) \
    LOAD("%[a]", "%[input]") "add %[input], %[input], %[input_on]\n" \
    STORE("%[a]", "%[output]") "add %[output], %[output], %[output_on]\n"

/* The same bytes of each run. */
static void copy_runs(runs_t runs)
{
    const uint8_t *table = NULL;
    uint32_t a, b, c, d;
    int32_t fours = runs.count >> 2;
    if (fours == 1) {
        RUN(MATCH_INSN_LOOP("%[runs]", 4) MOVE(MATCH_INSN_LOAD4, MATCH_INSN_STORE4) MATCH_INSN_LOOP_END);
    } else if (fours & 1) {
        RUN(MATCH_INSN_OUTER_LOOP("%[runs]", 9)
            WORDS(MOVE(MATCH_INSN_LOAD4, MATCH_INSN_STORE4))
            MATCH_INSN_LOOP_END);
    } else if (fours > 0) {
        RUN(MATCH_INSN_OUTER_LOOP("%[runs]", 7) WORDS(NEXT_RUN) MATCH_INSN_LOOP_END);
    } else if (runs.count == 3) {
        RUN(MATCH_INSN_LOOP("%[runs]", 8)
            INPUT("%[a]") INPUT("%[b]") INPUT("%[c]") OUTPUT("%[a]") OUTPUT("%[b]") OUTPUT("%[c]") NEXT_RUN
            MATCH_INSN_LOOP_END);
    } else if (runs.count == 2) {
        RUN(MATCH_INSN_LOOP("%[runs]", 6)
            INPUT("%[a]") INPUT("%[b]") OUTPUT("%[a]") OUTPUT("%[b]") NEXT_RUN MATCH_INSN_LOOP_END);
    } else {
        RUN(MATCH_INSN_LOOP("%[runs]", 4) MOVE(MATCH_INSN_LOAD_BYTE, MATCH_INSN_STORE_BYTE) MATCH_INSN_LOOP_END);
    }
}

/* Whole fours of bytes, or three and fewer, of each run through the table, NULL for none; there are runs. */
static void look_up_runs(const uint8_t *table, runs_t runs)
{
    if (table == NULL) {
        copy_runs(runs);
        return;
    }
    uint32_t a, b, c, d;
    int32_t fours = runs.count >> 2;
    if (fours > 0) {
        RUN(MATCH_INSN_OUTER_LOOP("%[runs]", 15)
            MATCH_INSN_LOOP("%[fours]", 12)
            BYTES(INPUT) BYTES(TAKE) BYTES(OUTPUT)
            MATCH_INSN_LOOP_END
            NEXT_RUN
            MATCH_INSN_LOOP_END);
    } else if (runs.count == 3) {
        RUN(MATCH_INSN_LOOP("%[runs]", 11)
            INPUT("%[a]") INPUT("%[b]") INPUT("%[c]") TAKE("%[a]") TAKE("%[b]") TAKE("%[c]")
            OUTPUT("%[a]") OUTPUT("%[b]") OUTPUT("%[c]") NEXT_RUN
            MATCH_INSN_LOOP_END);
    } else if (runs.count == 2) {
        RUN(MATCH_INSN_LOOP("%[runs]", 8)
            INPUT("%[a]") INPUT("%[b]") TAKE("%[a]") TAKE("%[b]") OUTPUT("%[a]") OUTPUT("%[b]") NEXT_RUN
            MATCH_INSN_LOOP_END);
    } else {
        RUN(MATCH_INSN_LOOP("%[runs]", 5) INPUT("%[a]") TAKE("%[a]") OUTPUT("%[a]") NEXT_RUN MATCH_INSN_LOOP_END);
    }
}

#else

/* Some bytes of each run through the table, NULL for none. */
static void look_up_runs(const uint8_t *table, runs_t runs)
{
    if (table == NULL) {
        match_copy_rows(runs.output, runs.output_stride, runs.input, runs.input_stride, runs.runs, runs.count);
        return;
    }
    for (; runs.runs > 0; runs.runs--, runs.input += runs.input_stride, runs.output += runs.output_stride) {
        look_up(table, runs.input, runs.output, runs.count);
    }
}

#endif

/* This core's share of the fours of bytes of all runs: what is left of a run, whole runs, some of one more. */
static void share_fours(const uint8_t *table, const runs_t *all)
{
    int32_t fours = all->count >> 2;
    match_share_t share = match_share(fours * all->runs);
    int32_t run = 0;
    int32_t four = share.first;
    if (four >= fours) {
        run = four / fours;
        four -= run * fours;
    }
    for (int32_t left = share.last - share.first; left > 0;) {
        bool whole = four == 0 && left >= fours;
        runs_t part = *all;
        part.input += run * all->input_stride + 4 * four;
        part.output += run * all->output_stride + 4 * four;
        part.runs = whole ? left / fours : 1;
        part.count = 4 * (whole ? fours : match_smaller(left, fours - four));
        look_up_runs(table, part);
        left -= part.runs * part.count >> 2;
        run += part.runs;
        four = 0;
    }
}

/* All bytes of some runs, the fours and those behind them. */
static void look_up_whole(const uint8_t *table, runs_t runs)
{
    int32_t count = runs.count;
    if (count >= 4) {
        runs.count = count & ~3;
        look_up_runs(table, runs);
    }
    if (count & 3) {
        runs.input += count & ~3;
        runs.output += count & ~3;
        runs.count = count & 3;
        look_up_runs(table, runs);
    }
}

/* Runs for each core from which on it has whole ones, which takes fewer divisions. */
enum { MANY_RUNS = 4 };

/* This core's share. */
static void look_up_share(const uint8_t *table, const runs_t *all)
{
    bool many = all->runs >= MANY_RUNS * match_core_count();
    if (!many && all->count >= 4) {
        share_fours(table, all);
    }
    runs_t part = *all;
    if (!many) {
        part.input += all->count & ~3;
        part.output += all->count & ~3;
        part.count = all->count & 3;
    }
    if (part.count > 0) {
        match_share_t share = match_share(all->runs);
        part.runs = share.last - share.first;
        part.input += share.first * all->input_stride;
        part.output += share.first * all->output_stride;
        if (part.runs > 0) {
            look_up_whole(table, part);
        }
    }
}

/* All pixels by runs with gaps between them, through the table, NULL for none. */
static void look_up_tile(const match_tile_t *tile, const uint8_t *table, int32_t pixels)
{
    int32_t width = tile->output_width;
    runs_t runs = {tile->input, tile->output, pixels * tile->channels_out, width / pixels,
                   pixels * tile->input_pixel_stride, pixels * tile->output_pixel_stride};
    int32_t rows = tile->output_height;
    bool joined = tile->input_row_stride == width * tile->input_pixel_stride &&
                  tile->output_row_stride == width * tile->output_pixel_stride;
    if (pixels == 1 && joined) {
        runs.runs = rows * width;
        rows = 1;
    } else if (pixels > 1) { /* a row */
        runs.runs = rows;
        runs.input_stride = tile->input_row_stride;
        runs.output_stride = tile->output_row_stride;
        rows = 1;
    }
    for (; rows > 0; rows--, runs.input += tile->input_row_stride, runs.output += tile->output_row_stride) {
        look_up_share(table, &runs);
    }
}

/* Elements for which it pays to look at the whole table. */
enum { ENOUGH = 256 };

/* Whether half a table, 32 words, has bytes that rise by one each from those of `word` on. */
static bool rises(const uint8_t *table, uint32_t word)
{
    uint32_t different = 0;
    for (int32_t left = 32; left > 0 && different == 0; left -= 8) {
#pragma GCC unroll 8
        for (int32_t i = 0; i < 8; i++, table += 4) {
            different |= match_load4(table) ^ word;
            word += 0x04040404;
        }
    }
    return different == 0;
}

/* The first bytes of a table that changes nothing, and what turns the sign bit of each byte over: int8 to uint8, or
 * back. */
enum { SAME = 0x03020100, TURN_SIGNS = (int32_t)0x80808080 };

/* Whether the table turns such bits over, and does nothing else. */
static bool turns(const uint8_t *table, uint32_t bits)
{
    return (bits == 0 || bits == (uint32_t)TURN_SIGNS) && rises(table, SAME ^ bits) &&
           rises(table + 128, SAME ^ (uint32_t)TURN_SIGNS ^ bits);
}

/* Turn such bits of `count` bytes over. */
static void turn_bits(const uint8_t *input, uint8_t *output, int32_t count, uint32_t bits)
{
    int32_t left = count;
#if defined(MATCH_PULP_INSN)
    if (count >= 8) {
        uint32_t a, b;
        __asm__ volatile(MATCH_INSN_LOOP("%4", 6)
                         MATCH_INSN_LOAD4("%2", "%0")
                         MATCH_INSN_LOAD4("%3", "%0")
                         "xor %2, %2, %5\n"
                         "xor %3, %3, %5\n"
                         MATCH_INSN_STORE4("%2", "%1")
                         MATCH_INSN_STORE4("%3", "%1")
                         MATCH_INSN_LOOP_END
                         : "+r"(input), "+r"(output), "=&r"(a), "=&r"(b)
                         : "r"(count >> 3), "r"(bits)
                         : "memory");
        left = count & 7;
    }
#else
    if (bits == 0) {
        match_copy_rows(output, count, input, count, 1, count);
        return;
    }
#endif
#pragma GCC unroll 4
    for (int32_t i = 0; i < left; i++) {
        output[i] = input[i] ^ (bits & 0xff);
    }
}

void match_pulp_lookup(const match_tile_t *tile)
{
    const uint8_t *table = tile->parameters;
    int32_t input_pixels = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t output_pixels = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    int32_t pixels = match_smaller(input_pixels, output_pixels);
    int32_t all = tile->output_height * tile->output_width;
    uint32_t bits = match_load4(table) ^ SAME;
    bool by_words = all * tile->channels_out >= ENOUGH * match_core_count() && turns(table, bits);
    if (pixels < all && !(by_words && bits != 0)) {
        look_up_tile(tile, by_words ? NULL : table, pixels);
        return;
    }
    match_run_t run = match_first_run(tile, pixels);
    for (; run.count > 0; match_next_run(tile, &run)) {
        const uint8_t *input = tile->input + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride);
        uint8_t *output = tile->output + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride);
        if (by_words) {
            turn_bits(input, output, run.count, bits);
        } else {
            look_up(table, input, output, run.count);
        }
    }
}
