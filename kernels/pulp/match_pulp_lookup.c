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

void match_pulp_lookup(const match_tile_t *tile)
{
    int32_t input_pixels = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t output_pixels = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    match_run_t run = match_first_run(tile, match_smaller(input_pixels, output_pixels));
    for (; run.count > 0; match_next_run(tile, &run)) {
        look_up(tile->parameters,
                tile->input + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride),
                tile->output + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride), run.count);
    }
}
