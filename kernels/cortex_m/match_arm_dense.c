#include "match_arm_columns.h"
#include "match_arm_dot.h"
#include "match_arm_finish.h"

static void dense(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    int32_t length = (tile->channels_in + 3) & ~3;
    const int8_t *weights = tile->weights;
    match_arm_widen(tile->scratch, 1, tile->input, tile->channels_in);
    for (int32_t k = 0; k < tile->channels_out; k += 2, weights += 2 * length) {
        int32_t sums[2] = {match_arm_addend(&finish, k), match_arm_addend(&finish, k + 1)};
        match_arm_dot_1(tile->scratch, weights, weights + 2 * length, sums);
        for (int32_t i = 0; i < 2 && k + i < tile->channels_out; i++) {
            if (finish.form == MATCH_ARM_WORDS && finish.bytes) {
                const match_arm_requant_t *p = match_arm_parameters(&finish, k + i);
                tile->output[k + i] = match_arm_byte(*p, sums[i]);
            } else {
                match_arm_finish(&finish, k + i, sums + i, &tile->output, 1);
            }
        }
    }
}

void match_arm_dense(const match_tile_t *tile)
{
    dense(tile, MATCH_ARM_WORDS);
}

void match_arm_dense_long(const match_tile_t *tile)
{
    dense(tile, MATCH_ARM_LONG);
}
