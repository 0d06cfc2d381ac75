/* All channels of two columns, clipped from 0 on: products, sums and outputs without a stop in memory. */
#ifndef MATCH_MVE_BLOCK_H
#define MATCH_MVE_BLOCK_H

#include <stdint.h>

/* match_mve_block.c reads these by their places. */
typedef struct {
    const int8_t *columns[2];
    uint8_t *outputs[2];    /* moved on */
    const int8_t *weights;
    const void *parameters; /* of each channel */
    int32_t chunks;         /* of 16 bytes, of a column */
    int32_t channels;       /* counted down */
    int32_t high;           /* upper end of outputs */
} match_mve_block_t;

/* In the usual form, and in the longer one with shifts by a word at least. */
void match_mve_block(match_mve_block_t *job);
void match_mve_block_long(match_mve_block_t *job);

#endif
