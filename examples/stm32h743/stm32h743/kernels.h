/* Kernels for an Arm core with the DSP extension (Cortex-M4, M7, M33), in the manner of CMSIS-NN: bytes are widened in
 * pairs and multiplied two at a time. In C alone where there is no such core.
 *
 * Activations are uint8, HWC; weights int8, (K, FY, FX, C), depthwise (K, FY, FX). Accumulators are int32 and
 * requantized in 64 bits with match_requant_t, or match_requant_signed_t where tile->negative_step is not 0; parameters
 * lie at multiples of 4. Padding holds tile->pad_value. No dilation.
 *
 * Scratch is the bytes that tile->scratch must hold; kernels that do not mention it need none. */
#ifndef KERNELS_H
#define KERNELS_H

#include "match_tile.h"

/* Scratch: 2 * filter_height * filter_width * channels_in, each half rounded up to a multiple of 4. */
void match_m7_conv2d(const match_tile_t *tile);

/* 1x1 filters, stride 1, no padding; and dense layers, whose batch lies along the columns. */
void match_m7_pointwise(const match_tile_t *tile);

/* One output for each input channel. Scratch: filter_height * filter_width * channels_out. */
void match_m7_depthwise_conv2d(const match_tile_t *tile);

/* Addition; the parameters are one match_requant_add_t. */
void match_m7_add(const match_tile_t *tile);

/* A gated activation, clip(((a - zero) * f[b] * multiplier + bias) >> shift): a is the input, b the addend. Behind the
 * parameters lies f, 256 int32_t. */
typedef struct {
    int64_t bias;
    int32_t multiplier, shift, zero, low, high, reserved;
} match_m7_gate_t;

void match_m7_gate(const match_tile_t *tile);

/* The requantized sum, and the clipped maximum, over each window. */
void match_m7_avg_pool2d(const match_tile_t *tile);
void match_m7_max_pool2d(const match_tile_t *tile);

#endif
