#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_gru.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_team.h"

/* Sums of two rows of weights, one behind the other, and a vector: those of the update and the reset gate. */
static __attribute__((noinline)) void two_sums_of(const uint8_t *vector, const int8_t *weights, int32_t length,
                                                  int32_t sums[2])
{
    const uint8_t *const x[] = {vector};
    match_block_t pair;
    if (length < 4) {
        match_dot_short(x, weights, length, 2, 1, &pair);
    } else {
        match_dot_bytes(x, weights, length, 2, 1, MATCH_FROM_0, &pair);
    }
    sums[MATCH_GRU_UPDATE] = pair.acc[0][0];
    sums[MATCH_GRU_RESET] = pair.acc[1][0];
}

/* That of the third row, the candidate's. */
static __attribute__((noinline)) int32_t third_sum_of(const uint8_t *vector, const int8_t *weights, int32_t length)
{
    const uint8_t *const x[] = {vector};
    match_block_t one;
    weights += MATCH_GRU_CANDIDATE * length;
    if (length < 4) {
        match_dot_short(x, weights, length, 1, 1, &one);
    } else {
        match_dot_bytes(x, weights, length, 1, 1, MATCH_FROM_0, &one);
    }
    return one.acc[0][0];
}

/* Of a sequence in a step: the vector of inputs, the outputs of the step before, NULL in the first, and by unit the
 * states with 16 bits, the update gates, and what the reset gates leave of the states. */
typedef struct {
    const uint8_t *input;
    const uint8_t *before;
    int16_t *memory;
    uint16_t *keep;
    uint8_t *left;
} match_step_t;

static inline match_step_t step_of(const match_tile_t *tile, int32_t step, int32_t sequence)
{
    int32_t units = tile->channels_out;
    int32_t all = tile->output_width * units;
    int16_t *states = tile->scratch;
    return (match_step_t){
        .input = match_input_pixel(tile, step, sequence),
        .before = step > 0 ? match_output_pixel(tile, step - 1, sequence) : NULL,
        .memory = states + sequence * units,
        .keep = (uint16_t *)states + all + sequence * units,
        .left = (uint8_t *)(states + 2 * all) + sequence * units,
    };
}

/* Update and reset gate of a unit. */
static inline void gates_of(const match_tile_t *tile, const match_gru_t *gru, const match_gru_unit_t *unit,
                            const match_step_t *now, int32_t k)
{
    int32_t sums[2];
    int32_t gates[2];
    two_sums_of(now->input, unit->weights, tile->channels_in, sums);
#pragma GCC unroll 2
    for (int32_t gate = 0; gate < 2; gate++) {
        gates[gate] = match_scaled(sums[gate] + unit->inputs[gate], &gru->inputs[gate]);
    }
    if (now->before != NULL) {
        two_sums_of(now->before, unit->weights + match_gru_bytes(tile->channels_in), tile->channels_out, sums);
#pragma GCC unroll 2
        for (int32_t gate = 0; gate < 2; gate++) {
            gates[gate] += match_scaled(sums[gate] + unit->states[gate], &gru->states[gate]);
        }
        int32_t reset = match_logistic_of(gru->logistic, match_narrow(gates[MATCH_GRU_RESET]));
        now->left[k] = match_gru_output(tile, gru, match_gru_of_one(reset * now->memory[k]));
    }
    now->keep[k] = (uint16_t)match_logistic_of(gru->logistic, match_narrow(gates[MATCH_GRU_UPDATE]));
}

/* A unit's state, once the gates of all units are there. */
static inline int32_t next_state(const match_tile_t *tile, const match_gru_t *gru, const match_gru_unit_t *unit,
                                 const match_step_t *now, int32_t k)
{
    int32_t sum = third_sum_of(now->input, unit->weights, tile->channels_in);
    int32_t candidate = match_scaled(sum + unit->inputs[MATCH_GRU_CANDIDATE], &gru->inputs[MATCH_GRU_CANDIDATE]) + unit->bias;
    int32_t state = 0;
    if (now->before != NULL) {
        sum = third_sum_of(now->left, unit->weights + match_gru_bytes(tile->channels_in), tile->channels_out);
        candidate += match_scaled(sum + unit->states[MATCH_GRU_CANDIDATE], &gru->states[MATCH_GRU_CANDIDATE]);
        state = now->memory[k];
    }
    return match_gru_state(gru, candidate, now->keep[k], state);
}

void match_pulp_gru_reset_first(const match_tile_t *tile)
{
    const match_gru_t *gru = tile->parameters;
    int32_t bytes = (int32_t)sizeof(match_gru_unit_t) + match_gru_bytes(tile->channels_in) + match_gru_bytes(tile->channels_out);
    match_share_t share = match_share(tile->channels_out);
    const uint8_t *first = (const uint8_t *)tile->weights + share.first * bytes;
    for (int32_t step = 0; step < tile->output_height; step++) {
        for (int32_t sequence = 0; sequence < tile->output_width; sequence++) {
            match_step_t now = step_of(tile, step, sequence);
            const uint8_t *unit = first;
            for (int32_t k = share.first; k < share.last; k++, unit += bytes) {
                gates_of(tile, gru, (const match_gru_unit_t *)(const void *)unit, &now, k);
            }
        }
        match_team_barrier();
        for (int32_t sequence = 0; sequence < tile->output_width; sequence++) {
            match_step_t now = step_of(tile, step, sequence);
            uint8_t *output = match_output_pixel(tile, step, sequence);
            const uint8_t *unit = first;
            for (int32_t k = share.first; k < share.last; k++, unit += bytes) {
                int32_t state = next_state(tile, gru, (const match_gru_unit_t *)(const void *)unit, &now, k);
                now.memory[k] = (int16_t)state;
                output[k] = match_gru_output(tile, gru, state);
            }
        }
        match_team_barrier();
    }
}
