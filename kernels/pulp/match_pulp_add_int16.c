#include "match_pulp.h"
#include "match_pulp_fixed_point.h"
#include "match_pulp_int16.h"
#include "match_pulp_simd.h"

void match_pulp_add_int16(const match_tile_t *tile)
{
    match_add_int16_t by = *(const match_add_int16_t *)tile->parameters;
    int32_t clip_low = tile->clip_low, clip_high = tile->clip_high;
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        match_operands_int16_t of = match_operands_int16_of(tile, &run);
        for (int32_t i = 0; i < run.count; i++, of.addend += of.step) {
            int32_t sum = match_scaled(of.input[i], &by.input) + by.sign * match_scaled(*of.addend, &by.addend);
            int32_t value = match_scaled_once(sum, &by.sum);
            of.output[i] = (int16_t)match_smaller(match_larger(value, clip_low), clip_high);
        }
    }
}
