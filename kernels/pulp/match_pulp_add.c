#include "match_pulp.h"
#include "match_pulp_requantize.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

/* What a run of additions reads and writes. */
typedef struct {
    const uint8_t *input;
    const uint8_t *addend;
    uint8_t *output;
} operands_t;

static inline int32_t gapless_pixels(const match_tile_t *tile)
{
    int32_t input = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t addend = match_dense_pixels(tile, tile->addend_row_stride, tile->addend_pixel_stride);
    int32_t output = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    return match_smaller(match_smaller(input, addend), output);
}

static inline operands_t operands_of(const match_tile_t *tile, const match_run_t *run)
{
    return (operands_t){
        .input = tile->input + match_run_offset(run, tile->input_row_stride, tile->input_pixel_stride),
        .addend = tile->addend + match_run_offset(run, tile->addend_row_stride, tile->addend_pixel_stride),
        .output = tile->output + match_run_offset(run, tile->output_row_stride, tile->output_pixel_stride),
    };
}

/* Sums of two elements at a time, in 32 bits; products may pass them, sums do not. */
static void add_run_32(const match_finish_t *finish, const match_requant_add32_t *p, operands_t run, int32_t count)
{
    int32_t a_multiplier = p->input_multiplier;
    int32_t b_multiplier = p->addend_multiplier;
    int32_t bias = p->bias;
    int32_t shift = p->shift;
    int32_t left = count;
#if defined(MATCH_PULP_INSN)
    if (count >= 2) {
        uint32_t a, b, c, d;
        __asm__ volatile(MATCH_INSN_LOOP("%7", 16)
                         MATCH_INSN_LOAD_BYTE("%3", "%0")
                         MATCH_INSN_LOAD_BYTE("%4", "%0")
                         MATCH_INSN_LOAD_BYTE("%5", "%1")
                         MATCH_INSN_LOAD_BYTE("%6", "%1")
                         "mul %3, %3, %8\n"
                         "mul %4, %4, %8\n"
                         MATCH_INSN_MULTIPLY_ADD("%3", "%5", "%9")
                         MATCH_INSN_MULTIPLY_ADD("%4", "%6", "%9")
                         MATCH_INSN_ADD_SHIFT("%3", "%10", "%11")
                         MATCH_INSN_ADD_SHIFT("%4", "%10", "%11")
                         MATCH_INSN_MAX("%3", "%3", "%12")
                         MATCH_INSN_MAX("%4", "%4", "%12")
                         MATCH_INSN_MIN("%3", "%3", "%13")
                         MATCH_INSN_MIN("%4", "%4", "%13")
                         MATCH_INSN_STORE_BYTE("%3", "%2")
                         MATCH_INSN_STORE_BYTE("%4", "%2")
                         MATCH_INSN_LOOP_END
                         : "+r"(run.input), "+r"(run.addend), "+r"(run.output), "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d)
                         : "r"(count >> 1), "r"(a_multiplier), "r"(b_multiplier), "r"(bias), "r"(shift),
                           "r"(finish->clip_low), "r"(finish->clip_high)
                         : "memory");
        left = count & 1;
    }
#endif
    for (int32_t i = 0; i < left; i++) {
        int32_t sum = match_multiply_add(bias, run.input[i], a_multiplier);
        run.output[i] = match_clip(finish, match_multiply_add(sum, run.addend[i], b_multiplier) >> shift);
    }
}

void match_pulp_add_int32(const match_tile_t *tile)
{
    const uint8_t *parameters = tile->parameters;
    match_requant_add32_t p = {
        .bias = MATCH_MEMBER(parameters, match_requant_add32_t, bias),
        .input_multiplier = MATCH_MEMBER(parameters, match_requant_add32_t, input_multiplier),
        .addend_multiplier = MATCH_MEMBER(parameters, match_requant_add32_t, addend_multiplier),
        .shift = MATCH_MEMBER(parameters, match_requant_add32_t, shift),
    };
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_32);
    for (match_run_t run = match_first_run(tile, gapless_pixels(tile)); run.count > 0; match_next_run(tile, &run)) {
        add_run_32(&finish, &p, operands_of(tile, &run), run.count);
    }
}

void match_pulp_add(const match_tile_t *tile)
{
    const uint8_t *parameters = tile->parameters;
    match_requant_add_t p = {
        .bias = match_double_word(parameters),
        .input_multiplier = MATCH_MEMBER(parameters, match_requant_add_t, input_multiplier),
        .addend_multiplier = MATCH_MEMBER(parameters, match_requant_add_t, addend_multiplier),
        .shift = MATCH_MEMBER(parameters, match_requant_add_t, shift),
    };
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_64);
    for (match_run_t run = match_first_run(tile, gapless_pixels(tile)); run.count > 0; match_next_run(tile, &run)) {
        operands_t operands = operands_of(tile, &run);
        for (int32_t i = 0; i < run.count; i++) {
            int64_t sum = (int64_t)operands.input[i] * p.input_multiplier +
                          (int64_t)operands.addend[i] * p.addend_multiplier + p.bias;
            operands.output[i] = match_shift_and_clip(&finish, sum, p.shift);
        }
    }
}
