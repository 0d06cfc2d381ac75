/* All channels of two pixels of a depthwise convolution in the usual form, clipped from 0 on. */
#ifndef MATCH_MVE_LANES_H
#define MATCH_MVE_LANES_H

#include <stdint.h>

/* Channels at a time, and pixels. */
enum { MATCH_MVE_LANES = 8, MATCH_MVE_PIXELS = 2 };

/* match_mve_lanes.c reads these by their places. */
typedef struct {
    const uintptr_t *taps; /* where they are, counted from the first ones, those of both pixels in turn */
    int32_t count;         /* of a pixel */
    uintptr_t first[MATCH_MVE_PIXELS];
    uint8_t *outputs[MATCH_MVE_PIXELS];
    const int8_t *weights;
    const void *parameters; /* match_arm_requant_t; of eight channels first the even ones, then the odd ones */
    int32_t channels;
    int32_t high; /* upper end of outputs */
} match_mve_lanes_t;

void match_mve_lanes(const match_mve_lanes_t *job);

#endif
