#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_gru.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_team.h"

/* Sums of three rows of weights, one behind the other, and a vector. */
static __attribute__((noinline)) void sums_of(const uint8_t *vector, const int8_t *weights, int32_t length,
                                              int32_t sums[MATCH_GRU_GATES])
{
    const uint8_t *const x[] = {vector};
    match_block_t pair;
    match_block_t last;
    if (length < 4) {
        weights = match_dot_short(x, weights, length, 2, 1, &pair);
        match_dot_short(x, weights, length, 1, 1, &last);
    } else {
        weights = match_dot_bytes(x, weights, length, 2, 1, MATCH_FROM_0, &pair);
        match_dot_bytes(x, weights, length, 1, 1, MATCH_FROM_0, &last);
    }
    sums[MATCH_GRU_UPDATE] = pair.acc[0][0];
    sums[MATCH_GRU_RESET] = pair.acc[1][0];
    sums[MATCH_GRU_CANDIDATE] = last.acc[0][0];
}

/* A unit's state, 15 bits behind the point, from an input, the unit's state and all outputs of the step before; NULL
 * where there is none. */
static inline int32_t next_state(const match_tile_t *tile, const match_gru_t *gru, const match_gru_unit_t *unit,
                                 const uint8_t *input, const uint8_t *before, int32_t state)
{
    int32_t sums[MATCH_GRU_GATES];
    int32_t gates[MATCH_GRU_GATES];
    sums_of(input, unit->weights, tile->channels_in, sums);
#pragma GCC unroll 3
    for (int32_t gate = 0; gate < MATCH_GRU_GATES; gate++) {
        gates[gate] = match_scaled(sums[gate] + unit->inputs[gate], &gru->inputs[gate]);
    }
    int32_t remembered = unit->bias;
    if (before != NULL) {
        sums_of(before, unit->weights + match_gru_bytes(tile->channels_in), tile->channels_out, sums);
#pragma GCC unroll 3
        for (int32_t gate = 0; gate < MATCH_GRU_GATES; gate++) {
            sums[gate] = match_scaled(sums[gate] + unit->states[gate], &gru->states[gate]);
        }
        gates[MATCH_GRU_UPDATE] += sums[MATCH_GRU_UPDATE];
        gates[MATCH_GRU_RESET] += sums[MATCH_GRU_RESET];
        remembered += sums[MATCH_GRU_CANDIDATE];
    }
    int32_t reset = match_logistic_of(gru->logistic, match_narrow(gates[MATCH_GRU_RESET]));
    int32_t keep = match_logistic_of(gru->logistic, match_narrow(gates[MATCH_GRU_UPDATE]));
    return match_gru_state(gru, gates[MATCH_GRU_CANDIDATE] + match_gru_of_one(reset * match_narrow(remembered)), keep, state);
}

void match_pulp_gru(const match_tile_t *tile)
{
    const match_gru_t *gru = tile->parameters;
    int32_t count = tile->channels_out;
    int32_t bytes = (int32_t)sizeof(match_gru_unit_t) + match_gru_bytes(tile->channels_in) + match_gru_bytes(count);
    match_share_t share = match_share(count);
    for (int32_t step = 0; step < tile->output_height; step++) {
        int16_t *memory = tile->scratch;
        for (int32_t sequence = 0; sequence < tile->output_width; sequence++, memory += count) {
            const uint8_t *input = match_input_pixel(tile, step, sequence);
            const uint8_t *before = step > 0 ? match_output_pixel(tile, step - 1, sequence) : NULL;
            uint8_t *output = match_output_pixel(tile, step, sequence);
            const uint8_t *unit = (const uint8_t *)tile->weights + share.first * bytes;
            for (int32_t k = share.first; k < share.last; k++, unit += bytes) {
                int32_t state = next_state(tile, gru, (const match_gru_unit_t *)(const void *)unit, input, before,
                                           step > 0 ? memory[k] : 0);
                memory[k] = (int16_t)state;
                output[k] = match_gru_output(tile, gru, state);
            }
        }
        match_team_barrier();
    }
}
