#include "match_pulp.h"
#include "match_pulp_combine.h"

enum { TABLE = 256 };

static inline int32_t square(match_operands_t *run, const void *constants)
{
    const int16_t *tables = constants;
    int32_t difference = tables[*run->input++] - tables[TABLE + *run->addend];
    run->addend += run->step;
    return difference * difference;
}

void match_pulp_squared_difference(const match_tile_t *tile)
{
    match_combine(tile, MATCH_FORM_64, square, tile->weights);
}

void match_pulp_squared_difference_high(const match_tile_t *tile)
{
    match_combine(tile, MATCH_FORM_HIGH, square, tile->weights);
}

void match_pulp_squared_difference_int32(const match_tile_t *tile)
{
    match_combine(tile, MATCH_FORM_32, square, tile->weights);
}
