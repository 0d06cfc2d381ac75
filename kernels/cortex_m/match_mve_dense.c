#include "match_mve_columns.h"
#include "match_mve_dot.h"
#include "match_mve_finish.h"

static void dense(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    int32_t length = match_mve_rounded(tile->channels_in);
    const int8_t *weights = tile->weights;
    for (int32_t k = 0; k < tile->channels_out; k += MATCH_MVE_CHANNELS, weights += MATCH_MVE_CHANNELS * length) {
        int32_t sums[MATCH_MVE_CHANNELS];
        match_mve_dot_bytes(tile->input, weights, tile->channels_in, sums);
        match_mve_finish(&finish, k, tile->channels_out, sums, 0, &tile->output, 1);
    }
}

void match_mve_dense(const match_tile_t *tile)
{
    dense(tile, MATCH_ARM_WORDS);
}

void match_mve_dense_long(const match_tile_t *tile)
{
    dense(tile, MATCH_ARM_LONG);
}
