/* A gated activation, clip(((a - zero) * f[b] * multiplier + bias) >> shift): a is the input, b the addend, both uint8, HWC.
 * Behind the parameters lies f, 256 int32_t. */
#ifndef GATE_H
#define GATE_H

#include "match_tile.h"

typedef struct {
    int64_t bias;
    int32_t multiplier, shift, zero, low, high, reserved;
} match_m7_gate_t;

void match_m7_gate(const match_tile_t *tile);

#endif
