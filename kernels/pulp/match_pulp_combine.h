/* Elements of two tensors, each pair made an accumulator, which is requantized as that of channel 0. */
#ifndef MATCH_PULP_COMBINE_H
#define MATCH_PULP_COMBINE_H

#include "match_pulp_dot.h"
#include "match_pulp_requantize.h"
#include "match_pulp_runs.h"

/* The accumulator of the next elements, after which `run` is behind them. */
typedef int32_t match_combination_t(match_operands_t *run, const void *constants);

/* The next `count` outputs of a tile with exceptions, in a form that the compiler knows. */
MATCH_INLINE void match_combine_excepting(const match_finish_t *given, match_operands_t run, int32_t count,
                                          match_form_t form, match_combination_t *next, const void *constants)
{
    match_finish_t finish = *given;
    finish.form = form;
    match_exceptions_t exceptions = match_exceptions_of(&finish, 0);
    for (int32_t i = 0; i < count; i++) {
        int32_t acc = next(&run, constants);
        uint8_t output = match_requantize_with(&finish, finish.parameters, acc);
        run.output[i] = (uint8_t)(output - match_is_exception(exceptions, acc));
    }
}

/* The next `count` outputs. */
MATCH_INLINE void match_combine_run(const match_finish_t *finish, match_operands_t run, int32_t count,
                                    match_combination_t *next, const void *constants)
{
    if (finish->excepted != NULL) {
        if (finish->form == MATCH_FORM_SPLIT) {
            match_combine_excepting(finish, run, count, MATCH_FORM_SPLIT, next, constants);
        } else {
            match_combine_excepting(finish, run, count, finish->form, next, constants);
        }
        return;
    }
    switch (finish->form) {
    case MATCH_FORM_32: {
        match_requant32_t p = match_parameters_32(finish->parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_32(finish, p, next(&run, constants));
        }
        break;
    }
    case MATCH_FORM_HIGH: {
        match_requant_high_t p = match_parameters_high(finish->parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_high(finish, p, next(&run, constants));
        }
        break;
    }
    case MATCH_FORM_SPLIT: {
        match_requant_split_t p = match_parameters_split(finish->parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_split(p, next(&run, constants));
        }
        break;
    }
    case MATCH_FORM_SPLIT_SIGNED: {
        match_requant_split_signed_t p = match_parameters_split_signed(finish->parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_split_signed(p, next(&run, constants));
        }
        break;
    }
    case MATCH_FORM_64:
    case MATCH_FORM_64_SIGNED:
    default:
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = match_requantize_with(finish, finish->parameters, next(&run, constants));
        }
        break;
    }
}

/* All elements of this core. */
MATCH_INLINE void match_combine(const match_tile_t *tile, match_form_t form, match_combination_t *next,
                                const void *constants)
{
    match_finish_t finish = match_finish_of(tile, form);
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        match_combine_run(&finish, match_operands_of(tile, &run), run.count, next, constants);
    }
}

#endif
