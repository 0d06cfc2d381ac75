#include "match_pulp.h"
#include "match_pulp_requantize.h"
#include "match_pulp_runs.h"

/* What is subtracted from both inputs. */
typedef struct {
    int32_t input;
    int32_t addend;
} zero_points_t;

/* Of the next elements of both. */
static inline int32_t product(match_operands_t *run, zero_points_t zero)
{
    int32_t result = (*run->input++ - zero.input) * (*run->addend - zero.addend);
    run->addend += run->step;
    return result;
}

static inline void multiply_run(match_finish_t finish, zero_points_t zero, match_operands_t run, int32_t count)
{
    switch (finish.form) {
    case MATCH_FORM_32: {
        match_requant32_t p = match_parameters_32(finish.parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_32(&finish, p, product(&run, zero));
        }
        break;
    }
    case MATCH_FORM_HIGH: {
        match_requant_high_t p = match_parameters_high(finish.parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_high(&finish, p, product(&run, zero));
        }
        break;
    }
    case MATCH_FORM_HIGH_SIGNED: {
        match_requant_high_signed_t p = match_parameters_high_signed(finish.parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_high_signed(&finish, p, product(&run, zero));
        }
        break;
    }
    default:
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = match_requantize_with(&finish, finish.parameters, product(&run, zero));
        }
    }
}

static inline void multiply(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    const uint8_t *zero_points = tile->weights;
    zero_points_t zero = {.input = match_word(zero_points), .addend = match_word(zero_points + 4)};
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        multiply_run(finish, zero, match_operands_of(tile, &run), run.count);
    }
}

void match_pulp_multiply(const match_tile_t *tile)
{
    multiply(tile, MATCH_FORM_64);
}

void match_pulp_multiply_high(const match_tile_t *tile)
{
    multiply(tile, MATCH_FORM_HIGH);
}

void match_pulp_multiply_int32(const match_tile_t *tile)
{
    multiply(tile, MATCH_FORM_32);
}
