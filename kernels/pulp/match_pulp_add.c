#include "match_pulp.h"
#include "match_pulp_lines.h"
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
    for (int32_t i = 0; i < count; i++, run.addend += run.step) {
        int32_t sum = match_multiply_add(bias, run.input[i], a_multiplier);
        run.output[i] = match_clip(finish, match_multiply_add(sum, *run.addend, b_multiplier) >> shift);
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
    if (match_are_lines(tile, &finish)) {
        match_bilinear_t sum = {.input = p.input_multiplier, .addend = p.addend_multiplier, .constant = p.bias};
        match_requant32_t shifted = {.multiplier = 1, .shift = p.shift};
        finish.parameters = (const uint8_t *)&shifted;
        match_lines(tile, &finish, &sum);
        return;
    }
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        add_run_32(&finish, &p, match_operands_of(tile, &run), run.count);
    }
}

#if defined(MATCH_PULP_INSN)

/* Instructions that make a sum of two elements, with the addend of its requantization, a word whose uppermost byte is the
 * output; the second of them is lost. */
#define SPLIT_SUM(sum, other) \
    "mul " sum ", " sum ", %[by]\n" MATCH_INSN_MULTIPLY_ADD(sum, other, "%[addend_by]") \
    "add " sum ", " sum ", %[more]\n" MATCH_INSN_CLIP(sum, sum, "%[largest]")
#define SPLIT_OUTPUT(sum, other) MATCH_SPLIT_WORD(other, sum, "%[low]", "%[bias]", "%[high]") "srli " other ", " other ", 24\n"

/* As add_quads, two elements at a time, `pairs` > 0 of them. */
static match_operands_t add_pairs(const match_requant_add_split_t *p, match_operands_t run, int32_t pairs)
{
    uint32_t a, b, c, d;
    __asm__ volatile(MATCH_INSN_LOOP("%[pairs]", 22)
                     MATCH_INSN_LOAD_BYTE("%[a]", "%[input]")
                     MATCH_INSN_LOAD_BYTE("%[b]", "%[input]")
                     MATCH_INSN_LOAD_BYTE("%[c]", "%[addend]")
                     MATCH_INSN_LOAD_BYTE("%[d]", "%[addend]")
                     SPLIT_SUM("%[a]", "%[c]")
                     SPLIT_SUM("%[b]", "%[d]")
                     SPLIT_OUTPUT("%[a]", "%[c]")
                     SPLIT_OUTPUT("%[b]", "%[d]")
                     MATCH_INSN_STORE_BYTE("%[c]", "%[output]")
                     MATCH_INSN_STORE_BYTE("%[d]", "%[output]")
                     MATCH_INSN_LOOP_END
                     : [input] "+r"(run.input), [addend] "+r"(run.addend), [output] "+r"(run.output), [a] "=&r"(a),
                       [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)
                     : [pairs] "r"(pairs), [by] "r"(p->input_multiplier), [addend_by] "r"(p->addend_multiplier),
                       [more] "r"(p->split.addend), [largest] "r"(p->split.largest), [low] "r"(p->split.low),
                       [bias] "r"(p->split.bias), [high] "r"(p->split.high)
                     : "memory");
    return run;
}

#endif

/* By halves of a multiplier. */
static void add_run_split(const match_requant_add_split_t *p, match_operands_t run, int32_t count)
{
#if defined(MATCH_PULP_INSN)
    if (count >= 2) {
        run = add_pairs(p, run, count >> 1);
        count &= 1;
    }
#endif
    for (int32_t i = 0; i < count; i++) {
        int32_t sum = match_multiply_add(run.input[i] * p->input_multiplier, run.addend[i], p->addend_multiplier);
        run.output[i] = (uint8_t)match_requantize_split(p->split, sum);
    }
}

void match_pulp_add_split(const match_tile_t *tile)
{
    const uint8_t *parameters = tile->parameters;
    match_requant_add_split_t p = {
        .split = match_parameters_split(parameters),
        .input_multiplier = MATCH_MEMBER(parameters, match_requant_add_split_t, input_multiplier),
        .addend_multiplier = MATCH_MEMBER(parameters, match_requant_add_split_t, addend_multiplier),
    };
    match_finish_t finish = match_finish_of(tile, MATCH_FORM_SPLIT);
    if (match_are_lines(tile, &finish)) {
        match_bilinear_t sum = {.input = p.input_multiplier, .addend = p.addend_multiplier};
        match_lines(tile, &finish, &sum);
        return;
    }
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        add_run_split(&p, match_operands_of(tile, &run), run.count);
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
