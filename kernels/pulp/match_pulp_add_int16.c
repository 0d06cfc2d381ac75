#include "match_pulp.h"
#include "match_pulp_int16.h"
#include "match_pulp_runs.h"
#include "match_pulp_simd.h"

/* A right shift, half away from zero: what is added before it, and whether negative numbers have one less. */
typedef struct {
    int32_t half;
    int32_t less;
    int32_t bits;
} shift_t;

static shift_t shift_of(int32_t bits)
{
    return (shift_t){.half = bits > 0 ? 1 << (bits - 1) : 0, .less = bits > 0 ? -1 : 0, .bits = bits};
}

static inline int32_t shifted(shift_t shift, int32_t value)
{
    return (value + shift.half + ((value >> 31) & shift.less)) >> shift.bits;
}

/* value * 2^15 * multiplier, rounded at bit 31. */
static inline int32_t multiplied(int16_t value, int32_t multiplier)
{
    int64_t product = (int64_t)(value * 65536) * multiplier;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
}

void match_pulp_add_int16(const match_tile_t *tile)
{
    const match_add_int16_t *line = tile->parameters;
    shift_t first = shift_of(line->shifts[0]), second = shift_of(line->shifts[1]), last = shift_of(line->shifts[2]);
    int32_t a_multiplier = line->multipliers[0], b_multiplier = line->multipliers[1], multiplier = line->multipliers[2];
    int32_t sign = line->sign, clip_low = tile->clip_low, clip_high = tile->clip_high;
    for (match_run_t run = match_first_run_of_two(tile); run.count > 0; match_next_run(tile, &run)) {
        match_operands_int16_t of = match_operands_int16_of(tile, &run);
        for (int32_t i = 0; i < run.count; i++, of.addend += of.step) {
            int32_t sum = shifted(first, multiplied(of.input[i], a_multiplier));
            sum += sign * shifted(second, multiplied(*of.addend, b_multiplier));
            int64_t product = (int64_t)sum * multiplier + (1 << 30);
            int32_t value = shifted(last, (int32_t)(product >> 31));
            of.output[i] = (int16_t)match_smaller(match_larger(value, clip_low), clip_high);
        }
    }
}
