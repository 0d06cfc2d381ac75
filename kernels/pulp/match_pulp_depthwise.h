/* What depthwise kernels share, and the kernels of the filters that most networks have. */
#ifndef MATCH_PULP_DEPTHWISE_H
#define MATCH_PULP_DEPTHWISE_H

#include <stdbool.h>

#include "match_pulp_requantize.h"

/* Input rows that the tile's output sees, padding included. */
static inline int32_t match_seen_rows(const match_tile_t *tile)
{
    return (tile->output_height - 1) * tile->stride_y + (tile->filter_height - 1) * tile->dilation_y + 1;
}

/* Bytes of scratch that a core gathers what a column of outputs sees in. */
static inline int32_t match_column_bytes(const match_tile_t *tile)
{
    return (tile->filter_width * match_seen_rows(tile) + 3) & ~3;
}

/* Whether there is a kernel for the tile's filter. */
bool match_pulp_has_depthwise_strips(const match_tile_t *tile);

/* This core's outputs by a kernel for the tile's filter, exceptions aside; false if there is none. */
bool match_pulp_depthwise_in_strips(const match_tile_t *tile, const match_finish_t *finish);

/* This core's outputs for any filter: the windows of a column of outputs are gathered, then multiplied one by one. Columns of
 * one channel follow one another. */
void match_pulp_depthwise_gathered(const match_tile_t *tile, const match_finish_t *finish);

/* When all cores are here, take 1 off the outputs of this core's columns of channels with exceptions that are some. */
void match_pulp_depthwise_correct(const match_tile_t *tile, const match_finish_t *finish);

/* Whether match_pulp_depthwise_3x3 computes the tile: a filter of 3x3 without holes at stride 1 or 2. */
bool match_pulp_is_depthwise_3x3(const match_tile_t *tile);

/* Strips first .. last - 1 of the tile, in the order that suits the instructions: two columns of outputs of a channel each,
 * one at the end of an odd number. It needs no scratch. */
void match_pulp_depthwise_3x3(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last);

#if defined(MATCH_PULP_INSN)

/* The same for filters of 5x5, in strips of one column; others take them as any filter. */
bool match_pulp_is_depthwise_5x5(const match_tile_t *tile);
void match_pulp_depthwise_5x5(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last);

/* The same of maps of at most four columns and few rows, in some forms: this core's channels. */
bool match_pulp_is_depthwise_small_map(const match_tile_t *tile, const match_finish_t *finish);
void match_pulp_depthwise_small_map(const match_tile_t *tile, const match_finish_t *finish);

/* The same of maps of five to eight columns. */
bool match_pulp_is_depthwise_two_words(const match_tile_t *tile, const match_finish_t *finish);
void match_pulp_depthwise_two_words(const match_tile_t *tile, const match_finish_t *finish);

#endif

#endif
