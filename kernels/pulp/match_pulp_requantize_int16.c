#include "match_pulp.h"
#include "match_pulp_fixed_point.h"
#include "match_pulp_int16.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

void match_pulp_requantize_int16(const match_tile_t *tile)
{
    match_scaling_t by = *(const match_scaling_t *)tile->parameters;
    int32_t clip_low = tile->clip_low, clip_high = tile->clip_high;
    for (match_run_t run = match_first_run_int16(tile); run.count > 0; match_next_run(tile, &run)) {
        const match_half_t *x = match_input_half(tile, run.y, run.x) + run.first;
        match_half_t *output = match_output_half(tile, run.y, run.x) + run.first;
        for (int32_t i = 0; i < run.count; i++) {
            output[i] = (int16_t)match_smaller(match_larger(match_scaled(x[i], &by), clip_low), clip_high);
        }
    }
}

void match_pulp_leaky_relu_int16(const match_tile_t *tile)
{
    const match_scaling_t *by = tile->parameters;
    match_scaling_t above = by[0], below = by[1];
    for (match_run_t run = match_first_run_int16(tile); run.count > 0; match_next_run(tile, &run)) {
        const match_half_t *x = match_input_half(tile, run.y, run.x) + run.first;
        match_half_t *output = match_output_half(tile, run.y, run.x) + run.first;
        for (int32_t i = 0; i < run.count; i++) {
            output[i] = (int16_t)match_narrow(match_scaled(x[i], x[i] < 0 ? &below : &above));
        }
    }
}
