#include "match_pulp.h"
#include "match_pulp_dot.h"
#include "match_pulp_gates.h"
#include "match_pulp_pixel.h"
#include "match_pulp_share.h"
#include "match_team.h"

enum { INPUT_GATE, FORGET_GATE, OUTPUT_GATE, CELL_GATE, GATES };

/* Sums of four rows of weights, one behind the other, and a vector; the weights behind them. */
static __attribute__((noinline)) const int8_t *sums_of(const uint8_t *vector, const int8_t *weights, int32_t length,
                                                       match_block_t *block)
{
    const uint8_t *const x[] = {vector};
    if (length < 4) {
        return match_dot_short(x, weights, length, GATES, 1, block);
    }
    return match_dot_bytes(x, weights, length, GATES, 1, MATCH_FROM_0, block);
}

/* The gates of a unit from an input and the states of the step before, NULL where there is none. */
static inline void gates_of(const match_tile_t *tile, const match_lstm_t *lstm, const match_lstm_unit_t *unit,
                            const uint8_t *input, const uint8_t *states, int32_t gates[GATES])
{
    match_block_t block;
    const int8_t *weights = sums_of(input, unit->weights, tile->channels_in, &block);
#pragma GCC unroll 4
    for (int32_t gate = 0; gate < GATES; gate++) {
        gates[gate] = match_narrow(match_scaled(block.acc[gate][0] + unit->inputs[gate], &lstm->inputs[gate]));
    }
    if (states == NULL) {
        return;
    }
    (void)sums_of(states, weights, tile->channels_out, &block);
#pragma GCC unroll 4
    for (int32_t gate = 0; gate < GATES; gate++) {
        int32_t sum = match_narrow(match_scaled(block.acc[gate][0] + unit->states[gate], &lstm->states[gate]));
        gates[gate] = match_narrow(gates[gate] + sum);
    }
}

/* A unit's cell after a step. */
static inline int32_t next_cell(const match_lstm_t *lstm, const int32_t gates[GATES], int32_t cell)
{
    int32_t forget = match_logistic_of(lstm->logistic, gates[FORGET_GATE]);
    int32_t kept = match_narrow(match_rounded_shift((forget * cell + 1) >> 1, 14, 1 << 13));
    int32_t let_in = match_logistic_of(lstm->logistic, gates[INPUT_GATE]);
    int32_t fresh = match_tanh_of(lstm->logistic, 3 * gates[CELL_GATE]);
    int32_t added = match_narrow(match_scaled(let_in * fresh, &lstm->added));
    int32_t limit = lstm->cell_limit;
    return match_smaller(match_larger(match_narrow(kept + added), -limit - (limit == INT16_MAX)), limit);
}

/* What it shows of it. */
static inline int32_t state_of(const match_lstm_t *lstm, const int32_t gates[GATES], int32_t cell)
{
    int32_t half = (int32_t)((uint32_t)1 << lstm->cell_right >> 1);
    int32_t x = ((int32_t)((uint32_t)(3 * cell) << lstm->cell_left) + half) >> lstm->cell_right;
    int32_t let_out = match_logistic_of(lstm->logistic, gates[OUTPUT_GATE]);
    return match_scaled(match_tanh_of(lstm->logistic, x) * let_out, &lstm->shown) + lstm->zero;
}

void match_pulp_lstm(const match_tile_t *tile)
{
    const match_lstm_t *lstm = tile->parameters;
    int32_t count = tile->channels_out;
    int32_t bytes = (int32_t)sizeof(match_lstm_unit_t) + GATES * (tile->channels_in + count);
    match_share_t share = match_share(count);
    for (int32_t step = 0; step < tile->output_height; step++) {
        int16_t *cells = tile->scratch;
        for (int32_t sequence = 0; sequence < tile->output_width; sequence++, cells += count) {
            const uint8_t *input = match_input_pixel(tile, step, sequence);
            const uint8_t *states = step > 0 ? match_output_pixel(tile, step - 1, sequence) : NULL;
            uint8_t *output = match_output_pixel(tile, step, sequence);
            const uint8_t *unit = (const uint8_t *)tile->weights + share.first * bytes;
            for (int32_t k = share.first; k < share.last; k++, unit += bytes) {
                int32_t gates[GATES];
                gates_of(tile, lstm, (const match_lstm_unit_t *)(const void *)unit, input, states, gates);
                int32_t cell = next_cell(lstm, gates, step > 0 ? cells[k] : 0);
                cells[k] = (int16_t)cell;
                int32_t state = state_of(lstm, gates, cell);
                output[k] = (uint8_t)match_smaller(match_larger(state, tile->clip_low), tile->clip_high);
            }
        }
        match_team_barrier();
    }
}
