/* Sums of products of columns and of the weights of two channels.
 *
 * A column is what an output pixel sees as int16_t, in pairs; of each four values the first pair has the ones at 0 and 2,
 * the second one those at 1 and 3. Weights are words, one for each pair: the first value's of both channels, then the
 * second value's. The number of values is a multiple of 4, `end` points behind the last word of weights.
 *
 * sums[0] and sums[1] are what the sums of both channels begin with. */
#ifndef MATCH_ARM_DOT_H
#define MATCH_ARM_DOT_H

#include <stdint.h>

/* Of four columns, which take turns pair by pair: 4 sums of the first channel, then 4 of the second one. */
void match_arm_dot_4(const uint32_t *columns, const int8_t *weights, const int8_t *end, int32_t *sums);

/* Of bytes, 4 at least and a multiple of 4, up to `end`: sums of the two channels of each of two blocks of weights, which
 * sums[0] to sums[3] begin with. */
void match_arm_dot_bytes(const uint8_t *bytes, const int8_t *weights, const int8_t *others, const uint8_t *end,
                         int32_t *sums);

#endif
