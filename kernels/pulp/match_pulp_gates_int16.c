#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_gates.h"
#include "match_pulp_int16.h"

typedef int32_t (*function_t)(const uint16_t *logistic, int32_t x);

MATCH_INLINE void apply(const match_tile_t *tile, function_t function)
{
    const match_gate_int16_t *gate = tile->parameters;
    const uint16_t *logistic = gate->logistic;
    int32_t multiplier = gate->multiplier, shift = gate->shift, half = (int32_t)((1u << shift) >> 1);
    for (match_run_t run = match_first_run_int16(tile); run.count > 0; match_next_run(tile, &run)) {
        const match_half_t *x = match_input_half(tile, run.y, run.x) + run.first;
        match_half_t *output = match_output_half(tile, run.y, run.x) + run.first;
        for (int32_t i = 0; i < run.count; i++) {
            output[i] = (int16_t)function(logistic, (x[i] * multiplier + half) >> shift);
        }
    }
}

void match_pulp_logistic_int16(const match_tile_t *tile)
{
    apply(tile, match_logistic_at);
}

void match_pulp_tanh_int16(const match_tile_t *tile)
{
    apply(tile, match_tanh_of);
}
