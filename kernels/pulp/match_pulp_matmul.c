#include "match_pulp_matmul.h"

#include <stdbool.h>

#include "match_pulp_dot.h"

/* A matrix product: what all of its blocks share. */
typedef struct {
    match_finish_t finish;
    const int8_t *weights;
    int32_t length;
    const uint8_t *x[MATCH_BLOCK_PIXELS];
    uint8_t *output[MATCH_BLOCK_PIXELS];
} product_t;

/* What is rare: partial sums to take up or to leave, and shifts below 32. */
static __attribute__((noinline)) void store_rare(const product_t *product, const match_block_t *block, int32_t k,
                                                 int channels, int pixels)
{
    const match_finish_t *finish = &product->finish;
    for (int j = 0; j < pixels; j++) {
        ptrdiff_t place = product->output[j] - finish->output + k;
        for (int i = 0; i < channels; i++) {
            int32_t acc = block->acc[i][j] + (finish->sums_in != NULL ? finish->sums_in[place + i] : 0);
            if (finish->sums_out != NULL) {
                finish->sums_out[place + i] = acc;
            } else {
                product->output[j][k + i] = match_requantize(finish, k + i, acc);
            }
        }
    }
}

/* Whether the shifts of a block's channels all take the upper half. */
MATCH_INLINE bool shifts_are_high(const match_finish_t *finish, int32_t k, int channels, match_form_t form)
{
    int32_t bits = MATCH_HIGH_SHIFT;
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
        bits &= form == MATCH_FORM_64 ? MATCH_PARAMETER(finish, match_requant_t, k + i, shift)
                                      : MATCH_PARAMETER(finish, match_requant_signed_t, k + i, shift);
    }
    return bits != 0;
}

/* Requantize the block of channel k. A channel's parameters are loaded once. */
MATCH_INLINE void store_outputs(const product_t *product, const match_block_t *block, int32_t k, int channels,
                                int pixels, match_form_t form)
{
    const match_finish_t *finish = &product->finish;
    if (form != MATCH_FORM_32 && !shifts_are_high(finish, k, channels, form)) {
        match_block_t copy = *block;
        store_rare(product, &copy, k, channels, pixels);
        return;
    }
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
        if (form == MATCH_FORM_32) {
            match_requant32_t p = match_parameters_32(finish, k + i);
#pragma GCC unroll 2
            for (int j = 0; j < pixels; j++) {
                product->output[j][k + i] = match_requantize_32(finish, p, block->acc[i][j]);
            }
        } else if (form == MATCH_FORM_64) {
            match_requant_t p = match_parameters_64(finish, k + i);
#pragma GCC unroll 2
            for (int j = 0; j < pixels; j++) {
                int64_t sum = match_sum_64(p, block->acc[i][j]);
                product->output[j][k + i] = match_shift_and_clip_high(finish, sum, p.shift);
            }
        } else {
            match_requant_signed_t p = match_parameters_64_signed(finish, k + i);
#pragma GCC unroll 2
            for (int j = 0; j < pixels; j++) {
                int64_t sum = match_sum_64_signed(finish, p, block->acc[i][j]);
                product->output[j][k + i] = match_shift_and_clip_high(finish, sum, p.shift);
            }
        }
    }
}

/* All of channels first .. last - 1, `channels` at a time; the first that is left. */
MATCH_INLINE int32_t blocks(const product_t *product, int32_t first, int32_t last, int channels, int pixels,
                            match_form_t form, bool partial)
{
    const int8_t *weights = product->weights + (ptrdiff_t)first * product->length;
    int32_t k = first;
    for (; k + channels <= last; k += channels) {
        match_block_t block = match_dot_block(product->x, weights, product->length, channels, pixels);
        if (partial) {
            match_block_t copy = block;
            store_rare(product, &copy, k, channels, pixels);
        } else {
            store_outputs(product, &block, k, channels, pixels, form);
        }
        weights += (ptrdiff_t)channels * product->length;
    }
    return k;
}

MATCH_INLINE void rows(const product_t *given, int32_t first, int32_t last, int pixels, match_form_t form, bool partial)
{
    product_t product = *given;
    int32_t k = blocks(&product, first, last, MATCH_BLOCK_CHANNELS, pixels, form, partial);
    blocks(&product, k, last, 1, pixels, form, partial);
}

/* Vectors too short for words. */
static void short_rows(const product_t *product, int32_t first, int32_t last, int pixels)
{
    for (int32_t k = first; k < last; k++) {
        const int8_t *weights = product->weights + (ptrdiff_t)k * product->length;
        match_block_t block;
        for (int j = 0; j < pixels; j++) {
            block.acc[0][j] = match_short_dot(product->x[j], weights, product->length);
        }
        store_rare(product, &block, k, 1, pixels);
    }
}

/* Each form in loops of its own: what is live in them just fits the registers. */
MATCH_INLINE void all_rows(const product_t *product, int32_t first, int32_t last, int pixels)
{
    const match_finish_t *finish = &product->finish;
    if (product->length < 4) {
        short_rows(product, first, last, pixels);
    } else if (finish->sums_in != NULL || finish->sums_out != NULL) {
        rows(product, first, last, pixels, finish->form, true);
    } else if (finish->form == MATCH_FORM_32) {
        rows(product, first, last, pixels, MATCH_FORM_32, false);
    } else if (finish->form == MATCH_FORM_64) {
        rows(product, first, last, pixels, MATCH_FORM_64, false);
    } else {
        rows(product, first, last, pixels, MATCH_FORM_64_SIGNED, false);
    }
}

void match_pulp_matmul_pixel(const match_finish_t *finish, const uint8_t *activations, const int8_t *weights,
                             int32_t length, int32_t first, int32_t last, uint8_t *output)
{
    product_t product = {*finish, weights, length, {activations, activations}, {output, output}};
    all_rows(&product, first, last, 1);
}

void match_pulp_matmul_pixels(const match_finish_t *finish, const uint8_t *const activations[2], const int8_t *weights,
                              int32_t length, int32_t channels, uint8_t *const output[2])
{
    product_t product = {*finish, weights, length, {activations[0], activations[1]}, {output[0], output[1]}};
    all_rows(&product, 0, channels, MATCH_BLOCK_PIXELS);
}
