#include "match_pulp_lstm.h"

#include "match_pulp.h"

/* Of bytes. */
static __attribute__((noinline)) const int8_t *sums_of(const uint8_t *vector, const int8_t *weights, int32_t length,
                                                       match_block_t *block)
{
    const uint8_t *const x[] = {vector};
    if (length < 4) {
        return match_dot_short(x, weights, length, MATCH_LSTM_GATES, 1, block);
    }
    return match_dot_bytes(x, weights, length, MATCH_LSTM_GATES, 1, MATCH_FROM_0, block);
}

void match_pulp_lstm(const match_tile_t *tile)
{
    match_lstm(tile, sums_of, 1);
}
