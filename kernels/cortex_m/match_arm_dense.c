#include "match_arm_dot.h"
#include "match_arm_finish.h"

enum { CHANNELS = 4 };

/* The bytes of a last word, with zeros behind them. */
static uint32_t last_word(const uint8_t *bytes, int32_t count)
{
    uint32_t word = 0;
    for (int32_t i = 0; i < count; i++) {
        word |= (uint32_t)bytes[i] << 8 * i;
    }
    return word;
}

/* Two blocks of weights at a time, the same one twice where it is the last. */
static void dense(const match_tile_t *tile, match_arm_form_t form)
{
    match_arm_finish_t finish = match_arm_finish_of(tile, form);
    int32_t whole = tile->channels_in & ~3;
    int32_t block = 2 * ((tile->channels_in + 3) & ~3);
    const int8_t *weights = tile->weights;
    uint32_t last = last_word(tile->input + whole, tile->channels_in - whole);
    for (int32_t k = 0; k < tile->channels_out; k += CHANNELS, weights += 2 * block) {
        int32_t count = tile->channels_out - k < CHANNELS ? tile->channels_out - k : CHANNELS;
        const int8_t *others = weights + (count > 2 ? block : 0);
        int32_t sums[CHANNELS] = {0};
        for (int32_t i = 0; i < count; i++) {
            sums[i] = match_arm_addend(&finish, k + i);
        }
        if (whole > 0) {
            match_arm_dot_bytes(tile->input, weights, others, tile->input + whole, sums);
        }
        if (whole < tile->channels_in) {
            match_arm_add_four(last, weights + 2 * whole, sums);
            match_arm_add_four(last, others + 2 * whole, sums + 2);
        }
        for (int32_t i = 0; i < count; i++) {
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
