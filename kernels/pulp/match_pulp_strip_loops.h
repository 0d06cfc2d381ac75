/* The loops over strips of a filter whose file has defined strip_t, its record, and STRIP_1 and STRIP_2, the assembly for
 * strides of 1 and 2, of which each kind of sums has one. */
#ifndef MATCH_PULP_STRIP_LOOPS_H
#define MATCH_PULP_STRIP_LOOPS_H

#include "match_pulp_strip.h"

#define RUN(text) __asm__ volatile(text : "+r"(record) : : MATCH_STRIP_CLOBBERS)

/* Compute what the record says. */
MATCH_INLINE void run(strip_t *strip, int32_t stride, match_strip_kind_t kind)
{
    register strip_t *record __asm__("a0") = strip;
    if (stride == 1) {
        if (kind == MATCH_STRIP_32) {
            RUN(STRIP_1(32));
        } else if (kind == MATCH_STRIP_SPLIT) {
            RUN(STRIP_1(SPLIT));
        } else {
            RUN(STRIP_1(SUMS));
        }
    } else if (kind == MATCH_STRIP_32) {
        RUN(STRIP_2(32));
    } else if (kind == MATCH_STRIP_SPLIT) {
        RUN(STRIP_2(SPLIT));
    } else {
        RUN(STRIP_2(SUMS));
    }
}

/* Strips first .. last - 1: the first one of all channels, then the second one. Of the filter's own file. */
MATCH_INLINE void strips(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last,
                         int32_t stride, match_strip_kind_t kind);

/* The same by stride and form. */
MATCH_INLINE void strips_of_tile(const match_tile_t *tile, const match_finish_t *finish, int32_t first, int32_t last)
{
    match_strip_kind_t kind = match_strip_kind(finish->form);
    bool one = tile->stride_y == 1;
    if (kind == MATCH_STRIP_32) {
        if (one) {
            strips(tile, finish, first, last, 1, MATCH_STRIP_32);
        } else {
            strips(tile, finish, first, last, 2, MATCH_STRIP_32);
        }
    } else if (kind == MATCH_STRIP_SPLIT) {
        if (one) {
            strips(tile, finish, first, last, 1, MATCH_STRIP_SPLIT);
        } else {
            strips(tile, finish, first, last, 2, MATCH_STRIP_SPLIT);
        }
    } else if (one) {
        strips(tile, finish, first, last, 1, MATCH_STRIP_SUMS);
    } else {
        strips(tile, finish, first, last, 2, MATCH_STRIP_SUMS);
    }
}

#endif
