/* The inner loops of convolutions and dense layers. */
#ifndef MATCH_PULP_MATMUL_H
#define MATCH_PULP_MATMUL_H

#include <stdint.h>

#include "match_pulp_requantize.h"

/* Output channels first .. last - 1 of one pixel, requantized or as partial sums: the pixel's activations are a vector
 * of `length` bytes, as are the rows of `weights`, of which the first is that of channel 0. */
void match_pulp_matmul_pixel(const match_finish_t *finish, const uint8_t *activations, const int8_t *weights,
                             int32_t length, int32_t first, int32_t last, uint8_t *output);

/* All output channels 0 .. channels - 1 of two pixels at once, whose vectors share each load of weights. */
void match_pulp_matmul_pixels(const match_finish_t *finish, const uint8_t *const activations[2], const int8_t *weights,
                              int32_t length, int32_t channels, uint8_t *const output[2]);

#endif
