/* Pairs of channels of four columns of match_arm_dot.h in the usual form, with outputs that are bytes without a clip of their
 * own: products, sums and outputs without a stop in memory. */
#ifndef MATCH_ARM_BLOCK_H
#define MATCH_ARM_BLOCK_H

#include <stdint.h>

/* match_arm_block.c reads these by their places. */
typedef struct {
    const uint32_t *columns;
    const int8_t *weights;
    int32_t bytes;          /* of the weights of a pair of channels */
    const void *parameters; /* match_arm_requant_t of each channel; moved on */
    uint8_t *outputs[4];    /* moved on */
    int32_t pairs;          /* at least one; counted down */
} match_arm_block_t;

void match_arm_block(match_arm_block_t *job);

#endif
