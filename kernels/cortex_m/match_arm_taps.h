/* Sums of a depthwise channel, row by row.
 *
 * A row has `window` words for each of its columns: pairs of values, one below the other. */
#ifndef MATCH_ARM_TAPS_H
#define MATCH_ARM_TAPS_H

#include <stdint.h>

/* match_arm_taps.c reads the first seven by their places. */
typedef struct {
    const uint32_t *row;
    int32_t *sums;
    const uint32_t *taps; /* width * window words, column by column */
    int32_t addend;       /* what sums begin with */
    int32_t rows;         /* 1 at least */
    int32_t row_step;     /* bytes from a row to the next */
    int32_t sums_step;    /* bytes from the sums of a row to those of the next */
    int32_t outputs;      /* of a row */
    int32_t width;
    int32_t window;
    int32_t stride;
    int32_t dilation;
} match_arm_taps_t;

void match_arm_taps(const match_arm_taps_t *job);

/* The same with three columns of two words that lie side by side. Where windows step by one column an even number of
 * sums is written, and as much is read. */
void match_arm_taps_3(const match_arm_taps_t *job);

#endif
