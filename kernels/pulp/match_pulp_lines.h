/* Operators of two inputs whose accumulator is a line of the first input's byte, once the second input's byte is known. Where
 * that is the same for many elements, as it has one pixel or one channel for all, a line is made once for these. */
#ifndef MATCH_PULP_LINES_H
#define MATCH_PULP_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "match_pulp_requantize.h"
#include "match_tile.h"

/* The accumulator of bytes x and b: x * (both * b + input) + addend * b + constant. */
typedef struct {
    int32_t both;
    int32_t input;
    int32_t addend;
    int32_t constant;
} match_bilinear_t;

/* Whether match_lines computes such a tile. */
bool match_are_lines(const match_tile_t *tile, const match_finish_t *finish);

/* This core's share of the outputs. */
void match_lines(const match_tile_t *tile, const match_finish_t *finish, const match_bilinear_t *sum);

/* The same of products, `both` of which is 1, by lines of the first input's byte less its zero point, -`addend`: their slope
 * is that of the second input's byte, less its zero point, times the multiplier of match_requant32_t, rounded without the
 * lowest 16 bits. */
void match_rounded_lines(const match_tile_t *tile, const match_finish_t *finish, const match_bilinear_t *sum);

#endif
