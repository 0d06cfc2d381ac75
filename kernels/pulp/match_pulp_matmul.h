/* The inner loops of convolutions and dense layers. */
#ifndef MATCH_PULP_MATMUL_H
#define MATCH_PULP_MATMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_pulp_requantize.h"

typedef struct match_product match_product_t;

/* Loops that compute outputs of a product: of all its fours of channels, and of those from number `first` on. */
typedef void match_fours_t(const match_finish_t *finish, const match_product_t *product);
typedef void match_rest_t(const match_finish_t *finish, const match_product_t *product, int32_t first);

/* Output channels first .. last - 1 of pixels at equal distances. A pixel's activations are a vector of `length` bytes, as
 * is each channel's row of weights; these lie one behind the other. */
struct match_product {
    const uint8_t *x;      /* the first pixel's vector */
    ptrdiff_t x_step;      /* bytes from one pixel's vector to the next one's */
    int32_t length;        /* of a vector */
    const int8_t *weights; /* of channel 0 */
    int32_t first;
    int32_t last;
    uint8_t *output;       /* channel 0 of the first pixel */
    ptrdiff_t output_step; /* bytes from one pixel to the next */
    int32_t pixels;
    match_fours_t *fours;  /* NULL where the other loops compute them, too */
    match_rest_t *rest;
};

/* The loops of a form by vectors: of whole words, of other bytes, of fewer bytes than a word has, and of any for sums that
 * go on from others; and those of the last channels, fewer than four. */
typedef struct {
    match_fours_t *words;
    match_fours_t *bytes;
    match_fours_t *few;
    match_fours_t *resumed;
    match_rest_t *last;
} match_loops_t;

/* Those of MATCH_FORM_32, and of MATCH_FORM_SPLIT and MATCH_FORM_SPLIT_SIGNED; other forms have none. A kernel names the ones of its forms, so that a linker leaves out those that no kernel of a program needs. */
extern const match_loops_t match_loops_32[1];
extern const match_loops_t match_loops_split[2];

/* Choose the loops for vectors of the product's length. */
void match_pulp_choose_loops(const match_finish_t *finish, const match_loops_t *loops, match_product_t *product);

/* Whether exceptions of a form are corrected behind its loops; others look each accumulator up, as it is in memory. */
static inline bool match_is_corrected(match_form_t form)
{
    return form >= MATCH_FORM_SPLIT;
}

/* Take 1 off outputs whose accumulators are exceptions. */
void match_pulp_correct(const match_finish_t *finish, const match_product_t *product);

/* The product's outputs, requantized or as partial sums. */
static inline void match_pulp_matmul(const match_finish_t *finish, const match_product_t *product)
{
    int32_t first = product->first;
    int32_t fours = (product->last - first) & ~3;
    if (fours > 0 && product->fours != NULL) {
        product->fours(finish, product);
        first += fours;
    }
    if (first < product->last) {
        product->rest(finish, product, first);
    }
    if (finish->excepted != NULL && finish->sums_out == NULL && match_is_corrected(finish->form)) {
        match_pulp_correct(finish, product);
    }
}

#endif
