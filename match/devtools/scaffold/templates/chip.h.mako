/* ${title}: the kernels that generated code starts on tiles. */
#ifndef ${name.upper()}_H
#define ${name.upper()}_H

#include "match_tile.h"

/* A convolution of any filter, stride and padding. */
void match_${name}_conv2d(const match_tile_t *tile);
% if scratchpad:

/* The sum of two maps. */
void match_${name}_add(const match_tile_t *tile);
% endif

#endif
