/* Kernels on DIANA's digital accelerator, for tiles (match_tile.h) of int8 activations.
 *
 * Activations lie in the activation memory channel by channel, in rows padded to 16 columns; those of fully connected
 * layers as pixels padded to 16 channels. The strides of a tile say where. Kernels write whole groups of 16 columns and
 * of 16 channels, and leave any value behind the tile's. `weights` are in the weight memory, as the accelerator streams
 * them. In both memories bytes lie in groups of four, last first. An output is clip((acc + bias) >> shift), with the tile's
 * shift for all channels, clipped to 0 .. 127 where `clip_low` is 0 and to -128 .. 127 otherwise. Padding is 0. */
#ifndef MATCH_DIANA_H
#define MATCH_DIANA_H

#include "match_tile.h"

/* Filters with sides of 1, 3, 5 and 7, stride 1 or 2 in both directions, no dilation. For each 16 output channels: a
 * row of 16 bytes, one of each, for each input channel, filter row and filter column, then four rows with the bytes of
 * the int32 biases, lowest first. Channels of the last 16 that do not exist are zeros. */
void match_diana_conv2d(const match_tile_t *tile);

/* The same with a filter for each channel, one job a channel. For each 4 channels: a row of 16 bytes, of which each
 * channel has four and uses the first, for each filter row and column, then four rows with the bytes of the biases. */
void match_diana_depthwise_conv2d(const match_tile_t *tile);

/* Fully connected, one job for each pixel, its channels side by side. For each 16 output channels: of each its weights,
 * rounded up to 16 input channels, then of each a row of 16 bytes with its bias, sign-extended, lowest byte first. */
void match_diana_dense(const match_tile_t *tile);

/* clip((input + addend) >> shift), without weights. */
void match_diana_add(const match_tile_t *tile);

#endif
