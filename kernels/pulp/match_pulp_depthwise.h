/* The depthwise convolution of the filters that most networks have. */
#ifndef MATCH_PULP_DEPTHWISE_H
#define MATCH_PULP_DEPTHWISE_H

#include <stdbool.h>

#include "match_pulp_requantize.h"

/* Whether match_pulp_depthwise_3x3 computes the tile: a filter of 3x3 without holes at stride 1 or 2. */
bool match_pulp_is_depthwise_3x3(const match_tile_t *tile);

/* Strips first .. last - 1 of the tile, in the order that suits the instructions: two columns of outputs of a channel each,
 * one at the end of an odd number. It needs no scratch. */
void match_pulp_depthwise_3x3(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last);

#if defined(MATCH_PULP_INSN)

/* The same for filters of 5x5, in strips of one column; others take them as any filter. */
bool match_pulp_is_depthwise_5x5(const match_tile_t *tile);
void match_pulp_depthwise_5x5(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last);

#endif

#endif
