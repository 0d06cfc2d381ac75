/* 3x3 filters that move down a channel, row after row. With dot products of words, a row of what they see is one word,
 * and two outputs beside each other share it. In portable C bytes stay apart, each in a register, and of the rows above
 * there are only the sums of their products. */
#ifndef MATCH_PULP_WINDOW_H
#define MATCH_PULP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "match_pulp_dot.h"

#if defined(MATCH_PULP_SIMD)

/* Outputs beside each other, at a stride of 1. */
enum { MATCH_NEIGHBOURS = 2 };

/* A row of what the neighbours see: byte i is column i. */
typedef match_bytes4_t match_row_t;

/* A filter by rows, as each of the neighbours sees it. */
typedef struct {
    match_bytes4_t left[3];
    match_bytes4_t right[3];
} match_filter_t;

/* The last three rows passed, which all neighbours see. */
typedef struct {
    match_row_t rows[3];
} match_window_t;

static inline match_row_t match_row_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return match_pack4(a, b, c, d);
}

/* The same byte everywhere. */
static inline match_row_t match_even_row(int32_t value)
{
    return (uint8_t)value * 0x01010101u;
}

/* Set all bits of a column, or none, in a row that has none. */
static inline void match_set_column(match_row_t *row, int column, bool set)
{
    *row |= set ? (match_bytes4_t)0xff << 8 * column : 0;
}

static inline match_row_t match_row_and(match_row_t a, match_row_t b)
{
    return a & b;
}

static inline match_row_t match_row_or(match_row_t a, match_row_t b)
{
    return a | b;
}

static inline match_row_t match_row_not(match_row_t row)
{
    return ~row;
}

static inline match_filter_t match_filter_of(const uint8_t *weights)
{
    match_filter_t filter;
    match_bytes4_t low = match_load4(weights);
    match_bytes4_t high = match_load4(weights + 4);
    filter.left[0] = low & 0xffffff;
    filter.left[1] = low >> 24 | (high & 0xffff) << 8;
    filter.left[2] = high >> 16 | (uint32_t)weights[8] << 16;
    for (int i = 0; i < 3; i++) {
        filter.right[i] = filter.left[i] << 8;
    }
    return filter;
}

/* Move down by the row that follows. */
MATCH_INLINE void match_pass(match_window_t *window, const match_filter_t *filter, match_row_t row)
{
    (void)filter;
    window->rows[0] = window->rows[1];
    window->rows[1] = window->rows[2];
    window->rows[2] = row;
}

/* Accumulator of one of the neighbours, where the filter is now. */
MATCH_INLINE int32_t match_window_sum(const match_window_t *window, const match_filter_t *filter, int neighbour)
{
    const match_bytes4_t *weights = neighbour > 0 ? filter->right : filter->left;
    int32_t acc = match_first_dot4(window->rows[0], weights[0]);
    return match_dot4(window->rows[2], weights[2], match_dot4(window->rows[1], weights[1], acc));
}

#else

enum { MATCH_NEIGHBOURS = 1 };

typedef struct {
    uint32_t bytes[3];
} match_row_t;

typedef struct {
    int32_t rows[3][3];
} match_filter_t;

/* Sums over the rows passed: of the window that the last row ends, of the one that has its last row to come, and of the
 * one that has two rows to come. */
typedef struct {
    int32_t sums[3];
} match_window_t;

static inline match_row_t match_row_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    (void)d;
    return (match_row_t){{a, b, c}};
}

static inline match_row_t match_even_row(int32_t value)
{
    uint8_t byte = (uint8_t)value;
    return match_row_of(byte, byte, byte, byte);
}

static inline void match_set_column(match_row_t *row, int column, bool set)
{
    row->bytes[column] = set ? 0xff : 0;
}

static inline match_row_t match_row_and(match_row_t a, match_row_t b)
{
    return (match_row_t){{a.bytes[0] & b.bytes[0], a.bytes[1] & b.bytes[1], a.bytes[2] & b.bytes[2]}};
}

static inline match_row_t match_row_or(match_row_t a, match_row_t b)
{
    return (match_row_t){{a.bytes[0] | b.bytes[0], a.bytes[1] | b.bytes[1], a.bytes[2] | b.bytes[2]}};
}

static inline match_row_t match_row_not(match_row_t row)
{
    return (match_row_t){{~row.bytes[0], ~row.bytes[1], ~row.bytes[2]}};
}

static inline match_filter_t match_filter_of(const uint8_t *weights)
{
    match_filter_t filter;
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++) {
        filter.rows[i / 3][i % 3] = (int8_t)weights[i];
    }
    return filter;
}

MATCH_INLINE int32_t match_row_sum(int32_t acc, match_row_t row, const int32_t weights[3])
{
    return acc + (int32_t)row.bytes[0] * weights[0] + (int32_t)row.bytes[1] * weights[1] +
           (int32_t)row.bytes[2] * weights[2];
}

MATCH_INLINE void match_pass(match_window_t *window, const match_filter_t *filter, match_row_t row)
{
    window->sums[0] = match_row_sum(window->sums[1], row, filter->rows[2]);
    window->sums[1] = match_row_sum(window->sums[2], row, filter->rows[1]);
    window->sums[2] = match_row_sum(0, row, filter->rows[0]);
}

MATCH_INLINE int32_t match_window_sum(const match_window_t *window, const match_filter_t *filter, int neighbour)
{
    (void)filter;
    (void)neighbour;
    return window->sums[0];
}

#endif

#endif
