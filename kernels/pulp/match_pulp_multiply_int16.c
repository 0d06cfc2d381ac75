#include "match_pulp.h"
#include "match_pulp_fixed_point.h"
#include "match_pulp_int16.h"
#include "match_pulp_simd.h"

void match_pulp_multiply_int16(const match_tile_t *tile)
{
    match_scaling_t by = *(const match_scaling_t *)tile->parameters;
    int32_t clip_low = tile->clip_low, clip_high = tile->clip_high;
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        match_operands_int16_t of = match_operands_int16_of(tile, &run);
        for (int32_t i = 0; i < run.count; i++, of.addend += of.step) {
            /* The product of the two lowest numbers is the only one that 31 bits do not hold. */
            int32_t value = match_scaled_once(of.input[i] * *of.addend, &by);
            of.output[i] = (int16_t)match_smaller(match_larger(value, clip_low), clip_high);
        }
    }
}
