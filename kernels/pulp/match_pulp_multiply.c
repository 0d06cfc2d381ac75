#include "match_pulp.h"
#include "match_pulp_requantize.h"
#include "match_pulp_runs.h"

/* What a run of multiplications reads and writes. */
typedef struct {
    const uint8_t *input;
    const uint8_t *addend;
    uint8_t *output;
} operands_t;

/* What is subtracted from both inputs. */
typedef struct {
    int32_t input;
    int32_t addend;
} zero_points_t;

static inline int32_t product(operands_t run, zero_points_t zero, int32_t i)
{
    return (run.input[i] - zero.input) * (run.addend[i] - zero.addend);
}

static inline void multiply_run(match_finish_t finish, zero_points_t zero, operands_t run, int32_t count)
{
    switch (finish.form) {
    case MATCH_FORM_32: {
        match_requant32_t p = match_parameters_32(finish.parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_32(&finish, p, product(run, zero, i));
        }
        break;
    }
    case MATCH_FORM_HIGH: {
        match_requant_high_t p = match_parameters_high(finish.parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_high(&finish, p, product(run, zero, i));
        }
        break;
    }
    case MATCH_FORM_HIGH_SIGNED: {
        match_requant_high_signed_t p = match_parameters_high_signed(finish.parameters);
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = (uint8_t)match_requantize_high_signed(&finish, p, product(run, zero, i));
        }
        break;
    }
    default:
        for (int32_t i = 0; i < count; i++) {
            run.output[i] = match_requantize_with(&finish, finish.parameters, product(run, zero, i));
        }
    }
}

static inline void multiply(const match_tile_t *tile, match_form_t form)
{
    match_finish_t finish = match_finish_of(tile, form);
    const uint8_t *zero_points = tile->weights;
    zero_points_t zero = {.input = match_word(zero_points), .addend = match_word(zero_points + 4)};
    int32_t input = match_dense_pixels(tile, tile->input_row_stride, tile->input_pixel_stride);
    int32_t addend = match_dense_pixels(tile, tile->addend_row_stride, tile->addend_pixel_stride);
    int32_t output = match_dense_pixels(tile, tile->output_row_stride, tile->output_pixel_stride);
    match_run_t run = match_first_run(tile, match_smaller(match_smaller(input, addend), output));
    for (; run.count > 0; match_next_run(tile, &run)) {
        operands_t operands = {
            .input = tile->input + match_run_offset(&run, tile->input_row_stride, tile->input_pixel_stride),
            .addend = tile->addend + match_run_offset(&run, tile->addend_row_stride, tile->addend_pixel_stride),
            .output = tile->output + match_run_offset(&run, tile->output_row_stride, tile->output_pixel_stride),
        };
        multiply_run(finish, zero, operands, run.count);
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
