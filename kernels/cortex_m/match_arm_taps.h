/* Sums of a depthwise channel, row by row.
 *
 * A row has `window` words for each of its columns: pairs of values, one below the other. Those of four channels take
 * turns. */
#ifndef MATCH_ARM_TAPS_H
#define MATCH_ARM_TAPS_H

#include <stdint.h>

enum { MATCH_ARM_GROUP = 4 };

/* What rows have in common; match_arm_taps.c reads the first three by their places. */
typedef struct {
    int32_t outputs;   /* of a row */
    int32_t row_step;  /* bytes from a row to the next */
    int32_t sums_step; /* bytes from the sums of a row to those of the next */
    int32_t width;     /* of the filter, columns */
    int32_t window;
    int32_t stride;    /* columns */
    int32_t dilation;  /* columns */
} match_arm_taps_t;

/* `rows` rows, at least one: sums begin with the addend, and `taps` are width * window words, column by column. */
void match_arm_taps(const match_arm_taps_t *job, const uint32_t *row, int32_t *sums, const uint32_t *taps, int32_t addend,
                    int32_t rows);

/* The same of filters of three columns without dilation, whose windows have two words and step by one column or two. Where
 * they step by one, the sums of a row are an even number, and so many are read. */
void match_arm_taps_3(const match_arm_taps_t *job, const uint32_t *row, int32_t *sums, const uint32_t *taps,
                      int32_t addend, int32_t rows);

#endif
