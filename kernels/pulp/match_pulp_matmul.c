#include "match_pulp_matmul.h"

#include <stdbool.h>

#include "match_pulp_dot.h"
#include "match_pulp_words.h"

/* The vectors of a product, each of which has loops of its own. */
typedef enum {
    VECTOR_WORDS, /* two words or more */
    VECTOR_BYTES, /* a word or more, and up to three bytes behind them */
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
        .weights = product->weights + (ptrdiff_t)first * product->length,
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
MATCH_INLINE int32_t requantize(const match_finish_t *given, const uint8_t *parameters, int32_t acc, match_form_t form,
                                bool begun)
{
    match_finish_t finish = {.clip_high = given->clip_high};
    if (form == MATCH_FORM_32) {
        return match_requantize_32(&finish, match_parameters_32(parameters), acc);
    }
    if (form == MATCH_FORM_SPLIT) {
        match_requant_split_t p = match_parameters_split(parameters);
        p.addend = begun ? 0 : p.addend;
        return match_requantize_split(p, acc);
    }
    match_requant_split_signed_t p = match_parameters_split_signed(parameters);
    p.split.addend = begun ? 0 : p.split.addend;
    return match_requantize_split_signed(p, acc);
}

/* Requantize `channels` channels of `pixels` pixels in a fast form. A channel's parameters are loaded once; four outputs
 * are stored as one. */
MATCH_INLINE void store_outputs(const match_finish_t *finish, place_t *place, const match_block_t *block, int channels, int pixels,
                                match_form_t form, bool begun)
{
    int32_t y[MATCH_BLOCK_PIXELS][MATCH_BLOCK_CHANNELS];
#pragma GCC unroll 4
    for (int i = 0; i < channels; i++) {
#pragma GCC unroll 2
        for (int j = 0; j < pixels; j++) {
            y[j][i] = requantize(finish, place->parameters, block->acc[i][j], form, begun);
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
    if (vector == VECTOR_WORDS) {
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

/* The blocks of four channels of one pixel or two, behind which `place` is then. Sums begin with their addends, where the
 * form has some and they are not partial: that takes no longer than to begin with 0. */
MATCH_INLINE void fast_pixels(const match_finish_t *finish, int32_t length, int32_t blocks, place_t *place, int pixels,
                              match_form_t form, vector_t vector, way_t way)
{
    match_product_t vectors = {.length = length};
    bool begun = way == SUMS_WHOLE && vector != VECTOR_SHORT;
    sums_t sums = {0};
    if (way != SUMS_WHOLE) {
        sums = sums_of(finish, place, pixels);
    }
    for (; blocks > 0; blocks--) {
        match_block_t block;
        match_begin_t addends = {place->parameters,
                                 begun && form != MATCH_FORM_32 ? (int)match_parameter_bytes(form) : 0};
        multiply(&vectors, place, &block, MATCH_BLOCK_CHANNELS, pixels, addends, vector);
        if (way != SUMS_WHOLE && sums.in[0] != NULL) {
            take_up(&sums, &block, MATCH_BLOCK_CHANNELS, pixels);
        }
        if (way == SUMS_LEFT) {
            leave(&sums, &block, MATCH_BLOCK_CHANNELS, pixels);
            place->output[0] += MATCH_BLOCK_CHANNELS;
            place->output[1] += MATCH_BLOCK_CHANNELS;
        } else {
            store_outputs(finish, place, &block, MATCH_BLOCK_CHANNELS, pixels, form, begun);
        }
    }
}

/* What is needed once for each pixel or two. */
typedef struct {
    int32_t pixels; /* left */
    int32_t blocks;
    ptrdiff_t x_step;
    ptrdiff_t output_step; /* from behind the outputs */
    const int8_t *weights;
    const uint8_t *parameters;
} kept_t;

/* It stays in memory: the blocks need all registers, which compilers would store and load for it. */
#define MATCH_IN_MEMORY(kept) __asm__("" : "+m"(kept))

/* The fours of channels of all pixels. Each form and kind of vectors is a function of its own, as the compiler shares
 * out registers by function: what is live in these loops just fits them. */
MATCH_INLINE void fast(const match_finish_t *given, const match_product_t *product, match_form_t form, vector_t vector,
                       way_t way)
{
    match_finish_t finish = *given;
    place_t place = place_of(&finish, product, product->first, form);
    int32_t length = product->length;
    kept_t kept = {
        .pixels = product->pixels,
        .blocks = (product->last - product->first) >> 2,
        .x_step = 2 * product->x_step,
        .weights = place.weights,
        .parameters = place.parameters,
    };
    kept.output_step = 2 * product->output_step - 4 * kept.blocks;
    if (vector != VECTOR_SHORT && kept.pixels >= 2) {
        do {
            MATCH_IN_MEMORY(kept);
            fast_pixels(&finish, length, kept.blocks, &place, 2, form, vector, way);
            MATCH_IN_MEMORY(kept);
#pragma GCC unroll 2
            for (int j = 0; j < MATCH_BLOCK_PIXELS; j++) {
                place.x[j] += kept.x_step;
                place.output[j] += kept.output_step;
            }
            place.weights = kept.weights;
            place.parameters = kept.parameters;
            kept.pixels -= 2;
        } while (kept.pixels >= 2);
    }
    for (; kept.pixels > 0; kept.pixels--) {
        place_t one = place;
        fast_pixels(&finish, length, kept.blocks, &one, 1, form, vector, way);
        move_on(product, &place, 1);
    }
}

/* The last channels, fewer than four, of all pixels, by twos and ones. */
MATCH_INLINE void last_channels(const match_finish_t *finish, const match_product_t *product, int32_t first,
                                match_form_t form)
{
    int32_t channels = product->last - first;
    place_t place = place_of(finish, product, first, form);
    for (int32_t pixel = 0; pixel < product->pixels; pixel++) {
        place_t at = place;
        if (channels >= 2) {
            match_block_t block;
            multiply(product, &at, &block, 2, 1, MATCH_FROM_0, VECTOR_BYTES);
            store_outputs(finish, &at, &block, 2, 1, form, false);
        }
        if (channels & 1) {
            match_block_t block;
            multiply(product, &at, &block, 1, 1, MATCH_FROM_0, VECTOR_BYTES);
            store_outputs(finish, &at, &block, 1, 1, form, false);
        }
        move_on(product, &place, 1);
    }
}

#define MATCH_FOURS(name, loops, form, vector, way) \
    static __attribute__((noinline)) void name(const match_finish_t *finish, const match_product_t *product) \
    { \
        loops(finish, product, form, vector, way); \
    }
#define MATCH_LAST(name, form) \
    static __attribute__((noinline)) void name(const match_finish_t *finish, const match_product_t *product, \
                                               int32_t first) \
    { \
        last_channels(finish, product, first, form); \
    }

#if defined(MATCH_PULP_INSN)

MATCH_INLINE void fast_words(const match_finish_t *finish, const match_product_t *product, match_form_t form,
                             vector_t vector, way_t way)
{
    (void)vector;
    (void)way;
    match_words_product(finish, product, form);
}

#else
#define fast_words fast
#endif

/* The loops of a form. */
#define MATCH_LOOPS(name, form) \
    MATCH_FOURS(words_##name, fast_words, form, VECTOR_WORDS, SUMS_WHOLE) \
    MATCH_FOURS(bytes_##name, fast, form, VECTOR_BYTES, SUMS_WHOLE) \
    MATCH_FOURS(short_##name, fast, form, VECTOR_SHORT, SUMS_RESUMED) \
    MATCH_FOURS(resumed_##name, fast, form, VECTOR_BYTES, SUMS_RESUMED) \
    MATCH_LAST(last_##name, form)
#define MATCH_LOOPS_OF(name) {words_##name, bytes_##name, short_##name, resumed_##name, last_##name}

MATCH_LOOPS(32, MATCH_FORM_32)
MATCH_LOOPS(split, MATCH_FORM_SPLIT)
MATCH_LOOPS(split_signed, MATCH_FORM_SPLIT_SIGNED)
MATCH_FOURS(left, fast, MATCH_FORM_32, VECTOR_BYTES, SUMS_LEFT)
MATCH_FOURS(short_left, fast, MATCH_FORM_32, VECTOR_SHORT, SUMS_LEFT)

const match_loops_t match_loops_32[] = {MATCH_LOOPS_OF(32)};
const match_loops_t match_loops_split[] = {MATCH_LOOPS_OF(split), MATCH_LOOPS_OF(split_signed)};

/* Take 1 off outputs of a block whose accumulators are exceptions. */
static __attribute__((noinline)) void look_up(const match_finish_t *finish, const place_t *place, int32_t channel,
                                              const match_block_t *block, int channels, int pixels)
{
    for (int i = 0; i < channels; i++) {
        match_exceptions_t exceptions = match_exceptions_of(finish, channel + i);
        for (int j = 0; j < pixels; j++) {
            uint8_t *output = &place->output[j][i];
            *output = (uint8_t)(*output - match_is_exception(exceptions, block->acc[i][j]));
        }
    }
}

/* A block, whose first channel is number `channel`, becomes outputs or partial sums, of any form. */
static __attribute__((noinline)) void finish_block(const match_finish_t *finish, place_t *place, int32_t channel,
                                                   match_block_t *block, int channels, int pixels)
{
    sums_t sums = sums_of(finish, place, pixels);
    if (finish->sums_in != NULL) {
        take_up(&sums, block, channels, pixels);
    }
    if (finish->sums_out != NULL) {
        leave(&sums, block, channels, pixels);
    } else {
        for (int i = 0; i < channels; i++) {
            const uint8_t *parameters = place->parameters + i * match_parameter_bytes(finish->form);
            for (int j = 0; j < pixels; j++) {
                place->output[j][i] = match_requantize_with(finish, parameters, block->acc[i][j]);
            }
        }
        if (finish->excepted != NULL && !match_is_corrected(finish->form)) {
            look_up(finish, place, channel, block, channels, pixels);
        }
    }
    place->parameters += channels * match_parameter_bytes(finish->form);
    for (int j = 0; j < pixels; j++) {
        place->output[j] += channels;
    }
}

/* All channels from `first` on of one pixel or two, by blocks in memory. */
MATCH_INLINE void other_pixels(const match_finish_t *finish, const match_product_t *product, place_t place,
                               int32_t first, int pixels, vector_t vector)
{
    int32_t last = product->last;
    for (; last - first >= MATCH_BLOCK_CHANNELS; first += MATCH_BLOCK_CHANNELS) {
        match_block_t block;
        multiply(product, &place, &block, MATCH_BLOCK_CHANNELS, pixels, MATCH_FROM_0, vector);
        finish_block(finish, &place, first, &block, MATCH_BLOCK_CHANNELS, pixels);
    }
    for (int j = 0; j < pixels; j++) {
        place_t one = {{place.x[j]}, place.weights, place.parameters, {place.output[j]}};
        for (int32_t channel = first; channel < last; channel++) {
            match_block_t block;
            multiply(product, &one, &block, 1, 1, MATCH_FROM_0, vector);
            finish_block(finish, &one, channel, &block, 1, 1);
        }
    }
}

/* The channels from `first` on, in any form. */
static __attribute__((noinline)) void other(const match_finish_t *finish, const match_product_t *product, int32_t first)
{
    place_t place = place_of(finish, product, first, finish->form);
    int32_t pixels = product->pixels;
    for (; pixels >= 2; pixels -= 2) {
        other_pixels(finish, product, place, first, 2, VECTOR_BYTES);
        move_on(product, &place, 2);
    }
    if (pixels > 0) {
        other_pixels(finish, product, place, first, 1, VECTOR_BYTES);
    }
}

/* The same of vectors too short for words, of one pixel after the other: there is little that two could share. */
static __attribute__((noinline)) void other_short(const match_finish_t *finish, const match_product_t *product,
                                                  int32_t first)
{
    place_t place = place_of(finish, product, first, finish->form);
    for (int32_t pixels = product->pixels; pixels > 0; pixels--) {
        other_pixels(finish, product, place, first, 1, VECTOR_SHORT);
        move_on(product, &place, 1);
    }
}

void match_pulp_choose_loops(const match_finish_t *finish, const match_loops_t *loops, match_product_t *product)
{
    bool few = product->length < 4;
    bool words = product->length % 4 == 0 && product->length >= 8;
    const match_loops_t *form = finish->form == MATCH_FORM_SPLIT_SIGNED ? loops + 1 : loops;
    product->rest = few ? other_short : other;
    if (finish->sums_out != NULL) {
        product->fours = few ? short_left : left;
    } else if (finish->form < MATCH_FORM_SPLIT) {
        product->fours = NULL;
    } else if (finish->sums_in != NULL) {
        product->fours = few ? form->few : form->resumed;
    } else {
        product->fours = few ? form->few : words ? form->words : form->bytes;
        product->rest = few ? other_short : form->last;
    }
}

/* The outputs of a channel that are those of an exception, and few are: only their accumulators are computed again. */
static __attribute__((noinline)) void correct_outputs(const match_finish_t *finish, const match_product_t *product, int32_t k,
                                                      int32_t exception)
{
    const int8_t *weights = product->weights + (ptrdiff_t)k * product->length;
    const uint8_t *x = product->x;
    uint8_t *output = product->output + k;
    ptrdiff_t x_step = product->x_step;
    ptrdiff_t output_step = product->output_step;
    uint8_t value = match_requantize_with(finish, match_parameters_of(finish, finish->form, k), exception);
    for (int32_t left = product->pixels; left > 0; left--, x += x_step, output += output_step) {
        if (*output == value) {
            int32_t before = finish->sums_in != NULL ? finish->sums_in[output - finish->output] : 0;
            if (before + match_dot(x, weights, product->length) == exception) {
                *output = (uint8_t)(value - 1);
            }
        }
    }
}

void match_pulp_correct(const match_finish_t *finish, const match_product_t *product)
{
    const uint16_t *excepted = finish->excepted;
    int32_t last = product->last;
    for (int32_t channel = product->first; channel < last; channel++) {
        if (excepted[channel] != 0) {
            match_exceptions_t exceptions = match_exceptions_of(finish, channel);
            for (const int32_t *one = exceptions.first; one < exceptions.end; one++) {
                correct_outputs(finish, product, channel, *one);
            }
        }
    }
}
