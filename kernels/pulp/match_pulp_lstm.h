/* What the kernels of LSTM layers of 8 and 16 bits have in common. */
#ifndef MATCH_PULP_LSTM_H
#define MATCH_PULP_LSTM_H

#include <stddef.h>
#include <stdint.h>

#include "match_pulp_dot.h"
#include "match_pulp_gates.h"
#include "match_pulp_share.h"
#include "match_pulp_simd.h"
#include "match_team.h"

enum { MATCH_LSTM_INPUT, MATCH_LSTM_FORGET, MATCH_LSTM_OUTPUT, MATCH_LSTM_CELL, MATCH_LSTM_GATES };

/* Sums of four rows of weights, one behind the other, and a vector of `length` elements; returns the weights behind
 * them. */
typedef const int8_t *(*match_lstm_sums_t)(const uint8_t *vector, const int8_t *weights, int32_t length,
                                           match_block_t *block);

/* The gates of a unit from an input and the states of the step before, NULL where there is none. */
MATCH_INLINE void match_lstm_gates(const match_tile_t *tile, const match_lstm_t *lstm, const match_lstm_unit_t *unit,
                                   const uint8_t *input, const uint8_t *states, match_lstm_sums_t sums_of,
                                   int32_t gates[MATCH_LSTM_GATES])
{
    match_block_t block;
    const int8_t *weights = sums_of(input, unit->weights, tile->channels_in, &block);
#pragma GCC unroll 4
    for (int32_t gate = 0; gate < MATCH_LSTM_GATES; gate++) {
        gates[gate] = match_narrow(match_scaled(block.acc[gate][0] + unit->inputs[gate], &lstm->inputs[gate]));
    }
    if (states == NULL) {
        return;
    }
    (void)sums_of(states, weights, tile->channels_out, &block);
#pragma GCC unroll 4
    for (int32_t gate = 0; gate < MATCH_LSTM_GATES; gate++) {
        int32_t sum = match_narrow(match_scaled(block.acc[gate][0] + unit->states[gate], &lstm->states[gate]));
        gates[gate] = match_narrow(gates[gate] + sum);
    }
}

/* A unit's cell after a step. */
static inline int32_t match_lstm_cell(const match_lstm_t *lstm, const int32_t gates[MATCH_LSTM_GATES], int32_t cell)
{
    int32_t forget = match_logistic_of(lstm->logistic, gates[MATCH_LSTM_FORGET]);
    int32_t kept = match_narrow(match_rounded_shift((forget * cell + 1) >> 1, 14, 1 << 13));
    int32_t let_in = match_logistic_of(lstm->logistic, gates[MATCH_LSTM_INPUT]);
    int32_t fresh = match_tanh_of(lstm->logistic, 3 * gates[MATCH_LSTM_CELL]);
    int32_t added = match_narrow(match_scaled(let_in * fresh, &lstm->added));
    int32_t limit = lstm->cell_limit;
    return match_smaller(match_larger(match_narrow(kept + added), -limit - (limit == INT16_MAX)), limit);
}

/* What it shows of it. */
static inline int32_t match_lstm_state(const match_tile_t *tile, const match_lstm_t *lstm,
                                       const int32_t gates[MATCH_LSTM_GATES], int32_t cell)
{
    int32_t half = (int32_t)((uint32_t)1 << lstm->cell_right >> 1);
    int32_t x = ((int32_t)((uint32_t)(3 * cell) << lstm->cell_left) + half) >> lstm->cell_right;
    int32_t let_out = match_logistic_of(lstm->logistic, gates[MATCH_LSTM_OUTPUT]);
    int32_t state = match_scaled(match_tanh_of(lstm->logistic, x) * let_out, &lstm->shown) + lstm->zero;
    return match_smaller(match_larger(state, tile->clip_low), tile->clip_high);
}

/* All steps of a layer whose activations and weights have `bytes` bytes, 1 or 2. */
MATCH_INLINE void match_lstm(const match_tile_t *tile, match_lstm_sums_t sums_of, int32_t bytes)
{
    const match_lstm_t *lstm = tile->parameters;
    int32_t count = tile->channels_out;
    int32_t unit_bytes = (int32_t)sizeof(match_lstm_unit_t) + bytes * MATCH_LSTM_GATES * (tile->channels_in + count);
    match_share_t share = match_share(count);
    for (int32_t step = 0; step < tile->output_height; step++) {
        int16_t *cells = tile->scratch;
        for (int32_t sequence = 0; sequence < tile->output_width; sequence++, cells += count) {
            const uint8_t *input = tile->input + bytes * (step * tile->input_row_stride +
                                                          sequence * tile->input_pixel_stride);
            uint8_t *output = tile->output + bytes * (step * tile->output_row_stride +
                                                      sequence * tile->output_pixel_stride);
            const uint8_t *states = step > 0 ? output - bytes * tile->output_row_stride : NULL;
            const uint8_t *unit = (const uint8_t *)tile->weights + share.first * unit_bytes;
            for (int32_t k = share.first; k < share.last; k++, unit += unit_bytes) {
                int32_t gates[MATCH_LSTM_GATES];
                match_lstm_gates(tile, lstm, (const match_lstm_unit_t *)(const void *)unit, input, states, sums_of,
                                 gates);
                int32_t cell = match_lstm_cell(lstm, gates, step > 0 ? cells[k] : 0);
                cells[k] = (int16_t)cell;
                int32_t state = match_lstm_state(tile, lstm, gates, cell);
                if (bytes == 1) {
                    output[k] = (uint8_t)state;
                } else {
                    ((int16_t *)(void *)output)[k] = (int16_t)state;
                }
            }
        }
        match_team_barrier();
    }
}

#endif
