/* Sums of products of columns of signed bytes and of the weights of four channels: 16 bytes of each channel in turn. The
 * number of bytes of a column is a multiple of 16. */
#ifndef MATCH_MVE_DOT_H
#define MATCH_MVE_DOT_H

#include <stdint.h>

/* Of two columns, one behind the other: 4 sums of the first, then 4 of the second. */
void match_mve_dot_2(const int8_t *columns, const int8_t *weights, int32_t length, int32_t *sums);

/* Of one column: 4 sums. */
void match_mve_dot_1(const int8_t *column, const int8_t *weights, int32_t length, int32_t *sums);

/* Of `count` bytes, taken less by 128: 4 sums. */
void match_mve_dot_bytes(const uint8_t *bytes, const int8_t *weights, int32_t count, int32_t *sums);

#endif
