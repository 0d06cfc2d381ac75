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

/* What becomes of a block's sums. */
typedef enum {
    SUMS_FAST,    /* requantized in one of the fast forms, which have loops of their own */
    SUMS_RESUMED, /* the same on top of partial ones */
    SUMS_LEFT,    /* left as they are, on top of partial ones or not */
    SUMS_RARE,    /* requantized in any form, on top of partial ones or not */
} way_t;

/* Where the partial sums lie that the next block adds its own to, or NULL, and where it leaves them. */
typedef struct {
    const int32_t *in[MATCH_BLOCK_PIXELS];
    int32_t *out[MATCH_BLOCK_PIXELS];
} sums_t;

static inline sums_t sums_of(const product_t *product, int pixels)
{
    const match_finish_t *finish = &product->finish;
    sums_t sums = {0};
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
        ptrdiff_t place = product->output[j] - finish->output;
        sums.in[j] = finish->sums_in != NULL ? finish->sums_in + place : NULL;
        sums.out[j] = finish->sums_out != NULL ? finish->sums_out + place : NULL;
    }
    return sums;
}

/* Add the partial sums to a block's. */
MATCH_INLINE void take_up(sums_t *sums, match_block_t *block, int channels, int pixels)
{
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
#pragma GCC unroll 4
        for (int i = 0; i < channels; i++) {
            block->acc[i][j] += sums->in[j][i];
        }
        sums->in[j] += channels;
    }
}

/* Leave a block's sums. */
MATCH_INLINE void store_sums(sums_t *sums, const match_block_t *block, int channels, int pixels)
{
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
#pragma GCC unroll 4
        for (int i = 0; i < channels; i++) {
            sums->out[j][i] = block->acc[i][j];
        }
        sums->out[j] += channels;
    }
}

/* Requantize a block in any form. */
static __attribute__((noinline)) void store_rare(const product_t *product, const match_block_t *block, int channels,
                                                 int pixels)
{
    const match_finish_t *finish = &product->finish;
    ptrdiff_t bytes = match_parameter_bytes(finish->form);
    for (int j = 0; j < pixels; j++) {
        for (int i = 0; i < channels; i++) {
            const uint8_t *parameters = product->parameters + i * bytes;
            product->output[j][i] = match_requantize_with(finish, parameters, block->acc[i][j]);
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

/* `count` blocks of `channels` channels, whose vectors have words or are too short for one. */
MATCH_INLINE void blocks(product_t *product, sums_t *sums, int32_t count, int channels, int pixels, match_form_t form,
                         way_t way, bool words)
{
    for (; count > 0; count--) {
        const int8_t *w = product->weights;
        match_block_t block = words ? match_dot_block(product->x, w, product->length, channels, pixels)
                                    : match_short_dot_block(product->x, w, product->length, channels, pixels);
        if (way != SUMS_FAST && sums->in[0] != NULL) {
            take_up(sums, &block, channels, pixels);
        }
        if (way == SUMS_LEFT) {
            store_sums(sums, &block, channels, pixels);
        } else if (way == SUMS_RARE) {
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

MATCH_INLINE void rows(const product_t *given, sums_t *sums, int32_t channels, int pixels, match_form_t form, way_t way,
                       bool words)
{
    product_t product = *given;
    blocks(&product, sums, channels / MATCH_BLOCK_CHANNELS, MATCH_BLOCK_CHANNELS, pixels, form, way, words);
    blocks(&product, sums, channels % MATCH_BLOCK_CHANNELS, 1, pixels, form, way, words);
}

/* Any form and sums, of vectors that have words or are too short for them. */
MATCH_INLINE void any_rows(const product_t *product, int32_t channels, int pixels, bool words)
{
    match_form_t form = product->finish.form;
    sums_t sums = sums_of(product, pixels);
    if (product->finish.sums_out != NULL) {
        rows(product, &sums, channels, pixels, form, SUMS_LEFT, words);
    } else if (form == MATCH_FORM_32) {
        rows(product, &sums, channels, pixels, MATCH_FORM_32, SUMS_RESUMED, words);
    } else if (form == MATCH_FORM_HIGH) {
        rows(product, &sums, channels, pixels, MATCH_FORM_HIGH, SUMS_RESUMED, words);
    } else if (form == MATCH_FORM_HIGH_SIGNED) {
        rows(product, &sums, channels, pixels, MATCH_FORM_HIGH_SIGNED, SUMS_RESUMED, words);
    } else {
        rows(product, &sums, channels, pixels, form, SUMS_RARE, words);
    }
}

/* Vectors too short for words, of one pixel after the other: there is little that two of them could share. */
static __attribute__((noinline)) void short_rows(const product_t *product, int32_t channels, int pixels)
{
    product_t pixel = *product;
    for (int j = 0; j < pixels; j++) {
        pixel.x[0] = product->x[j];
        pixel.output[0] = product->output[j];
        any_rows(&pixel, channels, 1, false);
    }
}

static __attribute__((noinline)) void other_pixel(const product_t *product, int32_t channels)
{
    any_rows(product, channels, 1, true);
}

static __attribute__((noinline)) void other_pixels(const product_t *product, int32_t channels)
{
    any_rows(product, channels, MATCH_BLOCK_PIXELS, true);
}

/* All but the fast forms by themselves. */
MATCH_INLINE void other_rows(const product_t *product, int32_t channels, int pixels)
{
    if (product->length < 4) {
        short_rows(product, channels, pixels);
    } else {
        (pixels == 1 ? other_pixel : other_pixels)(product, channels);
    }
}

/* Each fast form in loops of its own: what is live in them just fits the registers. All others are in other functions,
 * as the compiler shares out registers by function. */
MATCH_INLINE void all_rows(const product_t *product, int32_t channels, int pixels)
{
    const match_finish_t *finish = &product->finish;
    if (product->length < 4 || finish->sums_in != NULL || finish->sums_out != NULL) {
        other_rows(product, channels, pixels);
    } else if (finish->form == MATCH_FORM_32) {
        rows(product, NULL, channels, pixels, MATCH_FORM_32, SUMS_FAST, true);
    } else if (finish->form == MATCH_FORM_HIGH) {
        rows(product, NULL, channels, pixels, MATCH_FORM_HIGH, SUMS_FAST, true);
    } else if (finish->form == MATCH_FORM_HIGH_SIGNED) {
        rows(product, NULL, channels, pixels, MATCH_FORM_HIGH_SIGNED, SUMS_FAST, true);
    } else {
        other_rows(product, channels, pixels);
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
