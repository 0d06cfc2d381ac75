/* Minichip: the kernels that generated code starts on tiles. */
#ifndef MINICHIP_H
#define MINICHIP_H

#include "match_tile.h"

/* A convolution of any filter, stride and padding. */
void match_minichip_conv2d(const match_tile_t *tile);

/* The sum of two maps. */
void match_minichip_add(const match_tile_t *tile);

#endif
