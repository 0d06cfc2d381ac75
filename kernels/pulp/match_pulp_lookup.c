#include <stdbool.h>

#include "match_pulp.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

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

/* Whether the table turns the sign bit of each byte over, and nothing else: int8 to uint8, or back. */
static bool turns_signs(const uint8_t *table)
{
    return rises(table, 0x83828180) && rises(table + 128, 0x03020100);
}

/* Turn the sign bits of `count` bytes over. */
static void turn_signs(const uint8_t *input, uint8_t *output, int32_t count)
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
                         : "r"(count >> 3), "r"(0x80808080u)
                         : "memory");
        left = count & 7;
    }
#endif
#pragma GCC unroll 4
    for (int32_t i = 0; i < left; i++) {
        output[i] = input[i] ^ 0x80;
    }
}

void match_pulp_lookup(const match_tile_t *tile)
{
    const uint8_t *table = tile->parameters;
    int32_t input_pixels = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t output_pixels = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    match_run_t run = match_first_run(tile, match_smaller(input_pixels, output_pixels));
    bool signs = run.left >= ENOUGH && turns_signs(table);
    for (; run.count > 0; match_next_run(tile, &run)) {
        const uint8_t *input = tile->input + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride);
        uint8_t *output = tile->output + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride);
        if (signs) {
            turn_signs(input, output, run.count);
        } else {
            look_up(table, input, output, run.count);
        }
    }
}
