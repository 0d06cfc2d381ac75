#include "match_pulp_matmul.h"

#include <stdbool.h>

#include "match_pulp_dot.h"

/* The vectors of a product, each of which has loops of its own. */
typedef enum {
    VECTOR_WORDS, /* words without gaps */
    VECTOR_BYTES, /* words and up to three bytes behind them */
    VECTOR_ROWS,  /* rows of words */
    VECTOR_SHORT, /* fewer bytes than a word has */
} vector_t;

/* What becomes of the sums of four channels. */
typedef enum {
    SUMS_WHOLE,   /* requantized in a fast form */
    SUMS_RESUMED, /* the same on top of partial ones, if there are some */
    SUMS_LEFT,    /* left as they are, on top of partial ones or not */
} way_t;

/* Where the outputs of one pixel, or of two whose vectors share each load of weights, go on. */
typedef struct {
    const uint8_t *x[MATCH_BLOCK_PIXELS];
    const int8_t *weights;
    const uint8_t *parameters;
    uint8_t *output[MATCH_BLOCK_PIXELS];
} place_t;

/* Begin with a channel at the product's first pixel. */
MATCH_INLINE place_t place_of(const match_finish_t *finish, const match_product_t *product, int32_t first,
                              match_form_t form)
{
    return (place_t){
        .x = {product->x, product->x + product->x_step},
        .weights = product->weights + (ptrdiff_t)first * product->rows * product->length,
        .parameters = match_parameters_of(finish, form, first),
        .output = {product->output + first, product->output + product->output_step + first},
    };
}

/* Move on by pixels. */
MATCH_INLINE void move_on(const match_product_t *product, place_t *place, int pixels)
{
#pragma GCC unroll 2
    for (int j = 0; j < MATCH_BLOCK_PIXELS; j++) {
        place->x[j] += pixels * product->x_step;
        place->output[j] += pixels * product->output_step;
    }
}

/* What a fast form makes of an accumulator, whose addend is in it where it has `begun`. */
MATCH_INLINE int32_t requantize(int32_t clip_high, const uint8_t *parameters, int32_t acc, match_form_t form, bool begun)
{
    match_finish_t finish = {.clip_high = clip_high};
    if (form == MATCH_FORM_32) {
        return match_requantize_32(&finish, match_parameters_32(parameters), acc);
    }
    if (form == MATCH_FORM_HIGH) {
        match_requant_high_t p = match_parameters_high(parameters);
        p.addend = begun ? 0 : p.addend;
        return match_requantize_high(&finish, p, acc);
    }
    match_requant_high_signed_t p = match_parameters_high_signed(parameters);
    p.addend = begun ? 0 : p.addend;
    return match_requantize_high_signed(&finish, p, acc);
}

/* Requantize `channels` channels of `pixels` pixels in a fast form. A channel's parameters are loaded once; four outputs
 * are stored as one. */
MATCH_INLINE void store_outputs(int32_t clip_high, place_t *place, const match_block_t *block, int channels, int pixels,
                                match_form_t form, bool begun)
{
    int32_t y[MATCH_BLOCK_PIXELS][MATCH_BLOCK_CHANNELS];
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            y[j][i] = requantize(clip_high, place->parameters, block->acc[i][j], form, begun);
        }
        place->parameters += match_parameter_bytes(form);
    }
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
        if (channels == MATCH_BLOCK_CHANNELS) {
            match_store_bytes4(&place->output[j], y[j]);
        } else {
#pragma GCC unroll 2
            for (int i = 0; i < channels; i++) {
                *place->output[j]++ = (uint8_t)y[j][i];
            }
        }
    }
}

/* The accumulators of a block, behind which the weights go on. */
MATCH_INLINE void multiply(const match_product_t *product, place_t *place, match_block_t *block, int channels,
                           int pixels, match_begin_t begin, vector_t vector)
{
    int32_t length = product->length;
    if (vector == VECTOR_ROWS) {
        match_runs_t runs = {length, product->rows, product->row_step};
        place->weights = match_dot_rows(place->x, place->weights, &runs, pixels, begin, block);
    } else if (vector == VECTOR_WORDS) {
        place->weights = match_dot_words(place->x, place->weights, length, channels, pixels, begin, block);
    } else if (vector == VECTOR_BYTES) {
        place->weights = match_dot_bytes(place->x, place->weights, length, channels, pixels, begin, block);
    } else {
        place->weights = match_dot_short(place->x, place->weights, length, channels, pixels, block);
    }
}

/* Where the partial sums lie that a block goes on from, or NULL, and where it leaves its own. */
typedef struct {
    const int32_t *in[MATCH_BLOCK_PIXELS];
    int32_t *out[MATCH_BLOCK_PIXELS];
} sums_t;

MATCH_INLINE sums_t sums_of(const match_finish_t *finish, const place_t *place, int pixels)
{
    sums_t sums = {0};
#pragma GCC unroll 2
    for (int j = 0; j < pixels; j++) {
        ptrdiff_t at = place->output[j] - finish->output;
        sums.in[j] = finish->sums_in != NULL ? finish->sums_in + at : NULL;
        sums.out[j] = finish->sums_out != NULL ? finish->sums_out + at : NULL;
    }
    return sums;
}

/* A block goes on from partial sums. */
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

/* A block is left as partial sums. */
MATCH_INLINE void leave(sums_t *sums, const match_block_t *block, int channels, int pixels)
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

/* The fours of channels of one pixel or two. Sums begin with their addends, where the form has some and they are not
 * partial: that takes no longer than to begin with 0. */
MATCH_INLINE void fast_pixels(const match_finish_t *finish, const match_product_t *product, int32_t blocks,
                              place_t place, int pixels, match_form_t form, vector_t vector, way_t way)
{
    match_product_t vectors = {.length = product->length, .rows = product->rows, .row_step = product->row_step};
    bool begun = way == SUMS_WHOLE && vector != VECTOR_SHORT;
    sums_t sums = {0};
    if (way != SUMS_WHOLE) {
        sums = sums_of(finish, &place, pixels);
    }
    for (; blocks > 0; blocks--) {
        match_block_t block;
        match_begin_t addends = {place.parameters,
                                 begun && form != MATCH_FORM_32 ? (int)match_parameter_bytes(form) : 0};
        multiply(&vectors, &place, &block, MATCH_BLOCK_CHANNELS, pixels, addends, vector);
        if (way != SUMS_WHOLE && sums.in[0] != NULL) {
            take_up(&sums, &block, MATCH_BLOCK_CHANNELS, pixels);
        }
        if (way == SUMS_LEFT) {
            leave(&sums, &block, MATCH_BLOCK_CHANNELS, pixels);
        } else {
            store_outputs(finish->clip_high, &place, &block, MATCH_BLOCK_CHANNELS, pixels, form, begun);
        }
    }
}

/* The fours of channels of all pixels. Each form and kind of vectors is a function of its own, as the compiler shares
 * out registers by function: what is live in these loops just fits them. */
MATCH_INLINE void fast(const match_finish_t *given, const match_product_t *product, match_form_t form, vector_t vector,
                       way_t way)
{
    match_finish_t finish = *given;
    place_t place = place_of(&finish, product, product->first, form);
    int32_t blocks = (product->last - product->first) >> 2;
    int32_t pixels = product->pixels;
    for (; vector != VECTOR_SHORT && pixels >= 2; pixels -= 2) {
        fast_pixels(&finish, product, blocks, place, 2, form, vector, way);
        move_on(product, &place, 2);
    }
    for (; pixels > 0; pixels--) {
        fast_pixels(&finish, product, blocks, place, 1, form, vector, way);
        move_on(product, &place, 1);
    }
}

/* The last channels, fewer than four, of all pixels, by twos and ones. */
MATCH_INLINE void last_channels(const match_finish_t *finish, const match_product_t *product, match_form_t form,
                                vector_t vector, way_t way)
{
    (void)way;
    int32_t channels = (product->last - product->first) & 3;
    place_t place = place_of(finish, product, product->last - channels, form);
    for (int32_t pixel = 0; pixel < product->pixels; pixel++) {
        place_t at = place;
        if (channels >= 2) {
            match_block_t block;
            multiply(product, &at, &block, 2, 1, MATCH_FROM_0, vector);
            store_outputs(finish->clip_high, &at, &block, 2, 1, form, false);
        }
        if (channels & 1) {
            match_block_t block;
            multiply(product, &at, &block, 1, 1, MATCH_FROM_0, vector);
            store_outputs(finish->clip_high, &at, &block, 1, 1, form, false);
        }
        move_on(product, &place, 1);
    }
}

typedef void part_t(const match_finish_t *finish, const match_product_t *product);

#define MATCH_PART(name, loops, form, vector, way) \
    static __attribute__((noinline)) void name(const match_finish_t *finish, const match_product_t *product) \
    { \
        loops(finish, product, form, vector, way); \
    }

MATCH_PART(words_32, fast, MATCH_FORM_32, VECTOR_WORDS, SUMS_WHOLE)
MATCH_PART(words_high, fast, MATCH_FORM_HIGH, VECTOR_WORDS, SUMS_WHOLE)
MATCH_PART(words_high_signed, fast, MATCH_FORM_HIGH_SIGNED, VECTOR_WORDS, SUMS_WHOLE)
MATCH_PART(bytes_32, fast, MATCH_FORM_32, VECTOR_BYTES, SUMS_WHOLE)
MATCH_PART(bytes_high, fast, MATCH_FORM_HIGH, VECTOR_BYTES, SUMS_WHOLE)
MATCH_PART(bytes_high_signed, fast, MATCH_FORM_HIGH_SIGNED, VECTOR_BYTES, SUMS_WHOLE)
MATCH_PART(rows_32, fast, MATCH_FORM_32, VECTOR_ROWS, SUMS_WHOLE)
MATCH_PART(rows_high, fast, MATCH_FORM_HIGH, VECTOR_ROWS, SUMS_WHOLE)
MATCH_PART(rows_high_signed, fast, MATCH_FORM_HIGH_SIGNED, VECTOR_ROWS, SUMS_WHOLE)
MATCH_PART(short_32, fast, MATCH_FORM_32, VECTOR_SHORT, SUMS_RESUMED)
MATCH_PART(short_high, fast, MATCH_FORM_HIGH, VECTOR_SHORT, SUMS_RESUMED)
MATCH_PART(short_high_signed, fast, MATCH_FORM_HIGH_SIGNED, VECTOR_SHORT, SUMS_RESUMED)
MATCH_PART(resumed_32, fast, MATCH_FORM_32, VECTOR_BYTES, SUMS_RESUMED)
MATCH_PART(resumed_high, fast, MATCH_FORM_HIGH, VECTOR_BYTES, SUMS_RESUMED)
MATCH_PART(resumed_high_signed, fast, MATCH_FORM_HIGH_SIGNED, VECTOR_BYTES, SUMS_RESUMED)
MATCH_PART(left, fast, MATCH_FORM_32, VECTOR_BYTES, SUMS_LEFT)
MATCH_PART(short_left, fast, MATCH_FORM_32, VECTOR_SHORT, SUMS_LEFT)
MATCH_PART(last_32, last_channels, MATCH_FORM_32, VECTOR_BYTES, SUMS_WHOLE)
MATCH_PART(last_high, last_channels, MATCH_FORM_HIGH, VECTOR_BYTES, SUMS_WHOLE)
MATCH_PART(last_high_signed, last_channels, MATCH_FORM_HIGH_SIGNED, VECTOR_BYTES, SUMS_WHOLE)

/* By form, in the order of match_form_t from MATCH_FORM_HIGH on, and by vectors. */
static part_t *const fours[][3] = {
    [VECTOR_WORDS] = {words_high, words_high_signed, words_32},
    [VECTOR_BYTES] = {bytes_high, bytes_high_signed, bytes_32},
    [VECTOR_ROWS] = {rows_high, rows_high_signed, rows_32},
    [VECTOR_SHORT] = {short_high, short_high_signed, short_32},
};
static part_t *const resumed[] = {resumed_high, resumed_high_signed, resumed_32};
static part_t *const lasts[] = {last_high, last_high_signed, last_32};

/* A block becomes outputs or partial sums, of any form. */
static __attribute__((noinline)) void finish_block(const match_finish_t *finish, place_t *place, match_block_t *block,
                                                   int channels, int pixels)
{
    sums_t sums = sums_of(finish, place, pixels);
    if (finish->sums_in != NULL) {
        take_up(&sums, block, channels, pixels);
    }
    if (finish->sums_out != NULL) {
        leave(&sums, block, channels, pixels);
    } else {
        for (int i = 0; i < channels; i++) {
            const uint8_t *parameters = place->parameters + i * match_channel_bytes(finish->exceptions, finish->form);
            for (int j = 0; j < pixels; j++) {
                place->output[j][i] = match_requantize_with(finish, parameters, block->acc[i][j]);
            }
        }
    }
    place->parameters += channels * match_channel_bytes(finish->exceptions, finish->form);
    for (int j = 0; j < pixels; j++) {
        place->output[j] += channels;
    }
}

/* All channels of one pixel or two, by blocks in memory. */
MATCH_INLINE void other_pixels(const match_finish_t *finish, const match_product_t *product, place_t place,
                               int32_t channels, int pixels, vector_t vector)
{
    for (; channels >= MATCH_BLOCK_CHANNELS; channels -= MATCH_BLOCK_CHANNELS) {
        match_block_t block;
        multiply(product, &place, &block, MATCH_BLOCK_CHANNELS, pixels, MATCH_FROM_0, vector);
        finish_block(finish, &place, &block, MATCH_BLOCK_CHANNELS, pixels);
    }
    for (int j = 0; j < pixels; j++) {
        place_t one = {{place.x[j]}, place.weights, place.parameters, {place.output[j]}};
        for (int32_t left = channels; left > 0; left--) {
            match_block_t block;
            multiply(product, &one, &block, 1, 1, MATCH_FROM_0, vector);
            finish_block(finish, &one, &block, 1, 1);
        }
    }
}

/* The channels from `first` on, in any form. */
static __attribute__((noinline)) void other(const match_finish_t *finish, const match_product_t *product, int32_t first)
{
    place_t place = place_of(finish, product, first, finish->form);
    int32_t pixels = product->pixels;
    for (; pixels >= 2; pixels -= 2) {
        other_pixels(finish, product, place, product->last - first, 2, VECTOR_BYTES);
        move_on(product, &place, 2);
    }
    if (pixels > 0) {
        other_pixels(finish, product, place, product->last - first, 1, VECTOR_BYTES);
    }
}

/* The same of vectors too short for words, of one pixel after the other: there is little that two could share. */
static __attribute__((noinline)) void other_short(const match_finish_t *finish, const match_product_t *product,
                                                  int32_t first)
{
    place_t place = place_of(finish, product, first, finish->form);
    for (int32_t pixels = product->pixels; pixels > 0; pixels--) {
        other_pixels(finish, product, place, product->last - first, 1, VECTOR_SHORT);
        move_on(product, &place, 1);
    }
}

static vector_t vector_of(const match_product_t *product)
{
    return product->rows > 1         ? VECTOR_ROWS
           : product->length < 4     ? VECTOR_SHORT
           : product->length % 4 > 0 ? VECTOR_BYTES
                                     : VECTOR_WORDS;
}

/* The loops for the fours of channels; NULL where there are none. */
static part_t *fours_of(const match_finish_t *finish, vector_t vector)
{
    int form = (int)finish->form - (int)MATCH_FORM_HIGH;
    if (finish->sums_out != NULL) {
        return vector == VECTOR_SHORT ? short_left : left;
    }
    if (form < 0) {
        return NULL;
    }
    return finish->sums_in != NULL && vector != VECTOR_SHORT ? resumed[form] : fours[vector][form];
}

void match_pulp_matmul(const match_finish_t *finish, const match_product_t *product)
{
    vector_t vector = vector_of(product);
    part_t *part = fours_of(finish, vector);
    int32_t first = product->first;
    int32_t channels = product->last - first;
    if (part != NULL && channels >= MATCH_BLOCK_CHANNELS) {
        part(finish, product);
        first += channels & ~3;
    }
    if (first == product->last) {
        return;
    }
    if (match_is_fast(finish) && vector != VECTOR_SHORT) {
        lasts[(int)finish->form - (int)MATCH_FORM_HIGH](finish, product);
    } else {
        (vector == VECTOR_SHORT ? other_short : other)(finish, product, first);
    }
}
