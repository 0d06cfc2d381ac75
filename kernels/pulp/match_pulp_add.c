#include "match_pulp.h"
#include "match_pulp_requantize.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

#if defined(MATCH_PULP_INSN)

/* Four elements at a time, `quads` > 0 of them; clip_low is 0. No multiplier of 16 bits is exact for most layers, so that
 * each product is a multiplication. */
static match_operands_t add_quads(const match_requant_add32_t *p, int32_t clip_high, match_operands_t run, int32_t quads)
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
static void add_run_32(const match_finish_t *finish, const match_requant_add32_t *p, match_operands_t run, int32_t count)
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
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        match_operands_t operands = match_operands_of(tile, &run);
        if (operands.step == 0) {
            match_requant_add32_t same = p;
            same.bias = match_multiply_add(p.bias, *operands.addend, p.addend_multiplier);
            same.addend_multiplier = 0;
            operands.addend = operands.input; /* which are as many bytes */
            add_run_32(&finish, &same, operands, run.count);
        } else {
            add_run_32(&finish, &p, operands, run.count);
        }
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
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        match_operands_t operands = match_operands_of(tile, &run);
        for (int32_t i = 0; i < run.count; i++, operands.addend += operands.step) {
            int64_t sum = (int64_t)operands.input[i] * p.input_multiplier +
                          (int64_t)*operands.addend * p.addend_multiplier + p.bias;
            operands.output[i] = match_shift_and_clip(&finish, sum, p.shift);
        }
    }
}
