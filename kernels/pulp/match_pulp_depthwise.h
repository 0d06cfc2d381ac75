/* The depthwise convolution of the filters that most networks have. */
#ifndef MATCH_PULP_DEPTHWISE_H
#define MATCH_PULP_DEPTHWISE_H

#include <stdbool.h>

#include "match_pulp_requantize.h"

/* Whether match_pulp_depthwise_3x3 computes the tile: a filter of 3x3 without holes, row stride 1 or 2. */
bool match_pulp_is_depthwise_3x3(const match_tile_t *tile);

/* Channels first .. last - 1. It needs no scratch. */
void match_pulp_depthwise_3x3(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last);

#endif
