#include "match_pulp.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

enum { TABLE = 256, FRACTION = 20 };

static void difference_run(const int32_t *tables, int32_t low, int32_t high, match_operands_t run, int32_t count)
{
    const int32_t *addend_table = tables + TABLE;
    for (int32_t i = 0; i < count; i++, run.addend += run.step) {
        int32_t difference = (tables[run.input[i]] + addend_table[*run.addend]) >> FRACTION;
        int32_t distance = match_larger(difference, -difference);
        run.output[i] = (uint8_t)match_smaller(low + distance, high);
    }
}

void match_pulp_absolute_difference(const match_tile_t *tile)
{
    const int32_t *tables = (const int32_t *)tile->parameters;
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        difference_run(tables, tile->clip_low, tile->clip_high, match_operands_of(tile, &run), run.count);
    }
}
