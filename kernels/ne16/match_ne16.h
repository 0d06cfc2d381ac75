/* Kernels for NE16, called on the cluster's master core: they program jobs and return; match_ne16_wait(0) waits for
 * them.
 *
 * Activations are uint8, HWC. All input channels of the layer are in the tile; channel numbers need not be multiples of
 * anything. Every row and column of the filter's window that lies outside input_height x input_width counts as padding,
 * with pad_value.
 *
 * - 3x3 and depthwise 3x3: one stride, 1 or 2, for both directions; no dilation; at most 2 rows or columns of padding
 *   on each side.
 * - 1x1: any strides, no padding. A dense layer is one on a row of pixels; its tile has no window, and a stride of 0
 *   means 1.
 * - laid out: any filter, strides and padding, dilation of rows alone; the cluster lays out windows, part by part while NE16
 *   computes the one before: some rows of outputs.
 *
 * 3x3 and 1x1 may be in groups, tile->groups of them where that is not 0: group g reads input channels g * channels_in
 * and following and writes output channels g * channels_out and following. Filters have channels_in channels.
 *
 * Weights have weight_bits bits, 2 to 8, those of depthwise filters 8. They are bit planes of the unsigned value
 * u = w + 2^(weight_bits - 1), bit b of u in plane b. Each 16 input channels form a group (the last one is filled up, with
 * any value), of which a plane holds 2 bytes for every filter position: channel c of the group is bit c % 8 of byte c / 8.
 * Arrays, slowest index first, G = ceil(channels_in / 16):
 *
 *     3x3             (channels_out, G, plane, filter position 9, 2)           18 * weight_bits bytes a group
 *     1x1             (channels_out, G, plane, 2)                              2 * weight_bits bytes a group
 *     laid out        the same of a filter's (FX, FY, C) as channels
 *     depthwise 3x3   (ceil(channels_out / 16), plane 8, filter position 9, 2) 144 bytes a group of 16 channels
 *
 * with filter positions row by row. As NumPy, from w of shape (K, FY, FX, C) with C filled up to 16 * G (depthwise: w
 * of shape (K, FY, FX) is taken as (1, FY, FX, K)):
 *
 *     u = (w.astype(int) + 2 ** (weight_bits - 1)).reshape(K, FY * FX, G, 16)
 *     planes = (u.transpose(0, 2, 1, 3)[:, :, None] >> arange(weight_bits)[:, None, None]) & 1
 *     packbits(planes.astype(uint8), axis=-1, bitorder="little").tobytes()
 *
 * Requantization comes in two forms.
 *
 * - NE16's own, y = clip((int32)(acc * multiplier + bias) >> shift, 0, 255): unsigned multipliers of 32 bits (plain
 *   names), 16 (..._m16) or 8 (..._m8), the product and sum cut to 32 bits, shift 0 .. 31, per channel. clip_low is 0
 *   and clip_high 255. Parameters are three arrays one after the other, without gaps, each with an entry per output
 *   channel of the tile: int32 bias, uint32/uint16/uint8 multiplier, uint8 shift; 9, 7 or 6 bytes a channel.
 *
 * - Exact (..._exact, ..._exact_split): NE16 writes int32 accumulators to scratch and the cluster requantizes them with
 *   match_pulp_requantize or the kernel of the same ending, part by part while NE16 computes the next: some rows of a
 *   block of output channels. Parameters, clip, negative_step and exceptions are those of match_pulp.h.
 *
 * Scratch in bytes, where something is laid out, left, or both (their sum, each rounded up to a multiple of 4):
 *
 *     windows         row = ((output_width - 1) * stride_x + filter_width) * filter_height * channels_in:
 *                     min(output_height * row, 2 * max(8192, 3 * row))
 *     accumulators    row = 4 * output_width * channels of a part, least = 3 rows (3x3 at stride 2: 2):
 *                     min(4 * output_height * output_width * groups * channels_out, 2 * min(output_height * row, max(8192, least * row)))
 *
 * A part has min(channels_out, 32) channels (depthwise 16), or those of as many groups as 32 channels are. */
#ifndef MATCH_NE16_H
#define MATCH_NE16_H

#include "match_tile.h"

void match_ne16_conv2d_3x3(const match_tile_t *tile);
void match_ne16_conv2d_3x3_m16(const match_tile_t *tile);
void match_ne16_conv2d_3x3_m8(const match_tile_t *tile);
void match_ne16_conv2d_3x3_exact(const match_tile_t *tile);
void match_ne16_conv2d_3x3_exact_split(const match_tile_t *tile);

void match_ne16_conv2d_1x1(const match_tile_t *tile);
void match_ne16_conv2d_1x1_m16(const match_tile_t *tile);
void match_ne16_conv2d_1x1_m8(const match_tile_t *tile);
void match_ne16_conv2d_1x1_exact(const match_tile_t *tile);
void match_ne16_conv2d_1x1_exact_split(const match_tile_t *tile);

void match_ne16_conv2d_laid_out(const match_tile_t *tile);
void match_ne16_conv2d_laid_out_m16(const match_tile_t *tile);
void match_ne16_conv2d_laid_out_m8(const match_tile_t *tile);
void match_ne16_conv2d_laid_out_exact(const match_tile_t *tile);
void match_ne16_conv2d_laid_out_exact_split(const match_tile_t *tile);

void match_ne16_depthwise_3x3(const match_tile_t *tile);
void match_ne16_depthwise_3x3_m16(const match_tile_t *tile);
void match_ne16_depthwise_3x3_m8(const match_tile_t *tile);
void match_ne16_depthwise_3x3_exact(const match_tile_t *tile);
void match_ne16_depthwise_3x3_exact_split(const match_tile_t *tile);

#endif
