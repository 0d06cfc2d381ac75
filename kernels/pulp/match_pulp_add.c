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

#if defined(MATCH_PULP_INSN)

/* Four elements at a time, `quads` > 0 of them; clip_low is 0. No multiplier of 16 bits is exact for most layers, so that
 * each product is a multiplication. */
static operands_t add_quads(const match_requant_add32_t *p, int32_t clip_high, operands_t run, int32_t quads)
{
    uint32_t a, b, c, d, e, f, g, h;
    __asm__ volatile(MATCH_INSN_LOOP("%[quads]", 27)
                     MATCH_INSN_LOAD_BYTE("%[a]", "%[input]")
                     MATCH_INSN_LOAD_BYTE("%[b]", "%[input]")
                     MATCH_INSN_LOAD_BYTE("%[c]", "%[input]")
                     MATCH_INSN_LOAD_BYTE("%[d]", "%[input]")
                     MATCH_INSN_LOAD_BYTE("%[e]", "%[addend]")
                     MATCH_INSN_LOAD_BYTE("%[f]", "%[addend]")
                     MATCH_INSN_LOAD_BYTE("%[g]", "%[addend]")
                     MATCH_INSN_LOAD_BYTE("%[h]", "%[addend]")
                     "mul %[a], %[a], %[by]\n"
                     "mul %[b], %[b], %[by]\n"
                     "mul %[c], %[c], %[by]\n"
                     "mul %[d], %[d], %[by]\n"
                     MATCH_INSN_MULTIPLY_ADD("%[a]", "%[e]", "%[addend_by]")
                     MATCH_INSN_MULTIPLY_ADD("%[b]", "%[f]", "%[addend_by]")
                     MATCH_INSN_MULTIPLY_ADD("%[c]", "%[g]", "%[addend_by]")
                     MATCH_INSN_MULTIPLY_ADD("%[d]", "%[h]", "%[addend_by]")
                     MATCH_INSN_ADD_SHIFT("%[a]", "%[bias]", "%[shift]")
                     MATCH_INSN_ADD_SHIFT("%[b]", "%[bias]", "%[shift]")
                     MATCH_INSN_ADD_SHIFT("%[c]", "%[bias]", "%[shift]")
                     MATCH_INSN_ADD_SHIFT("%[d]", "%[bias]", "%[shift]")
                     MATCH_INSN_CLIP("%[a]", "%[a]", "%[most]")
                     MATCH_INSN_CLIP("%[b]", "%[b]", "%[most]")
                     MATCH_INSN_CLIP("%[c]", "%[c]", "%[most]")
                     MATCH_INSN_CLIP("%[d]", "%[d]", "%[most]")
                     MATCH_INSN_PACK_LOW("%[a]", "%[b]", "%[a]")
                     MATCH_INSN_PACK_HIGH("%[a]", "%[d]", "%[c]")
                     MATCH_INSN_STORE4("%[a]", "%[output]")
                     MATCH_INSN_LOOP_END
                     : [input] "+r"(run.input), [addend] "+r"(run.addend), [output] "+r"(run.output), [a] "=&r"(a),
                       [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [e] "=&r"(e), [f] "=&r"(f), [g] "=&r"(g), [h] "=&r"(h)
                     : [quads] "r"(quads), [by] "r"(p->input_multiplier), [addend_by] "r"(p->addend_multiplier),
                       [bias] "r"(p->bias), [shift] "r"(p->shift), [most] "r"(clip_high)
                     : "memory");
    return run;
}

#endif

/* Sums in 32 bits; products may pass them, sums do not. */
static void add_run_32(const match_finish_t *finish, const match_requant_add32_t *p, operands_t run, int32_t count)
{
#if defined(MATCH_PULP_INSN)
    if (finish->clip_low == 0 && count >= 4) {
        run = add_quads(p, finish->clip_high, run, count >> 2);
        count &= 3;
    }
#endif
    int32_t a_multiplier = p->input_multiplier;
    int32_t b_multiplier = p->addend_multiplier;
    int32_t bias = p->bias;
    int32_t shift = p->shift;
    for (int32_t i = 0; i < count; i++) {
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
            operands.output[i] = match_shift_and_clip(&finish, sum, p.shift, 0);
        }
    }
}
