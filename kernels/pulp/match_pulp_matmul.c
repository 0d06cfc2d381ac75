#include "match_pulp_matmul.h"

#include <stdbool.h>

#include "match_pulp_dot.h"

/* A matrix product: what all of its blocks share, and where the next block begins. */
typedef struct {
    match_finish_t finish;
    int32_t length;
    const uint8_t *x[MATCH_BLOCK_PIXELS];
    const int8_t *weights;
    const uint8_t *parameters;
    uint8_t *output[MATCH_BLOCK_PIXELS];
} product_t;

/* What is rare: partial sums to take up or to leave, and requantization in 64 bits. */
static __attribute__((noinline)) void store_rare(const product_t *product, const match_block_t *block, int channels,
                                                 int pixels)
{
    const match_finish_t *finish = &product->finish;
    ptrdiff_t bytes = match_parameter_bytes(finish->form);
    for (int j = 0; j < pixels; j++) {
        ptrdiff_t place = product->output[j] - finish->output;
        for (int i = 0; i < channels; i++) {
            int32_t acc = block->acc[i][j] + (finish->sums_in != NULL ? finish->sums_in[place + i] : 0);
            if (finish->sums_out != NULL) {
                finish->sums_out[place + i] = acc;
            } else {
                product->output[j][i] = match_requantize_with(finish, product->parameters + i * bytes, acc);
            }
        }
    }
}

/* A block in memory, so that it can be passed on; its accumulators stay in registers where it is not. */
MATCH_INLINE match_block_t copy_of(const match_block_t *block, int channels, int pixels)
{
    match_block_t copy = {0};
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            copy.acc[i][j] = block->acc[i][j];
        }
    }
    return copy;
}

/* Requantize a block. A channel's parameters are loaded once. */
MATCH_INLINE void store_outputs(const product_t *product, const match_block_t *block, int channels, int pixels,
                                match_form_t form)
{
    const uint8_t *parameters = product->parameters;
    MATCH_HOLD(parameters);
    match_finish_t finish = product->finish;
    MATCH_HOLD(finish.clip_high);
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++, parameters += match_parameter_bytes(form)) {
        if (form == MATCH_FORM_32) {
            match_requant32_t p = match_parameters_32(parameters);
#pragma GCC unroll 2
            for (int j = 0; j < pixels; j++) {
                product->output[j][i] = (uint8_t)match_requantize_32(&finish, p, block->acc[i][j]);
            }
        } else if (form == MATCH_FORM_HIGH) {
            match_requant_high_t p = match_parameters_high(parameters);
#pragma GCC unroll 2
            for (int j = 0; j < pixels; j++) {
                product->output[j][i] = (uint8_t)match_requantize_high(&finish, p, block->acc[i][j]);
            }
        } else {
            match_requant_high_signed_t p = match_parameters_high_signed(parameters);
#pragma GCC unroll 2
            for (int j = 0; j < pixels; j++) {
                product->output[j][i] = (uint8_t)match_requantize_high_signed(&finish, p, block->acc[i][j]);
            }
        }
    }
}

/* `count` blocks of `channels` channels. */
MATCH_INLINE void blocks(product_t *product, int32_t count, int channels, int pixels, match_form_t form, bool rare)
{
    for (; count > 0; count--) {
        match_block_t block = match_dot_block(product->x, product->weights, product->length, channels, pixels);
        if (rare) {
            match_block_t copy = copy_of(&block, channels, pixels);
            product_t place = *product;
            store_rare(&place, &copy, channels, pixels);
        } else {
            store_outputs(product, &block, channels, pixels, form);
        }
        product->weights += (ptrdiff_t)channels * product->length;
        product->parameters += channels * match_parameter_bytes(form);
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            product->output[j] += channels;
        }
    }
}

MATCH_INLINE void rows(const product_t *given, int32_t channels, int pixels, match_form_t form, bool rare)
{
    product_t product = *given;
    blocks(&product, channels / MATCH_BLOCK_CHANNELS, MATCH_BLOCK_CHANNELS, pixels, form, rare);
    blocks(&product, channels % MATCH_BLOCK_CHANNELS, 1, pixels, form, rare);
}

/* Vectors too short for words. */
static void short_rows(const product_t *given, int32_t channels, int pixels)
{
    product_t product = *given;
    for (int32_t k = 0; k < channels; k++) {
        match_block_t block;
        for (int j = 0; j < pixels; j++) {
            block.acc[0][j] = match_short_dot(product.x[j], product.weights, product.length);
        }
        store_rare(&product, &block, 1, pixels);
        product.weights += product.length;
        product.parameters += match_parameter_bytes(product.finish.form);
        for (int j = 0; j < pixels; j++) {
            product.output[j]++;
        }
    }
}

/* Each form in loops of its own: what is live in them just fits the registers. */
MATCH_INLINE void all_rows(const product_t *product, int32_t channels, int pixels)
{
    const match_finish_t *finish = &product->finish;
    if (product->length < 4) {
        short_rows(product, channels, pixels);
    } else if (finish->sums_in != NULL || finish->sums_out != NULL) {
        rows(product, channels, pixels, finish->form, true);
    } else if (finish->form == MATCH_FORM_32) {
        rows(product, channels, pixels, MATCH_FORM_32, false);
    } else if (finish->form == MATCH_FORM_HIGH) {
        rows(product, channels, pixels, MATCH_FORM_HIGH, false);
    } else if (finish->form == MATCH_FORM_HIGH_SIGNED) {
        rows(product, channels, pixels, MATCH_FORM_HIGH_SIGNED, false);
    } else {
        rows(product, channels, pixels, finish->form, true);
    }
}

void match_pulp_matmul_pixel(const match_finish_t *finish, const uint8_t *activations, const int8_t *weights,
                             int32_t length, int32_t first, int32_t last, uint8_t *output)
{
    product_t product = {
        .finish = *finish,
        .length = length,
        .x = {activations, activations},
        .weights = weights + (ptrdiff_t)first * length,
        .parameters = match_parameters_of(finish, finish->form, first),
        .output = {output + first, output + first},
    };
    all_rows(&product, last - first, 1);
}

void match_pulp_matmul_pixels(const match_finish_t *finish, const uint8_t *const activations[2], const int8_t *weights,
                              int32_t length, int32_t channels, uint8_t *const output[2])
{
    product_t product = {
        .finish = *finish,
        .length = length,
        .x = {activations[0], activations[1]},
        .weights = weights,
        .parameters = finish->parameters,
        .output = {output[0], output[1]},
    };
    all_rows(&product, channels, MATCH_BLOCK_PIXELS);
}
