/* The inner loops of convolutions and dense layers. */
#ifndef MATCH_PULP_MATMUL_H
#define MATCH_PULP_MATMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match_pulp_requantize.h"

/* Output channels first .. last - 1 of pixels at equal distances. A pixel's activations are a vector of rows * length
 * bytes, as is each channel's row of weights; these lie one behind the other, while the rows of a vector may have gaps
 * between them. There is more than one row only with a multiple of four channels, of 4 bytes, and match_is_fast(). */
typedef struct {
    const uint8_t *x;      /* the first pixel's vector */
    ptrdiff_t x_step;      /* bytes from one pixel's vector to the next one's */
    int32_t rows;          /* of a vector, */
    int32_t length;        /* their bytes, */
    ptrdiff_t row_step;    /* and how far they lie apart */
    const int8_t *weights; /* of channel 0 */
    int32_t first;
    int32_t last;
    uint8_t *output;       /* channel 0 of the first pixel */
    ptrdiff_t output_step; /* bytes from one pixel to the next */
    int32_t pixels;
} match_product_t;

/* Whether outputs are requantized in one of the forms with loops of their own, and no sums are partial. */
static inline bool match_is_fast(const match_finish_t *finish)
{
    return finish->form >= MATCH_FORM_HIGH && finish->sums_in == NULL && finish->sums_out == NULL;
}

/* These outputs, requantized or as partial sums. */
void match_pulp_matmul(const match_finish_t *finish, const match_product_t *product);

#endif
