#include "match_pulp.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

enum { TABLE = 256 };

/* `count` bytes, each through the table behind that of the one before, four at a time. */
static void look_up_each(const uint8_t *table, const uint8_t *input, uint8_t *output, int32_t count)
{
    int32_t left = count;
#if defined(MATCH_PULP_INSN)
    if (count >= 4) {
        uint32_t a, b, c, d;
        __asm__ volatile(MATCH_INSN_LOOP("%7", 16)
                         MATCH_INSN_LOAD_BYTE("%2", "%0")
                         MATCH_INSN_LOAD_BYTE("%3", "%0")
                         MATCH_INSN_LOAD_BYTE("%4", "%0")
                         MATCH_INSN_LOAD_BYTE("%5", "%0")
                         "addi %3, %3, 256\n"
                         "addi %4, %4, 512\n"
                         "addi %5, %5, 768\n"
                         MATCH_INSN_LOAD_BYTE_AT("%2", "%2", "%6")
                         MATCH_INSN_LOAD_BYTE_AT("%3", "%3", "%6")
                         MATCH_INSN_LOAD_BYTE_AT("%4", "%4", "%6")
                         MATCH_INSN_LOAD_BYTE_AT("%5", "%5", "%6")
                         "addi %6, %6, 1024\n"
                         MATCH_INSN_STORE_BYTE("%2", "%1")
                         MATCH_INSN_STORE_BYTE("%3", "%1")
                         MATCH_INSN_STORE_BYTE("%4", "%1")
                         MATCH_INSN_STORE_BYTE("%5", "%1")
                         MATCH_INSN_LOOP_END
                         : "+r"(input), "+r"(output), "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d), "+r"(table)
                         : "r"(count >> 2)
                         : "memory");
        left = count & 3;
    }
#endif
#pragma GCC unroll 4
    for (int32_t i = 0; i < left; i++) {
        output[i] = table[TABLE * i + input[i]];
    }
}

void match_pulp_channel_lookup(const match_tile_t *tile)
{
    int32_t input_pixels = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t output_pixels = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    match_run_t run = match_first_run(tile, match_smaller(input_pixels, output_pixels));
    for (; run.count > 0; match_next_run(tile, &run)) {
        const uint8_t *input = tile->input + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride);
        uint8_t *output = tile->output + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride);
        int32_t channel = run.first % tile->channels_out;
        for (int32_t left = run.count, count; left > 0; left -= count) {
            count = match_smaller(tile->channels_out - channel, left);
            look_up_each((const uint8_t *)tile->parameters + TABLE * channel, input, output, count);
            input += count;
            output += count;
            channel = 0;
        }
    }
}
