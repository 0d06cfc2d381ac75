/* The inner loops of convolutions and dense layers: dot products of weight rows with vectors of activations. */
#ifndef MATCH_PULP_MATMUL_H
#define MATCH_PULP_MATMUL_H

#include <stdint.h>

#include "match_tile.h"

/* acc = sum of activations[i] * weights[i], i < length. */
int32_t match_pulp_dot(const uint8_t *activations, const int8_t *weights, int32_t length);

/* Output channels first .. last - 1 of one pixel, requantized or as partial sums: the pixel's activations are a vector
 * of `length` bytes, as are the rows of tile->weights. */
void match_pulp_matmul_pixel(const match_tile_t *tile, const uint8_t *activations, int32_t length, int32_t first,
                             int32_t last, uint8_t *output);

/* The same for two pixels at once, whose vectors share each load of weights. */
void match_pulp_matmul_pixels(const match_tile_t *tile, const uint8_t *const activations[2], int32_t length,
                              int32_t first, int32_t last, uint8_t *const output[2]);

#endif
