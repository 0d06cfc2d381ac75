#include "match_pulp.h"
#include "match_pulp_dot_int16.h"
#include "match_pulp_lstm.h"

/* Of elements of two bytes. */
static __attribute__((noinline)) const int8_t *sums_of(const uint8_t *vector, const int8_t *weights, int32_t length,
                                                       match_block_t *block)
{
    const match_half_t *rows = (const match_half_t *)(const void *)weights;
    int32_t accs[MATCH_LSTM_GATES] = {0};
    match_add_to_four(accs, (const match_half_t *)(const void *)vector, rows, length, length);
#pragma GCC unroll 4
    for (int32_t gate = 0; gate < MATCH_LSTM_GATES; gate++) {
        block->acc[gate][0] = accs[gate];
    }
    return (const int8_t *)(rows + MATCH_LSTM_GATES * length);
}

void match_pulp_lstm_int16(const match_tile_t *tile)
{
    match_lstm(tile, sums_of, (int32_t)sizeof(match_half_t));
}
